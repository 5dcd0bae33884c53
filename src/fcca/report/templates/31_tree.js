"use strict";
// The tree as a diagram, its rules as text, the path of the chosen row in both.
fcca.tree = (() => {
  const { data, el, svg, put, place, number, percent, counted, sum, heaviest, share, isLeaf, said, sayPath, leaves, state } = fcca;
  const COLOURS = 8;
  const pen = document.createElement("canvas").getContext("2d");
  const FAMILY = getComputedStyle(document.body).fontFamily;

  // A text cut to a width. A condition keeps its end, the threshold, and loses the middle of the column's name.
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


  // A rectangle in a class's colour, with stripes from the ninth class on.
  function patch(code, x, y, width, height = width) {
    const shape = { x, y, width, height, rx: 2 };
    const parts = [svg("rect", { ...shape, class: "class" }), code >= COLOURS && svg("rect", { ...shape, fill: "url(#stripes)" })];
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

  function card(tree, node, box, onPath) {
    const leaf = isLeaf(tree, node), weight = tree.weight[node], code = heaviest(weight), inside = box.w - 24;
    const condition = leaf ? null : data.conditions[tree.condition[node]];
    const title = leaf ? data.classes[code] : `${condition.text}`;
    const rows = counted(tree.rows[node], "row"), part = percent(share(tree, node));
    const most = leaf ? part : `${data.classes[code]}: ${part}`;
    pen.font = `12px ${FAMILY}`;
    const room = inside - pen.measureText(rows).width - 10, partWidth = pen.measureText(part).width;
    const fitted = pen.measureText(most).width > room && room < 70 ? part : cut(most, room, "12px", leaf ? "" : `: ${part}`);
    const x = box.x + 12, group = svg("g", {
      class: `card ${leaf ? "leaf" : "inner"}${onPath ? " lit" : ""}`, "data-node": node, "data-test": "node",
    }, svg("title", {}, `${title}${leaf ? "" : "?"}\n${rows}: ${distribution(weight)}`));
    group.append(svg("rect", { class: "body", x: box.x, y: box.y, width: box.w, height: box.h, rx: leaf ? 14 : 6 }));
    if (leaf) group.append(...patch(code, x, box.y + 13, 11));
    group.append(svg("text", { class: "name", x: leaf ? x + 17 : x, y: box.y + 23 },
      leaf ? cut(title, inside - 17, "600 14px") : cut(title, inside, "600 14px", tail(condition))));
    group.append(svg("text", { x, y: box.y + 41 }, rows));
    group.append(svg("text", { x: box.x + box.w - 12, y: box.y + 41, "text-anchor": "end" }, fitted));
    // No room for the class's name: its colour, and the name where the card is pointed at.
    if (!leaf && fitted === part) group.append(...patch(code, box.x + box.w - 24 - partWidth, box.y + 33, 8));
    group.append(...bar(weight, x, box.y + 49, inside, 6));
    if (onPath) group.append(svg("circle", { class: "stop", cx: box.x + box.w - 4, cy: box.y + 4, r: 6 }));
    return group;
  }

  // The words on a branch: yes or no, and what the card does not say.
  function branch(tree, link, full) {
    if (link.right) return "yes";
    return full.endsWith(" or missing") && data.conditions[tree.condition[link.node]].kind === "cut" ? "no, or missing" : "no";
  }

  function diagram(tree, width, path) {
    const plan = fcca.layout(tree, width), lit = new Set(path ? [...path.steps.map((step) => step.node), path.leaf] : []);
    const picture = svg("svg", {
      class: `tree ${plan.shape}${path ? " with-path" : ""}`, role: "img", width: Math.ceil(plan.width), height: Math.ceil(plan.height),
      viewBox: `0 0 ${Math.ceil(plan.width)} ${Math.ceil(plan.height)}`, "aria-label":
        `Decision tree with ${counted(plan.boxes.length, "node")}; the rules below say the same in words`,
    });
    picture.append(svg("defs", {},
      svg("pattern", { id: "stripes", width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
        svg("rect", { class: "stripe", width: 2, height: 5 })),
      svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 3, markerHeight: 3, orient: "auto" },
        svg("path", { class: "head", d: "M0,0L8,4L0,8Z" }))));
    const isLit = (link) => lit.has(link.node) && lit.has(link.child);
    for (const link of [...plan.links].sort((a, b) => isLit(a) - isLit(b))) {
      picture.append(svg("path", { class: `link${isLit(link) ? " lit" : ""}`, d: link.line, "marker-end": isLit(link) ? "url(#arrow)" : null }));
    }
    for (const link of plan.links) {
      const full = said(tree, link), words = branch(tree, link, full), { x, y, anchor, width: room } = link.label;
      picture.append(svg("text", { class: `branch${isLit(link) ? " lit" : ""}`, x, y, "text-anchor": anchor },
        svg("title", {}, full), cut(words, room, "600 12px")));
    }
    plan.boxes.forEach((box, node) => picture.append(card(tree, node, box, lit.has(node))));
    return picture;
  }

  function legend() {
    const weight = state.level().tree.weight[0], total = sum(weight) || 1;
    put("classes", data.classes.map((name, code) => el("li", {},
      svg("svg", { width: 14, height: 14, "aria-hidden": "true" }, patch(code, 0, 0, 14)),
      el("span", { class: "long", title: name }, name), el("span", { class: "quiet" }, percent(weight[code] / total)))));
  }

  function rules(tree, path) {
    put("rules", leaves(tree).map(({ leaf, steps }) => el("li", { class: path && path.leaf === leaf ? "lit" : null, "data-leaf": leaf },
      `${sayPath(tree, steps).join(" and ")} → `, el("strong", {}, data.classes[heaviest(tree.weight[leaf])]),
      ` (${percent(share(tree, leaf))} of ${counted(tree.rows[leaf], "row")})`,
      path && path.leaf === leaf && el("span", { class: "chip" }, `row ${state.row}`))));
  }

  // Where the diagram is larger than its box, the end of the path is scrolled into it; the page itself stays where it is.
  function show(box, leaf) {
    const card = box.querySelector(`[data-node="${leaf}"]`).getBoundingClientRect(), frame = box.getBoundingClientRect();
    if (card.bottom > frame.bottom) box.scrollTop += card.bottom - frame.bottom + 24;
    if (card.right > frame.right) box.scrollLeft += card.right - frame.right + 24;
  }

  let forced = null;
  function draw(path) {
    const { tree, certificate } = state.level(), box = place("tree");
    const width = forced || box.clientWidth - 26;
    box.replaceChildren(diagram(tree, Math.max(260, width), path));
    rules(tree, path);
    if (path) show(box, path.leaf);
    put("tree-caption", `${counted(certificate.leaves, "leaf", "leaves")}, depth ${number(certificate.depth)}, `,
      `${certificate.text}, at ${state.called()}. `,
      tree.condition[0] < 0 ? "No split is worth the price of a leaf at this level: every row gets the same answer. "
        : "Each card asks for its condition; rows for which it holds go to “yes”. ",
      path && `The path of row ${state.row} is drawn bold.`);
  }
  // For paper, the diagram is laid out anew for its width.
  const force = (width) => { forced = width; };

  return { draw, legend, force };
})();
