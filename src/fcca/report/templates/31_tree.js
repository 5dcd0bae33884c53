"use strict";
// The tree as a diagram and as rules, with the path of the selected row.
fcca.tree = (() => {
  const { data, el, svg, put, place, number, percent, counted, sum, heaviest, share, FEW, isFew, inRows, purity, isLeaf,
    said, sayPath, leaves, state } = fcca;
  const COLOURS = 10, LINE = 17, TITLE = "600 14px";
  const pen = document.createElement("canvas").getContext("2d");
  const FAMILY = getComputedStyle(document.body).fontFamily;

  function widthOf(text) {
    pen.font = `12px ${FAMILY}`;
    return pen.measureText(text).width;
  }

  // Shorten a text to a width. A condition keeps its end, the threshold; the column name is shortened.
  function cut(text, width, font, kept = "") {
    pen.font = `${font} ${FAMILY}`;
    if (pen.measureText(text).width <= width) return text;
    const end = kept && pen.measureText(`${kept}…`).width < 0.85 * width ? kept : "";
    const letters = [...text.slice(0, text.length - end.length)];
    let few = 0, many = letters.length;
    while (few < many) {
      const half = Math.ceil((few + many) / 2);
      if (pen.measureText(`${letters.slice(0, half).join("")}…${end}`).width <= width) few = half;
      else many = half - 1;
    }
    return `${letters.slice(0, few).join("").trimEnd()}…${end}`;
  }
  const tail = (condition) => condition.text.slice(data.columns[condition.column].name.length);

  // Break a text into lines between words. The kept end stays in one chunk if possible. With too many lines, the last one is
  // shortened.
  function wrap(text, width, font, most, kept = "") {
    pen.font = `${font} ${FAMILY}`;
    const fits = (chunk) => pen.measureText(chunk.trim()).width <= width;
    if (fits(text)) return [text];
    const whole = kept && fits(kept) ? kept : "", lines = [""];
    const chunks = text.slice(0, text.length - whole.length).match(/[^\s_\-/,;.:]*[\s_\-/,;.:]+|[^\s_\-/,;.:]+/g) || [];
    for (let chunk of [...chunks, whole]) {
      if (fits(lines[lines.length - 1] + chunk)) { lines[lines.length - 1] += chunk; continue; }
      if (lines[lines.length - 1]) lines.push("");
      for (const letter of fits(chunk) ? [chunk] : chunk) {
        if (!fits(lines[lines.length - 1] + letter)) lines.push("");
        lines[lines.length - 1] += letter;
      }
      if (lines.length > most) break;
    }
    if (lines.length > most) {
      const before = lines.slice(0, most - 1), rest = text.slice(before.join("").length);
      return [...before.map((line) => line.trim()), cut(rest.trim(), width, font, kept)];
    }
    return lines.map((line) => line.trim());
  }
  function titleOf(tree, node, width) {
    if (isLeaf(tree, node)) return wrap(data.classes[heaviest(tree.weight[node])], width - 24 - 17, TITLE, 2);
    const condition = data.conditions[tree.condition[node]];
    return wrap(condition.text, width - 24, TITLE, 3, condition.kind === "set" ? "" : tail(condition));
  }

  // A rectangle in the colour and pattern of a class, as in fcca.plots.
  function patch(code, x, y, width, height = width) {
    const shape = { x, y, width, height, rx: 2 }, hatch = (code + Math.floor(code / COLOURS)) % COLOURS;
    const parts = [svg("rect", { ...shape, class: "class" }), hatch > 0 && svg("rect", { ...shape, class: "hatch", fill: `url(#hatch${hatch})` })];
    parts[0].style.setProperty("--class", `var(--class${code % COLOURS})`);
    return parts.filter(Boolean);
  }
  function bar(weight, x, y, width, height) {
    const total = sum(weight) || 1, parts = [];
    let at = x;
    weight.forEach((part, code) => {
      const w = (part / total) * width;
      if (w <= 0) return;
      parts.push(...patch(code, at.toFixed(2), y, Math.max(0.6, w - (w > 3 ? 1 : 0)).toFixed(2), height));
      at += w;
    });
    return parts;
  }
  function distribution(weight) {
    const total = sum(weight) || 1;
    const order = weight.map((part, code) => [part, code]).filter(([part]) => part > 0).sort((a, b) => b[0] - a[0]);
    return order.map(([part, code]) => `${data.classes[code]} ${percent(part / total)}`).join(", ");
  }

  function card(tree, node, box, onPath, key) {
    const leaf = isLeaf(tree, node), weight = tree.weight[node], code = heaviest(weight), inside = box.w - 24;
    const title = leaf ? data.classes[code] : data.conditions[tree.condition[node]].text, lines = titleOf(tree, node, box.w);
    const part = percent(share(tree, node)), rows = leaf ? inRows(tree, node) : counted(tree.rows[node], "row");
    const few = leaf && isFew(tree, node), x = box.x + 12, y = box.y + 23 + LINE * (lines.length - 1), end = box.x + box.w - 12;
    const group = svg("g", {
      class: `card ${leaf ? "leaf" : "inner"}${onPath ? " lit" : ""}`, "data-node": node, "data-test": key === "tree" ? "node" : `${key}-node`,
    }, svg("title", {}, `${title}${leaf ? "" : "?"}\n${rows}: ${distribution(weight)}`));
    group.append(svg("rect", { class: "body", x: box.x, y: box.y, width: box.w, height: box.h, rx: leaf ? 14 : 6 }));
    if (leaf) group.append(...patch(code, x, box.y + 12, 12));
    lines.forEach((line, i) => group.append(svg("text", { class: "name", x: leaf ? x + 17 : x, y: box.y + 23 + LINE * i }, line)));
    // The count, as long as there is room beside the share. The most frequent class, by colour and, if there is room, by name.
    const mark = few ? "few rows" : part, all = number(tree.rows[node]);
    const forms = leaf ? [rows, rows.replace(/\u00a0rows?$/, ""), counted(tree.rows[node], "row"), all] : [rows, all];
    const space = inside - widthOf(mark) - (leaf ? 6 : 19), count = forms.find((form) => widthOf(form) <= space) || all;
    group.append(svg("text", { x, y: y + 18 }, count));
    const most = leaf ? mark : cut(`“${data.classes[code]}” ${part}`, inside - widthOf(count) - 24, "12px", `” ${part}`);
    const shown = leaf || (most.endsWith(part) && !/^“.{0,2}…/u.test(most)) ? most : part;
    group.append(svg("text", { class: few ? "few" : null, x: end, y: y + 18, "text-anchor": "end" }, shown));
    if (!leaf) group.append(...patch(code, end - widthOf(shown) - 13, y + 9, 9));
    group.append(...bar(weight, x, y + 26, inside, 9));
    if (onPath) group.append(svg("circle", { class: "stop", cx: box.x + box.w - 4, cy: box.y + 4, r: 6 }));
    return group;
  }

  // The label of a branch: yes or no, and whether special and missing values take it.
  function branch(tree, link, full) {
    const { kind, text, negation } = data.conditions[tree.condition[link.node]], missing = " or missing";
    const base = link.right ? text : negation.endsWith(missing) ? negation.slice(0, -missing.length) : negation;
    const more = kind === "cut" && full.startsWith(base) ? full.slice(base.length) : "";
    return `${link.right ? "yes" : "no"}${more && ","}${more}`;
  }

  // A page may have several diagrams, each with its own key.
  function diagram(tree, width, path, key = "tree") {
    const plan = fcca.layout(tree, width, (node, room) => titleOf(tree, node, room).length);
    const lit = new Set(path ? [...path.steps.map((step) => step.node), path.leaf] : []);
    const picture = svg("svg", {
      class: `tree ${plan.shape}${path ? " with-path" : ""}`, role: "img", width: Math.ceil(plan.width), height: Math.ceil(plan.height),
      viewBox: `0 0 ${Math.ceil(plan.width)} ${Math.ceil(plan.height)}`, "aria-label":
        `Decision tree with ${counted(plan.boxes.length, "node")}; the rules below are the same tree as text`,
    });
    picture.append(svg("defs", {},
      svg("marker", { id: `arrow-${key}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 3, markerHeight: 3, orient: "auto" },
        svg("path", { class: "head", d: "M0,0L8,4L0,8Z" }))));
    const isLit = (link) => lit.has(link.node) && lit.has(link.child);
    for (const link of [...plan.links].sort((a, b) => isLit(a) - isLit(b))) {
      picture.append(svg("path", { class: `link${isLit(link) ? " lit" : ""}`, d: link.line, "marker-end": isLit(link) ? `url(#arrow-${key})` : null }));
    }
    for (const link of plan.links) {
      const full = said(tree, link), words = branch(tree, link, full), { x, y, anchor, width: room } = link.label;
      picture.append(svg("text", { class: `branch${isLit(link) ? " lit" : ""}`, x, y, "text-anchor": anchor },
        svg("title", {}, full), cut(words, room, "600 12px")));
    }
    plan.boxes.forEach((box, node) => picture.append(card(tree, node, box, lit.has(node), key)));
    return picture;
  }

  function legend() {
    const weight = state.level().tree.weight[0], total = sum(weight) || 1;
    put("classes", data.classes.map((name, code) => el("li", {},
      svg("svg", { width: 16, height: 16, "aria-hidden": "true" }, patch(code, 0, 0, 16)),
      el("span", { class: "long", title: name }, name), el("span", { class: "quiet" }, percent(weight[code] / total)))));
  }

  function rules(tree, path) {
    put("rules", leaves(tree).map(({ leaf, steps }) => el("li", { class: path && path.leaf === leaf ? "lit" : null, "data-leaf": leaf },
      `${sayPath(tree, steps).join(" and ")} → `, el("strong", {}, data.classes[heaviest(tree.weight[leaf])]),
      ` (${purity(tree, leaf)})`,
      path && path.leaf === leaf && el("span", { class: "chip" }, `row ${state.row}`))));
  }

  // Show a hint if the diagram is larger than its box, as on phones.
  function sayMore(box) {
    const more = box.scrollHeight > box.clientHeight + 2 || box.scrollWidth > box.clientWidth + 2;
    place("tree-more").hidden = !more;
    box.parentElement.classList.toggle("goes-on", more);
  }

  let forced = null;
  function draw(path) {
    const { tree, certificate } = state.level(), box = place("tree");
    const width = forced || box.clientWidth - 26;
    box.replaceChildren(diagram(tree, Math.max(260, width), path));
    rules(tree, path);
    sayMore(box);
    put("tree-caption", `${counted(certificate.leaves, "leaf", "leaves")}, depth ${number(certificate.depth)}, on ${counted(fcca.nKept(state.level()), "threshold")}. `,
      tree.condition[0] < 0 ? "No split is worth the cost of a leaf at this level: every row gets the same prediction. "
        : "Rows that meet the condition on a card follow the “yes” branch. Counts are numbers of training rows. ",
      leaves(tree).some(({ leaf }) => isFew(tree, leaf)) && `“Few rows” marks leaves with fewer than ${FEW} training rows: their shares are uncertain. `,
      path && `The path of row ${state.row} is highlighted.`);
  }
  // Set a fixed width for printing.
  const force = (width) => { forced = width; };

  return { draw, diagram, patch, legend, force };
})();
