"use strict";
// The row look-up.
fcca.rows = (() => {
  const { data, el, put, place, tile, isThere, number, hasChanges, percent, counted, heaviest, inRows, isFew, share, said, sayPath,
    leaves, saidValue, shortened, state } = fcca;
  const STATUS = {
    optimal: "Proven: no cheaper change flips the prediction", within_gap: "Proven: close to the cheapest change", feasible: "Found, but not proven to be the cheapest",
    infeasible: "Proven: no change flips the prediction",
    unverified: "Not confirmed by the black box, and left out of all counts", unknown: "The search was stopped before it found a change",
  };
  const MOST_CLASSES = 8;
  const short = (name) => shortened(name, 40);
  const FILTERS = [
    { name: "all rows", of: () => true },
    { name: "rows that the tree gets wrong", of: (i) => treePrediction(i) !== rows.label[i] },
    { name: "rows where the tree and the black box disagree", of: (i) => treePrediction(i) !== rows.target[i] },
    { name: "rows that the black box gets wrong", of: (i) => rows.target[i] !== rows.label[i] },
    { name: "rows with a computed change", of: (i) => rows.answer[i] !== null },
    ...(data.classes.length > MOST_CLASSES ? [] : data.classes.flatMap((name, code) => [
      { name: `rows where the black box predicts “${short(name)}”`, of: (i) => rows.target[i] === code },
      { name: `rows where the tree predicts “${short(name)}”`, of: (i) => treePrediction(i) === code },
    ])),
  ];
  let rows = null, matching = [];
  const input = document.getElementById("row"), filter = document.getElementById("filter");
  const treePrediction = (i) => { const { tree } = state.level(); return heaviest(tree.weight[rows.walk(tree, i).leaf]); };
  const named = (code) => (isThere(code) ? data.classes[code] : "–");
  const chosen = () => (rows && state.row !== null ? rows.index.get(state.row) ?? null : null);
  const message = (...parts) => put("row-message", ...parts);
  const rowName = (i) => (typeof rows.number[i] === "number" ? number(rows.number[i]) : rows.number[i]);
  const rowButton = (i) =>
    el("button", { type: "button", class: "link", on: { click: () => { pick(i); input.focus(); } } }, rowName(i));
  const rounded = (x) => number(Number(x.toPrecision(3)));

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
    if (by === "change") { fcca.whatIf.change(); return; }
    if (by === "clear") { state.setRow(null); input.focus(); return; }
    if (!matching.length) { message("No row matches at this level."); return; }
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
    const near = nearest(name), { shown, total, sampled } = data.rows, heldOut = state.level().held_out;
    const mayBeHeldOut = heldOut && Number(name) >= 0 && Number(name) < total + heldOut.rows;
    message(`There is no row ${name.slice(0, 40)} on this page. `,
      sampled ? `The page has a sample of ${number(shown)} of the ${counted(total, "training row")}. ` : `The page has only the ${counted(shown, "training row")}. `,
      mayBeHeldOut ? "The row may have been held out. " : "",
      near.length > 0 && ["Similar rows: ", near.map((i, k) => [k ? ", " : "", rowButton(i)]), "."]);
  }

  const judged = (prediction, i) => (prediction === rows.label[i] ? "✓ right" : "✗ wrong");
  function verdict(i, leaf) {
    const { tree } = state.level(), prediction = heaviest(tree.weight[leaf]), probability = rows.probability[i];
    return el("dl", { class: "tiles" },
      tile("Label", "row-label", named(rows.label[i]), "in the training data"),
      tile("Black box predicts", "row-black-box", named(rows.target[i]),
        `${judged(rows.target[i], i)}${isThere(probability) ? `, probability ${percent(probability)}` : ""}`),
      tile("Tree predicts", "row-tree", named(prediction),
        `${judged(prediction, i)}, ${prediction === rows.target[i] ? "like the black box" : "unlike the black box"}`));
  }
  function way(i, { steps, leaf }) {
    const { tree } = state.level(), name = named(heaviest(tree.weight[leaf]));
    const value = (column) => {
      const text = saidValue(column, rows.value(i, column));
      return data.columns[column].kind === "category" && rows.value(i, column) !== null ? `"${text}"` : text;
    };
    const lines = steps.map((each) => {
      const { column } = data.conditions[tree.condition[each.node]];
      return el("li", {}, el("span", { "data-test": "row-step" }, said(tree, each)), el("span", { class: "quiet" }, ` it is ${value(column)}`));
    });
    const all = counted(tree.rows[leaf], "training row"), what = data.fit_to === "target" ? "get the prediction" : "are";
    const most = inRows(tree, leaf).split(" of ");
    return el("section", { class: "part" }, el("h3", {}, `Path with ${state.called()}`),
      lines.length ? el("ol", { class: "steps" }, lines) : el("p", {}, "The tree is a single leaf: every row gets the same prediction."),
      el("p", { class: "so" }, "The tree predicts ", el("strong", {}, name), `: ${most.length > 1 ? most[0] : percent(share(tree, leaf))} of the ${all} `,
        `in this leaf ${what} ${name}.`, isFew(tree, leaf) && " These are few rows: the share is uncertain."));
  }
  // The leaf of another class for which the fewest conditions have to change; the first one in a tie.
  function nearestOther(tree, table, i) {
    const predicted = heaviest(tree.weight[table.walk(tree, i).leaf]), fails = (step) => {
      const condition = data.conditions[tree.condition[step.node]];
      return fcca.holds(condition, table.value(i, condition.column)) !== step.right;
    };
    return leaves(tree).filter((each) => heaviest(tree.weight[each.leaf]) !== predicted)
      .map((each) => ({ ...each, broken: each.steps.filter(fails) })).sort((a, b) => a.broken.length - b.broken.length)[0];
  }
  function other(i) {
    const { tree } = state.level(), found = nearestOther(tree, rows, i);
    if (!found) return el("p", { class: "quiet" }, "No change flips the tree’s prediction: all leaves predict the same class.");
    const columnOf = (step) => data.conditions[tree.condition[step.node]].column, moved = new Set(found.broken.map(columnOf));
    return el("p", { "data-test": "row-other" }, "The tree would predict ", el("strong", {}, named(heaviest(tree.weight[found.leaf]))),
      ` if ${sayPath(tree, found.steps.filter((step) => moved.has(columnOf(step)))).join(" and ")}, all else being equal. `,
      el("span", { class: "quiet" }, `Of the leaves with another class, this one needs the fewest changed conditions (${number(found.broken.length)}).`));
  }
  function values(i) {
    const { tree } = state.level(), used = new Set(tree.condition.filter((id) => id >= 0).map((id) => data.conditions[id].column));
    const exact = (column) => (data.columns[column].kind === "number" ? rows.value(i, column) : null);
    const list = (columns) => el("table", { class: "values" },
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Column"), el("th", { scope: "col", class: "number" }, "Value"))),
      el("tbody", {}, columns.map((column) => el("tr", { "data-test": "row-value" },
        el("th", { scope: "row" }, data.columns[column].name),
        el("td", { class: "number", title: exact(column) }, saidValue(column, rows.value(i, column)))))));
    const here = rows.columns.filter((column) => used.has(column)), elsewhere = rows.columns.filter((column) => !used.has(column));
    return el("section", { class: "part" }, el("h3", {}, "Values"),
      here.length ? list(here) : el("p", { class: "quiet" }, "The tree at this level uses no column."),
      elsewhere.length > 0 && el("details", {},
        el("summary", {}, `${counted(elsewhere.length, "column")} that this tree does not use`), list(elsewhere)));
  }
  // The meaning and the rules of a change.
  function caveat() {
    const { rules, fixed } = data.change;
    const free = !rules ? "No rules were given: every column was allowed to change, even columns that nobody can change. "
      : `Changes follow ${counted(rules, "given rule")}${fixed.length ? `; these columns do not change: ${fixed.join(", ")}` : ""}. `;
    return el("p", { class: "caveat", "data-test": "caveat" }, "This describes the black box. It is not advice. ", free,
      `Cost of a change: ${data.change.size}.`);
  }
  function change(i, found) {
    const change = rows.answer[i], part = el("section", { class: "part wide" }, el("h3", {}, "What flips the black box’s prediction"));
    const { tree } = state.level(), ofTree = heaviest(tree.weight[found.leaf]);
    if (change === null) {
      const why = !hasChanges ? "these thresholds do not come from counterfactuals."
        : rows.target[i] !== rows.label[i] ? "the black box gets it wrong, and only rows that it gets right are used."
          : data.is_sample ? "it is not in the random sample of rows that was searched, or the probability of its prediction is outside the chosen range."
            : "the probability of its prediction is outside the chosen range.";
      part.append(el("p", { "data-test": "row-sentence" }, "No counterfactual was computed for this row: ", why));
    } else {
      const to = named(change.to);
      part.append(el("p", { class: "sentence", "data-test": "row-sentence" }, change.sentence),
        el("p", { class: "quiet", "data-test": "row-status", "data-status": change.status }, STATUS[change.status] || change.status,
          isThere(change.cost) && ` (cost ${rounded(change.cost)})`,
          change.status !== "optimal" && isThere(change.bound) && `; no change costs less than ${rounded(change.bound)}`, ".",
          change.to === ofTree && ofTree !== rows.target[i] && ` The tree already predicts ${to}.`), caveat());
      const kept = new Set(state.level().kept);
      if (change.crossed.length) {
        part.append(el("h4", {}, "Crossed thresholds"),
          el("p", { class: "quiet" }, "This change, or an equally cheap change of other columns, crosses each of these thresholds."),
          el("ul", { class: "crossed" }, change.crossed.map((id) =>
            el("li", { class: kept.has(id) ? "kept" : "dropped", "data-test": "row-crossed", "data-id": id },
              el("span", {}, data.conditions[id].text), el("span", { class: "chip" }, kept.has(id) ? "kept" : "left out")))));
      } else part.append(el("p", { class: "quiet" }, "The change crosses no threshold."));
    }
    part.append(el("h3", {}, "What flips the tree’s prediction"), other(i));
    return part;
  }

  function draw() {
    if (!rows) return;
    const i = chosen(), all = counted(rows.number.length, "row"), isAll = matching.length === rows.number.length;
    place("row").replaceChildren();
    if (document.activeElement !== input || i !== null || state.row === null) input.value = state.row ?? "";
    if (state.row !== null && i === null) { unknown(state.row); return; }
    if (i === null) { message(`${isAll ? "" : `${number(matching.length)} of ${all} match. `}Type a row number, or step through the rows.`); return; }
    const found = rows.walk(state.level().tree, i), position = matching.indexOf(i);
    message(`Row ${rows.number[i]} (${position >= 0 ? `number ${number(position + 1)}` : "not one"} of the ${number(matching.length)} `,
      filter.value === "0" ? "rows here" : FILTERS[Number(filter.value)].name, "): the tree predicts ",
      `${named(heaviest(state.level().tree.weight[found.leaf]))}, the black box ${named(rows.target[i])}.`);
    put("row", verdict(i, found.leaf), el("div", { class: "parts" }, way(i, found), values(i), change(i, found)));
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
    const all = rows.number;
    if (all.length && all.every((each) => typeof each === "number")) {
      put("row-label", `Row number (${number(Math.min(...all))} to ${number(Math.max(...all))})`);
    }
    match();
    draw();
    await fcca.whatIf.read(rows);
  }
    // Look up a row by its name, from another part of the page. Rows that are not on the page cannot be looked up.
  const has = (name) => rows !== null && rows.index.has(String(name));
  function show(name) {
    state.setRow(String(name));
    document.getElementById("look-up").scrollIntoView();
    input.focus();
  }
  return { start, read, draw, match, path, nearestOther, has, show };
})();
