"use strict";
// Where the tree errs: its leaves, and the training rows where it differs most from the black box.
fcca.errors = (() => {
  const { data, el, put, place, number, percent, counted, sum, heaviest, sayPath, leaves, saidValue, shortened, FEW, state } = fcca;
  const MOST_COLUMNS = 4, MOST_NAMED = 4;
  const named = (code) => shortened(data.classes[code], 30);

  // The rows of each class in a leaf: held-out rows if there are any.
  const rowsIn = ({ tree, judged }, leaf) => (judged || tree.weight)[leaf];
  function byClass(weight) {
    const order = data.classes.map((_, code) => code).filter((code) => weight[code] > 0).sort((a, b) => weight[b] - weight[a] || a - b);
    const first = order.slice(0, MOST_NAMED).map((code) => `${named(code)}: ${number(weight[code])}`);
    return [...first, ...(order.length > MOST_NAMED ? [`${number(order.length - MOST_NAMED)} more`] : [])].join(", ") || "–";
  }
  function leafTable(level) {
    const { tree } = level, wide = data.classes.length <= MOST_COLUMNS;
    const found = leaves(tree).map(({ leaf, steps }) => {
      const weight = rowsIn(level, leaf), all = sum(weight), code = heaviest(tree.weight[leaf]);
      return { leaf, steps, weight, all, code, wrong: all - weight[code] };
    }).sort((a, b) => b.wrong - a.wrong);
    const head = [el("th", { scope: "col" }, "Leaf"), el("th", { scope: "col" }, "Predicts"),
      wide ? data.classes.map((_, code) => el("th", { scope: "col", class: "number" }, el("small", {}, "rows of"), named(code))) : el("th", { scope: "col" }, "Rows by class"),
      el("th", { scope: "col", class: "number" }, "Wrong"), el("th", { scope: "col", class: "number" }, "Share right")];
    return el("table", { class: "by-leaf" }, el("thead", {}, el("tr", {}, head)), el("tbody", {}, found.map((each) =>
      el("tr", { "data-leaf": each.leaf, "data-test": "leaf-row" }, el("th", { scope: "row" }, sayPath(tree, each.steps).join(" and ")),
        el("td", {}, named(each.code)),
        wide ? each.weight.map((n, code) => el("td", { class: code === each.code ? "number right" : "number" }, number(n))) : el("td", {}, byClass(each.weight)),
        el("td", { class: "number" }, number(each.wrong)),
        el("td", { class: "number" }, each.all > 0 ? percent(each.weight[each.code] / each.all) : "no rows")))));
  }

  function rowCell(name) {
    const shown = typeof name === "number" ? number(name) : name;
    if (!fcca.rows.has(name)) return el("th", { scope: "row" }, shown);
    return el("th", { scope: "row" }, el("button", { type: "button", class: "link", "data-test": "disagreement-row",
      "aria-label": `Look up row ${name}`, on: { click: () => fcca.rows.show(name) } }, shown));
  }
  function differenceTable(found) {
    const two = data.classes.length === 2, hasPath = found.some(({ values }) => values.length), right = { scope: "col", class: "number" };
    const head = [el("th", { scope: "col" }, "Row"), el("th", { scope: "col" }, "Label"), !two && el("th", { scope: "col" }, "Class"),
      el("th", right, "Tree"), el("th", right, "Black box"), hasPath && el("th", { scope: "col" }, "Values on its path")];
    return el("table", {}, el("thead", {}, el("tr", {}, head)), el("tbody", {}, found.map((each) =>
      el("tr", { "data-test": "disagreement" }, rowCell(each.row), el("td", {}, named(each.label)),
        !two && el("td", {}, named(each.class)), el("td", { class: "number" }, percent(each.tree)),
        el("td", { class: "number" }, percent(each.black_box)),
        hasPath && el("td", { class: "names" }, each.values.map(([column, value]) => `${data.columns[column].name} ${saidValue(column, value)}`).join(", ") || "–")))));
  }

  function draw() {
    const level = state.level(), found = level.disagreements;
    put("leaves", leafTable(level));
    const few = leaves(level.tree).some(({ leaf }) => sum(rowsIn(level, leaf)) < FEW);
    put("leaves-note", `Leaves with the most wrong rows come first.${few ? ` Shares of fewer than ${FEW} rows are uncertain.` : ""}`);
    if (found === null) return;
    place("disagreements-box").hidden = !found.length;
    const of = data.classes.length === 2 ? `“${named(1)}”` : "the class with the largest difference";
    put("disagreements-note", found.length ? `The ${counted(found.length, "training row")} with the largest differences, with the probabilities of ${of}. Select a row to look it up.`
      : "The tree and the black box give the same probabilities.");
    put("disagreements", differenceTable(found));
  }
  return { draw };
})();
