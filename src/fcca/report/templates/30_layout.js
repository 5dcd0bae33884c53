"use strict";
// Positions of the cards of a tree. Three layouts, the first that fits the width: top-down, left-right, and an indented list,
// which always fits. The label of a branch is above the top edge of its card. The height of a card depends on the lines of its
// title: linesOf(node, width of the card).
fcca.layout = (() => {
  const CARD = 68, LINE = 17, LABEL = 18, GAP = 14;
  const height = (lines) => CARD + LINE * (lines - 1);

  function measure(tree) {
    const depth = [], slot = [], first = [], order = [];
    let leaves = 0;
    (function visit(node, level) {
      depth[node] = level;
      first[node] = leaves;
      order.push(node);
      if (fcca.isLeaf(tree, node)) { slot[node] = leaves++; return; }
      visit(tree.left[node], level + 1);
      visit(tree.right[node], level + 1);
      slot[node] = (slot[tree.left[node]] + slot[tree.right[node]]) / 2;
    })(0, 0);
    return { depth, slot, first, order, leaves, deepest: Math.max(...order.map((node) => depth[node])) };
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

  function topDown(tree, width, { depth, slot, order, leaves, deepest }, linesOf) {
    const pitch = between(166, width / leaves, 270);
    if (pitch * leaves > width + 1) return null;
    const boxes = [], start = (width - pitch * leaves) / 2, highest = Array(deepest + 1).fill(CARD);
    for (const node of order) {
      const w = fcca.isLeaf(tree, node) ? Math.min(220, pitch - GAP) : Math.min(260, 2 * pitch - GAP), h = height(linesOf(node, w));
      boxes[node] = { x: start + (slot[node] + 0.5) * pitch - w / 2, w, h };
      highest[depth[node]] = Math.max(highest[depth[node]], h);
    }
    const top = highest.reduce((all, h) => [...all, all[all.length - 1] + h + LABEL + 40], [4]);
    for (const node of order) boxes[node].y = top[depth[node]];
    const line = (from, to) => {
      const x = from.x + from.w / 2, goal = to.x + to.w / 2, bottom = from.y + from.h, turn = to.y - LABEL - 20;
      const r = Math.min(8, Math.abs(goal - x) / 2), way = Math.sign(goal - x);
      return `M${x},${bottom}V${turn - r}Q${x},${turn} ${x + way * r},${turn}H${goal - way * r}Q${goal},${turn} ${goal},${turn + r}V${to.y - 1}`;
    };
    const label = (to) => ({ x: to.x + to.w / 2, y: to.y - 15, anchor: "middle", width: pitch - 8 });
    return { width, height: 4 + top[deepest] + highest[deepest], boxes, links: links(tree, boxes, line, label), shape: "top-down" };
  }

  function leftRight(tree, width, { depth, slot, first, order, leaves, deepest }, linesOf) {
    const gap = deepest > 3 ? 28 : 44, w = Math.min(240, (width - gap * deepest - 16) / (deepest + 1));
    if (w < 140) return null;
    const boxes = [], highs = order.map((node) => height(linesOf(node, w)));
    const leaf = Math.max(...order.map((node, i) => (fcca.isLeaf(tree, node) ? highs[i] : CARD))), pitch = leaf + LABEL + 8;
    // The root of a tall tree is at the top, where it is visible first.
    const isHigh = leaves > 8, middle = (box) => box.y + (isHigh ? CARD : box.h) / 2;
    order.forEach((node, i) => {
      const y = isHigh ? first[node] * pitch : slot[node] * pitch + (leaf - highs[i]) / 2;
      boxes[node] = { x: 6 + depth[node] * (w + gap), y: LABEL + y, w, h: highs[i] };
    });
    const line = (from, to) => {
      const x = from.x + from.w, y = middle(from), goal = middle(to), turn = x + gap / 2;
      const r = Math.min(8, Math.abs(goal - y) / 2), way = Math.sign(goal - y);
      return `M${x},${y}H${turn - r}Q${turn},${y} ${turn},${y + way * r}V${goal - way * r}Q${turn},${goal} ${turn + r},${goal}H${to.x - 1}`;
    };
    const label = (to) => ({ x: to.x + 2, y: to.y - 6, anchor: "start", width: to.w - 4 });
    const all = (deepest + 1) * (w + gap) - gap + 16, bottom = Math.max(...boxes.map((box) => box.y + box.h)) + 8;
    return { width: all, height: bottom, boxes, links: links(tree, boxes, line, label), shape: "left-right" };
  }

  function outline(tree, width, { depth, order, deepest }, linesOf) {
    const indent = between(14, (width - 230) / Math.max(1, deepest), 30), boxes = [];
    let y = 4;
    for (const node of order) {
      const x = 4 + depth[node] * indent, w = between(200, width - x - 8, 420), h = height(linesOf(node, w));
      boxes[node] = { x, y, w, h };
      y += h + LABEL + 8;
    }
    const line = (from, to) => {
      const x = from.x + 8, y = to.y + to.h / 2, r = 5;
      return `M${x},${from.y + from.h}V${y - r}Q${x},${y} ${x + r},${y}H${to.x - 1}`;
    };
    const label = (to) => ({ x: to.x + 2, y: to.y - 6, anchor: "start", width: to.w - 4 });
    const all = Math.max(...boxes.map((box) => box.x + box.w)) + 8;
    return { width: all, height: y - LABEL, boxes, links: links(tree, boxes, line, label), shape: "outline" };
  }

  return (tree, width, linesOf) => {
    const shape = measure(tree), wide = width >= 560;
    return (wide && (topDown(tree, width, shape, linesOf) || leftRight(tree, width, shape, linesOf))) || outline(tree, width, shape, linesOf);
  };
})();
