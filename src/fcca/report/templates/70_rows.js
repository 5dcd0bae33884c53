"use strict";
// The row look-up.
fcca.rows = (() => {
  const { data, el, put, place, tile, isThere, number, hasChanges, percent, counted, heaviest, share, said, saidValue, state } = fcca;
  const STATUS = {
    optimal: "proven: no cheaper change does it", feasible: "found, but not proven to be the cheapest",
    infeasible: "proven: no change does it",
    unverified: "not confirmed by the black box, and left out of all counts", unknown: "the search ended without an answer",
  };
  const FILTERS = [
    { name: "all rows", of: () => true },
    { name: "rows that the tree gets wrong", of: (i) => treeAnswer(i) !== rows.label[i] },
    { name: "rows where tree and black box disagree", of: (i) => treeAnswer(i) !== rows.target[i] },
    { name: "rows that the black box gets wrong", of: (i) => rows.target[i] !== rows.label[i] },
    { name: "rows with a counterfactual", of: (i) => rows.answer[i] !== null },
  ];
  let rows = null, matching = [];
  const input = document.getElementById("row"), filter = document.getElementById("filter");
  const treeAnswer = (i) => { const { tree } = state.level(); return heaviest(tree.weight[rows.walk(tree, i).leaf]); };
  const named = (code) => (isThere(code) ? data.classes[code] : "–");
  const chosen = () => (rows && state.row !== null ? rows.index.get(state.row) ?? null : null);
  const message = (...parts) => put("row-message", ...parts);
  const rowButton = (i) =>
    el("button", { type: "button", class: "link", on: { click: () => { pick(i); input.focus(); } } }, number(rows.number[i]));
  const short = (x) => number(Number(x.toPrecision(4)));

  function path() {
    const i = chosen();
    return i === null ? null : rows.walk(state.level().tree, i);
  }
  function pick(i) { state.setRow(String(rows.number[i])); }

  function match() {
    if (!rows) return;
    const { of } = FILTERS[Number(filter.value)];
    matching = rows.number.map((_, i) => i).filter(of);
  }
  function step(by) {
    if (!rows) return;
    if (by === "clear") { state.setRow(null); input.focus(); return; }
    if (!matching.length) { message("No row is like this at this level."); return; }
    const now = chosen();
    let next;
    if (by === "0") {
      const others = matching.length > 1 ? matching.filter((i) => i !== now) : matching;
      next = others[Math.floor(Math.random() * others.length)];
    } else if (now === null) next = by === "1" ? matching[0] : matching[matching.length - 1];
    else if (by === "1") next = matching.find((i) => i > now) ?? matching[0];
    else next = matching.findLast((i) => i < now) ?? matching[matching.length - 1];
    pick(next);
  }

  function nearest(name) {
    const wanted = Number(name);
    if (name.trim() === "" || !Number.isFinite(wanted) || rows.number.some((each) => typeof each !== "number")) {
      const like = rows.number.map((_, i) => i).filter((i) => String(rows.number[i]).startsWith(name.trim()));
      return like.slice(0, 4);
    }
    const byDistance = rows.number.map((each, i) => [Math.abs(each - wanted), i]).sort((a, b) => a[0] - b[0]);
    return byDistance.slice(0, 4).map(([, i]) => i).sort((a, b) => a - b);
  }
  function unknown(name) {
    const near = nearest(name), { shown, total, sampled } = data.rows;
    message(`There is no row ${name.slice(0, 40)} on this page. `,
      sampled ? `It holds a sample of ${number(shown)} of ${counted(total, "row")}. ` : `It holds ${counted(shown, "row")}. `,
      near.length > 0 && ["Near it: ", near.map((i, k) => [k ? ", " : "", rowButton(i)]), "."]);
  }

  const judged = (answer, i) => (answer === rows.label[i] ? "✓ right" : "✗ wrong");
  function verdict(i, leaf) {
    const { tree } = state.level(), answer = heaviest(tree.weight[leaf]), probability = rows.probability[i];
    return el("dl", { class: "tiles" },
      tile("Label", "row-label", named(rows.label[i]), "in the training data"),
      tile("Black box says", "row-black-box", named(rows.target[i]),
        `${judged(rows.target[i], i)}${isThere(probability) ? `, probability ${percent(probability)}` : ""}`),
      tile("Tree says", "row-tree", named(answer),
        `${judged(answer, i)}, ${answer === rows.target[i] ? "as the black box" : "unlike the black box"}`));
  }
  function way(i, { steps, leaf }) {
    const { tree } = state.level();
    const lines = steps.map((each) => {
      const { column } = data.conditions[tree.condition[each.node]];
      return el("li", {}, el("span", { "data-test": "row-step" }, said(tree, each)),
        el("span", { class: "quiet" }, ` it is ${saidValue(column, rows.value(i, column))}`));
    });
    return el("section", { class: "part" }, el("h3", {}, `Its path at ${state.called()}`),
      lines.length ? el("ol", { class: "steps" }, lines) : el("p", {}, "The tree is a single leaf: it gives every row the same answer."),
      el("p", { class: "so" }, `so ${named(heaviest(tree.weight[leaf]))}: ${percent(share(tree, leaf))} of the `,
        `${counted(tree.rows[leaf], "training row")} that end here`));
  }
  function values(i) {
    const { tree } = state.level(), asked = new Set(tree.condition.filter((id) => id >= 0).map((id) => data.conditions[id].column));
    const exact = (column) => (data.columns[column].kind === "number" ? rows.value(i, column) : null);
    const list = (columns) => el("table", { class: "values" },
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Column"), el("th", { scope: "col", class: "number" }, "Value"))),
      el("tbody", {}, columns.map((column) => el("tr", { "data-test": "row-value" },
        el("th", { scope: "row" }, data.columns[column].name),
        el("td", { class: "number", title: exact(column) }, saidValue(column, rows.value(i, column)))))));
    const here = rows.columns.filter((column) => asked.has(column)), elsewhere = rows.columns.filter((column) => !asked.has(column));
    return el("section", { class: "part" }, el("h3", {}, "Its values"),
      here.length ? list(here) : el("p", { class: "quiet" }, "The tree at this level asks for no column."),
      elsewhere.length > 0 && el("details", {},
        el("summary", {}, `${counted(elsewhere.length, "column")} asked at other levels`), list(elsewhere)));
  }
  function change(i) {
    const answer = rows.answer[i], part = el("section", { class: "part wide" }, el("h3", {}, "What would change the black box’s answer"));
    if (answer === null) {
      const why = !hasChanges ? "none was computed for these thresholds."
        : rows.target[i] !== rows.label[i] ? "the black box gets it wrong, and only rows that it gets right are asked."
          : "its probability lies outside of the band of rows that are asked.";
      part.append(el("p", { "data-test": "row-sentence" }, "No counterfactual was asked for this row: ", why));
      return part;
    }
    part.append(el("p", { class: "sentence", "data-test": "row-sentence" }, answer.sentence),
      el("p", { class: "quiet", "data-test": "row-status" }, `${answer.status}: ${STATUS[answer.status] || "see the documentation"}`,
        isThere(answer.cost) && `; cost ${short(answer.cost)}`,
        answer.status !== "optimal" && isThere(answer.bound) && `, and none costs less than ${short(answer.bound)}`));
    const kept = new Set(state.level().kept);
    if (answer.crossed.length) {
      part.append(el("h4", {}, "Thresholds it crosses"), el("ul", { class: "crossed" }, answer.crossed.map((id) =>
        el("li", { class: kept.has(id) ? "kept" : "dropped", "data-test": "row-crossed", "data-id": id },
          el("span", {}, data.conditions[id].text), el("span", { class: "chip" }, kept.has(id) ? "kept" : "left out")))));
    } else part.append(el("p", { class: "quiet" }, "It crosses none of the thresholds."));
    return part;
  }

  function draw() {
    if (!rows) return;
    const i = chosen(), all = counted(rows.number.length, "row");
    const many = matching.length === rows.number.length ? all : `${number(matching.length)} of ${all}`;
    place("row").replaceChildren();
    if (document.activeElement !== input || i !== null || state.row === null) input.value = state.row ?? "";
    if (state.row !== null && i === null) { unknown(state.row); return; }
    if (i === null) { message(`${many} to choose from. Type a row’s number, or step through them.`); return; }
    const found = rows.walk(state.level().tree, i), position = matching.indexOf(i);
    message(`Row ${rows.number[i]} (${position >= 0 ? number(position + 1) : "not one"} of ${number(matching.length)} `,
      filter.value === "0" ? "rows" : FILTERS[Number(filter.value)].name, "): the tree says ",
      `${named(heaviest(state.level().tree.weight[found.leaf]))}, the black box ${named(rows.target[i])}.`);
    put("row", verdict(i, found.leaf), el("div", { class: "parts" }, way(i, found), values(i), change(i)));
  }

  function typed() {
    const name = input.value.trim() || null;
    if (name !== state.row) state.setRow(name);
  }
  function start() {
    FILTERS.forEach((each, k) => filter.append(el("option", { value: k }, each.name)));
    filter.addEventListener("change", () => { match(); draw(); });
    const form = document.querySelector("form.look-up");
    form.addEventListener("submit", (event) => { event.preventDefault(); typed(); });
    input.addEventListener("change", typed);
    form.addEventListener("click", (event) => { const button = event.target.closest("button"); if (button) step(button.dataset.step); });
  }
  async function read() {
    rows = await fcca.readRows();
    match();
    draw();
  }
  return { start, read, draw, match, path };
})();
