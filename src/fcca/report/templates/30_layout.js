"use strict";
// Where the cards of a tree stand. Three ways, the first that fits the width: from the top down, from left to right, and as an
// indented list, which fits everywhere. A card has a place for the words of the branch that leads to it above its top edge.
fcca.layout = (() => {
  const CARD = 64, LABEL = 18, GAP = 14;

  function measure(tree) {
    const depth = [], slot = [], order = [];
    let leaves = 0;
    (function visit(node, level) {
      depth[node] = level;
      order.push(node);
      if (fcca.isLeaf(tree, node)) { slot[node] = leaves++; return; }
      visit(tree.left[node], level + 1);
      visit(tree.right[node], level + 1);
      slot[node] = (slot[tree.left[node]] + slot[tree.right[node]]) / 2;
    })(0, 0);
    return { depth, slot, order, leaves, deepest: Math.max(...order.map((node) => depth[node])) };
  }
  const between = (low, x, high) => Math.max(low, Math.min(x, high));

  function links(tree, boxes, line, label) {
    const found = [];
    boxes.forEach((box, node) => {
      if (fcca.isLeaf(tree, node)) return;
      for (const right of [false, true]) {
        const child = right ? tree.right[node] : tree.left[node], to = boxes[child];
        found.push({ node, child, right, line: line(box, to), label: label(to, right) });
      }
    });
    return found;
  }

  function topDown(tree, width, { depth, slot, order, leaves, deepest }) {
    const pitch = between(142, width / leaves, 250), step = CARD + LABEL + 40;
    if (pitch * leaves > width + 1) return null;
    const boxes = [], start = (width - pitch * leaves) / 2;
    for (const node of order) {
      const w = fcca.isLeaf(tree, node) ? Math.min(210, pitch - GAP) : Math.min(230, 2 * pitch - GAP);
      boxes[node] = { x: start + (slot[node] + 0.5) * pitch - w / 2, y: 4 + depth[node] * step, w, h: CARD };
    }
    const line = (from, to) => {
      const x = from.x + from.w / 2, goal = to.x + to.w / 2, bottom = from.y + from.h, turn = bottom + 20;
      const r = Math.min(8, Math.abs(goal - x) / 2), way = Math.sign(goal - x);
      return `M${x},${bottom}V${turn - r}Q${x},${turn} ${x + way * r},${turn}H${goal - way * r}Q${goal},${turn} ${goal},${turn + r}V${to.y - 1}`;
    };
    const label = (to) => ({ x: to.x + to.w / 2, y: to.y - 15, anchor: "middle", width: pitch - 8 });
    return { width, height: 8 + deepest * step + CARD, boxes, links: links(tree, boxes, line, label), shape: "top-down" };
  }

  function leftRight(tree, width, { depth, slot, order, leaves, deepest }) {
    const gap = 44, w = Math.min(220, (width - gap * deepest - 16) / (deepest + 1)), pitch = CARD + LABEL + 8;
    if (w < 132) return null;
    const boxes = [];
    for (const node of order) boxes[node] = { x: 6 + depth[node] * (w + gap), y: LABEL + slot[node] * pitch, w, h: CARD };
    const line = (from, to) => {
      const x = from.x + from.w, y = from.y + from.h / 2, goal = to.y + to.h / 2, turn = x + gap / 2;
      const r = Math.min(8, Math.abs(goal - y) / 2), way = Math.sign(goal - y);
      return `M${x},${y}H${turn - r}Q${turn},${y} ${turn},${y + way * r}V${goal - way * r}Q${turn},${goal} ${turn + r},${goal}H${to.x - 1}`;
    };
    const label = (to) => ({ x: to.x + 2, y: to.y - 6, anchor: "start", width: to.w - 4 });
    const all = (deepest + 1) * (w + gap) - gap + 16;
    return { width: all, height: LABEL + leaves * pitch - LABEL + 4, boxes, links: links(tree, boxes, line, label), shape: "left-right" };
  }

  function outline(tree, width, { depth, order, deepest }) {
    const indent = between(14, (width - 230) / Math.max(1, deepest), 30), pitch = CARD + LABEL + 8, boxes = [];
    order.forEach((node, i) => {
      const x = 4 + depth[node] * indent;
      boxes[node] = { x, y: 4 + i * pitch, w: between(200, width - x - 8, 420), h: CARD };
    });
    const line = (from, to) => {
      const x = from.x + 8, y = to.y + to.h / 2, r = 5;
      return `M${x},${from.y + from.h}V${y - r}Q${x},${y} ${x + r},${y}H${to.x - 1}`;
    };
    const label = (to) => ({ x: to.x + 2, y: to.y - 6, anchor: "start", width: to.w - 4 });
    const all = Math.max(...boxes.map((box) => box.x + box.w)) + 8;
    return { width: all, height: order.length * pitch - LABEL, boxes, links: links(tree, boxes, line, label), shape: "outline" };
  }

  return (tree, width) => {
    const shape = measure(tree);
    return (width >= 560 && (topDown(tree, width, shape) || leftRight(tree, width, shape))) || outline(tree, width, shape);
  };
})();
