"use strict";
// What is shown: a level of an axis (a list of levels with a slider of its own) and a row. Whoever draws something listens.
fcca.state = (() => {
  const { data, nFound, nKept, number, counted, NBSP, el } = fcca;
  const listeners = { level: [], row: [] };

  // Another way to choose thresholds is another axis here: a key for the address, a name, levels, and how a level is called.
  const axes = [{ key: "q", name: "Q", levels: data.levels, start: data.start, valueOf: (level) => level.Q }];
  const state = { axis: axes[0], index: axes[0].start, row: null };

  const level = () => state.axis.levels[state.index];
  const called = (each = level()) => `${state.axis.name}${NBSP}=${NBSP}${number(state.axis.valueOf(each))}`;
  const columnsOf = (each) => new Set(each.kept.map((id) => data.conditions[id].column)).size;

  function describe() {
    return `${called()}: ${number(nKept(level()))} of ${counted(nFound, "threshold")} on ${counted(columnsOf(level()), "column")}`;
  }

  function writeAddress() {
    const parts = new URLSearchParams();
    parts.set(state.axis.key, String(state.axis.valueOf(level())));
    if (state.row !== null) parts.set("row", state.row);
    history.replaceState(null, "", `#${parts}`);
  }
  const tell = (what) => listeners[what].forEach((listener) => listener());

  function setLevel(index, write = true) {
    const last = state.axis.levels.length - 1;
    state.index = Math.min(last, Math.max(0, index));
    tell("level");
    if (write) writeAddress();
  }
  // A row by its name, a text; null for none.
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
      const distance = axis.levels.map((each) => Math.abs(axis.valueOf(each) - Number(asked)));
      state.axis = axis;
      state.index = distance.indexOf(Math.min(...distance));
    }
    state.row = parts.get("row") || null;
    return true;
  }

  function startSlider() {
    const slider = document.getElementById("level"), output = document.getElementById("said");
    const ticks = document.querySelector(".ticks"), { levels, valueOf } = state.axis;
    const every = Math.ceil(levels.length / 14);
    levels.forEach((each, i) => {
      const tick = el("span", { class: i % every === 0 || i === levels.length - 1 ? "tick" : "tick bare" }, number(valueOf(each)));
      tick.style.left = levels.length > 1 ? `${(100 * i) / (levels.length - 1)}%` : "0";
      ticks.append(tick);
    });
    slider.disabled = levels.length < 2;
    slider.addEventListener("input", () => setLevel(Number(slider.value)));
    listeners.level.push(() => {
      slider.value = String(state.index);
      slider.setAttribute("aria-valuetext", describe());
      output.textContent = describe();
      [...ticks.children].forEach((tick, i) => tick.classList.toggle("now", i === state.index));
    });
  }

  return { listeners, level, called, describe, columnsOf, setLevel, setRow, readAddress, startSlider, get row() { return state.row; },
    get index() { return state.index; }, get axis() { return state.axis; } };
})();
