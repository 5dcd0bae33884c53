"use strict";
// The what-if form: change the values of a row and see the predictions of the tree and of the black box.
fcca.whatIf = (() => {
  const { data, el, put, place, tile, number, percent, counted, heaviest, isLeaf, said, saidValue, sum, blackBox, state } = fcca;
  const UNKNOWN = -1, MOST_CLASSES = 6;
  const fields = new Map(); // column → {box, control, was, start, read}
  let from = "typical values", rows = null;

  const asText = (value) => (value === null ? "" : String(value));
  function numberField(column, id) {
    const control = el("input", { id, type: "number", step: "any", placeholder: "missing" });
    const { special } = data.columns[column];
    const hint = special.length > 0 && el("span", { class: "hint" }, `special: ${special.map(number).join(", ")}`);
    const read = () => (control.validity.badInput ? undefined : control.value === "" ? null : Number(control.value));
    return { control, hint, read, write: (value) => { control.value = asText(value); } };
  }
  function categoryField(column, id) {
    const options = [...data.columns[column].categories.map((name, code) => [code, name]), ["", "missing"], [UNKNOWN, "another category"]];
    const control = el("select", { id }, options.map(([value, name]) => el("option", { value }, name)));
    return { control, read: () => (control.value === "" ? null : Number(control.value)), write: (value) => { control.value = asText(value); } };
  }
  function makeField(column) {
    const id = `what-if-${column}`, made = (data.columns[column].kind === "number" ? numberField : categoryField)(column, id);
    const was = el("span", { class: "was" });
    made.control.setAttribute("data-column", column);
    made.control.setAttribute("data-test", "what-if-value");
    const box = el("div", { class: "field" }, el("label", { for: id }, data.columns[column].name), made.control, made.hint, was);
    fields.set(column, { ...made, box, was, start: data.columns[column].typical });
  }
  // The columns of the current tree are in front. The others matter only to the black box.
  function arrange() {
    const { tree } = state.level(), used = new Set(tree.condition.filter((id) => id >= 0).map((id) => data.conditions[id].column));
    const inBox = new Set(blackBox.columns), isOf = (column) => inBox.has(data.columns[column].feature);
    const others = data.form.columns.filter((column) => !used.has(column) && isOf(column));
    put("what-if-tree-columns", data.form.columns.filter((column) => used.has(column)).map((column) => fields.get(column).box));
    put("what-if-others", others.map((column) => fields.get(column).box));
    place("what-if-more").hidden = !others.length;
    place("what-if-none").hidden = used.size > 0;
    if (!used.size) place("what-if-more").open = true;
    put("what-if-more-title", `${counted(others.length, "column")} that only the black box uses`);
  }

  function fill(valueOf, name) {
    from = name;
    for (const [column, field] of fields) {
      field.start = valueOf(column);
      field.write(field.start);
    }
    draw();
  }
  const typical = () => fill((column) => data.columns[column].typical, "typical values");
  function fromRow() {
    const i = rows && state.row !== null ? rows.index.get(state.row) : undefined;
    if (i === undefined) return;
    const has = (column) => rows.columns.includes(column), n = data.form.columns.filter((column) => !has(column)).length;
    fill((column) => (has(column) ? rows.value(i, column) : data.columns[column].typical),
      `row ${state.row}${n ? `, with typical values in ${counted(n, "column")} that this page has no room for` : ""}`);
  }

  // Probabilities of the tree as in Python: half a row of every class is added to the training rows in the leaf.
  function ofTree(tree, leaf) {
    const weight = tree.weight[leaf], total = sum(weight) + data.tree_classes.length / 2;
    return weight.map((part, code) => (data.tree_classes.includes(code) ? (part + 0.5) / total : 0));
  }
  function answer() {
    const values = new Map([...fields].map(([column, field]) => [column, field.read()]));
    if ([...values.values()].includes(undefined)) return null;
    const { tree } = state.level(), path = fcca.walk(tree, (column) => values.get(column));
    const byFeature = new Map(data.form.columns.map((column) => [data.columns[column].feature, values.get(column)]));
    return { values, path, tree: { code: heaviest(tree.weight[path.leaf]), probabilities: ofTree(tree, path.leaf) },
      blackBox: blackBox.isThere ? blackBox.predict((feature) => byFeature.get(feature)) : null };
  }

  function likely(found) {
    const both = data.classes.map((_, code) => Math.max(found.tree.probabilities[code], found.blackBox?.probabilities?.[code] ?? 0));
    const order = data.classes.map((_, code) => code).sort((a, b) => both[b] - both[a] || a - b).slice(0, MOST_CLASSES);
    return order.sort((a, b) => a - b);
  }
  function chances(found) {
    const codes = likely(found), theirs = found.blackBox && found.blackBox.probabilities;
    const cell = (p) => el("td", { class: "number", title: String(p) }, percent(p));
    return el("table", { class: "chances", "data-test": "what-if-chances" },
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Probability of"), el("th", { scope: "col", class: "number" }, "Tree"),
        theirs && el("th", { scope: "col", class: "number" }, "Black box"))),
      el("tbody", {}, codes.map((code) => el("tr", { "data-class": code }, el("th", { scope: "row" }, data.classes[code]),
        cell(found.tree.probabilities[code]), theirs && cell(theirs[code])))));
  }
  // One sentence for screen readers.
  function spoken(found) {
    const of = ({ code, probabilities }) => `${data.classes[code]}${probabilities ? `, ${percent(probabilities[code])}` : ""}`;
    return `Tree: ${of(found.tree)}.${found.blackBox ? ` Black box: ${of(found.blackBox)}.` : ""}`;
  }
  // Values that no training row has: the black box may get a typical value instead.
  function unseen({ values }) {
    const names = [...values].filter(([column, value]) => {
      const { kind, missing } = data.columns[column];
      return (value === null && !missing) || (kind === "category" && value === UNKNOWN);
    }).map(([column]) => data.columns[column].name);
    return names.length > 0 && el("p", { class: "caveat", "data-test": "what-if-unseen" },
      `No training row has such a value of ${names.join(", ")}. Conditions on it are false`,
      blackBox.isThere && ", and the black box gets a typical value instead", ".");
  }
  function steps({ values, path }) {
    const { tree } = state.level();
    if (!path.steps.length) return el("p", { class: "quiet" }, "The tree is a single leaf: every row gets the same prediction.");
    return el("ol", { class: "steps" }, path.steps.map((each) => {
      const { column } = data.conditions[tree.condition[each.node]], value = values.get(column);
      return el("li", {}, el("span", { "data-test": "what-if-step" }, said(tree, each)),
        el("span", { class: "quiet" }, ` it is ${value === UNKNOWN && data.columns[column].kind === "category" ? "another category" : saidValue(column, value)}`));
    }));
  }

  function draw() {
    let changed = 0;
    for (const [column, { read, start, was, box, control }] of fields) {
      const value = read(), isChanged = value !== start;
      control.setAttribute("aria-invalid", String(value === undefined));
      box.classList.toggle("changed", isChanged);
      was.textContent = value === undefined ? "Type a number." : isChanged ? `was ${saidValue(column, start)}` : "";
      changed += isChanged;
    }
    const found = answer(), row = place("what-if-row");
    row.textContent = state.row === null ? "A looked-up row" : `Row ${state.row}`;
    row.disabled = state.row === null || !rows || !rows.index.has(state.row);
    put("what-if-from", `The form started from ${from}${changed ? `; ${counted(changed, "value")} changed` : ""}.`);
    put("what-if-said", found ? spoken(found) : "A value is not a number.");
    if (!found) { put("what-if-answer", el("p", {}, "A value is not a number.")); put("what-if-path"); return; }
    put("what-if-answer",
      el("dl", { class: "tiles" }, tile("Tree predicts", "what-if-tree", data.classes[found.tree.code]),
        found.blackBox && tile("Black box predicts", "what-if-black-box", data.classes[found.blackBox.code],
          found.blackBox.code === found.tree.code ? "like the tree" : "unlike the tree")),
      chances(found), unseen(found));
    put("what-if-path", el("h3", {}, "Path"), steps(found));
    drawTree(found.path);
  }
  function drawTree(path) {
    const box = place("what-if-diagram"), { tree } = state.level();
    box.parentElement.hidden = isLeaf(tree, 0);
    if (isLeaf(tree, 0)) return;
    box.replaceChildren(fcca.tree.diagram(tree, Math.max(260, box.clientWidth - 26), path, "what-if"));
    const lit = box.querySelector(".leaf.lit .body").getBBox();
    if (box.scrollHeight > box.clientHeight + 2) box.scrollTop = lit.y + lit.height - box.clientHeight / 2;
  }
  // Continue with the row that is looked up.
  function change() {
    if (state.row === null || !rows || !rows.index.has(state.row)) return;
    fromRow();
    document.getElementById("what-if").scrollIntoView();
    (document.querySelector("form.what-if .field input, form.what-if .field select") || place("what-if-typical")).focus();
  }
  function redraw() {
    arrange();
    draw();
  }

  function start() {
    data.form.columns.forEach(makeField);
    const form = document.querySelector("form.what-if");
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", draw);
    place("what-if-typical").addEventListener("click", typical);
    place("what-if-row").addEventListener("click", fromRow);
    for (const [column, field] of fields) field.write(data.columns[column].typical);
  }
  async function read(table) {
    rows = table;
    await blackBox.read();
    redraw();
  }
  return { start, read, redraw, draw, answer, change };
})();
