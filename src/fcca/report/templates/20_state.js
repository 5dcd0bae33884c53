"use strict";
// The state of the page: the level of a slider ("axis") and a row. Drawing functions register as listeners.
fcca.state = (() => {
  const { data, nFound, nKept, number, counted, NBSP } = fcca;
  const listeners = { level: [], row: [] };

  // An axis has a key for the address, a name, its levels and its position. One axis is active.
  const NAMES = { q: "Q", k: "k" };
  const axes = data.axes.map((axis) => ({ ...axis, name: NAMES[axis.key], index: axis.start }));
  const state = { axis: axes[data.axis], row: null };

  const level = (axis = state.axis) => axis.levels[axis.index];
  // The name of a level: plain, and exact with Q or k. The finest detail has the largest number.
  const exact = (each = level(), axis = state.axis) => `${axis.name}${NBSP}=${NBSP}${number(each.value)}`;
  function called(each = level(), axis = state.axis) {
    const { length } = axis.levels;
    return axis.key === "k" ? counted(each.value, "threshold") : `detail${NBSP}${length - axis.levels.indexOf(each)} of${NBSP}${length}`;
  }
  const columnsOf = (each) => new Set(each.kept.map((id) => data.conditions[id].column)).size;

  function describe(axis = state.axis) {
    const each = level(axis);
    return `${number(nKept(each))} of ${counted(nFound, "threshold")} on ${counted(columnsOf(each), "column")}`;
  }

  function writeAddress() {
    const parts = new URLSearchParams();
    parts.set(state.axis.key, String(level().value));
    if (state.row !== null) parts.set("row", state.row);
    history.replaceState(null, "", `#${parts}`);
  }
  const tell = (what) => listeners[what].forEach((listener) => listener());

  // Setting a level activates its axis.
  function setLevel(index, axis = state.axis, write = true) {
    axis.index = Math.min(axis.levels.length - 1, Math.max(0, index));
    state.axis = axis;
    tell("level");
    if (write) writeAddress();
  }
  // The name of a row, a string; null for no row.
  function setRow(name, write = true) {
    state.row = name;
    tell("row");
    if (write) writeAddress();
  }
  function readAddress() {
    const parts = new URLSearchParams(location.hash.slice(1));
    if (!["row", ...axes.map((axis) => axis.key)].some((key) => parts.has(key))) return false;
    for (const axis of axes) {
      const asked = parts.get(axis.key);
      if (asked === null || asked === "" || !Number.isFinite(Number(asked))) continue;
      const distance = axis.levels.map((each) => Math.abs(each.value - Number(asked)));
      state.axis = axis;
      axis.index = distance.indexOf(Math.min(...distance));
    }
    state.row = parts.get("row") || null;
    return true;
  }

  return { listeners, axes, level, called, exact, describe, columnsOf, setLevel, setRow, readAddress, get row() { return state.row; },
    get axis() { return state.axis; }, get index() { return state.axis.index; } };
})();
