"use strict";
// A small chart: lines over the steps of a slider, labels at the right, the current step marked.
fcca.chart = (() => {
  const { el, svg, isThere, number } = fcca;
  const HEIGHT = 190, TOP = 12, BOTTOM = 34, LEFT = 46, WIDE = 440;
  const isWide = (width) => width >= WIDE;
  const inPercent = (share) => `${number(Number((100 * share).toFixed(1)))}\u00a0%`;

  function ticksFor(values) {
    const low = Math.min(...values), high = Math.max(...values);
    const step = [0.01, 0.02, 0.05, 0.1, 0.2, 0.25].find((s) => (high - low) / s <= 4 && s >= 0.01) || 0.25;
    let first = Math.floor(low / step + 1e-9), last = Math.ceil(high / step - 1e-9);
    while (last - first < 2) last < 1 / step - 1e-9 ? last++ : first--;
    return Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step);
  }

  // Move the labels at the ends of lines apart if they overlap.
  function spread(labels, low, high) {
    labels.sort((a, b) => a.y - b.y);
    for (let i = 0; i < labels.length; i++) labels[i].at = Math.max(labels[i].y, i ? labels[i - 1].at + 15 : low);
    for (let i = labels.length - 1, limit = high; i >= 0; i--) { labels[i].at = Math.min(labels[i].at, limit); limit = labels[i].at - 15; }
    return labels;
  }

  function mark({ kind, sign }, x, y, size) {
    if (sign === "●") return svg("circle", { class: `dot ${kind}`, cx: x, cy: y, r: size });
    if (sign === "◆") return svg("path", { class: `dot ${kind}`, d: `M${x},${y - size * 1.2}l${size * 1.2},${size * 1.2}l${-size * 1.2},${size * 1.2}l${-size * 1.2},${-size * 1.2}Z` });
    return svg("rect", { class: `dot ${kind}`, x: x - size, y: y - size, width: 2 * size, height: 2 * size });
  }

  // Options: key and name of the chart, text on the current step (said) and below the chart (note); positions on the axis (at)
  // and their labels (steps); lines of {kind, sign, text, values, bounds} and references of {kind, sign, text, y, title}; the
  // current step (now, or null); the tooltip of a step (tip) and the click handler (pick).
  function draw({ key, name, said, note, width, at, steps, axis, now, lines, references, tip, pick, zero, label, narrow = 112 }) {
    const RIGHT = isWide(width) ? 146 : narrow;
    const values = [...lines.flatMap((line) => [...line.values, ...(line.bounds || [])]), ...references.map((each) => each.y)].filter(isThere);
    const figure = el("figure", { class: "chart", "data-test": `chart-${key}` },
      el("figcaption", {}, el("strong", {}, name), " ", el("span", { "data-test": `now-${key}` }, said)));
    if (!values.length) return figure;
    const words = el("p", { class: "quiet" }, note);
    figure.append(words);

    const ticks = ticksFor(zero ? [0, ...values] : values), low = ticks[0], high = ticks[ticks.length - 1];
    const right = width - RIGHT, bottom = HEIGHT - BOTTOM, first = Math.min(...at), last = Math.max(...at);
    const X = (i) => (last > first ? LEFT + 8 + ((at[i] - first) / (last - first)) * (right - LEFT - 16) : (LEFT + right) / 2);
    const Y = (y) => TOP + ((high - y) / (high - low)) * (bottom - TOP);
    const order = at.map((_, i) => i).sort((a, b) => at[a] - at[b]); // from left to right
    const picture = svg("svg", { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": label });
    for (const tick of ticks) {
      picture.append(svg("line", { class: "grid", x1: LEFT, x2: right, y1: Y(tick), y2: Y(tick) }));
      picture.append(svg("text", { class: "scale", x: LEFT - 8, y: Y(tick) + 4, "text-anchor": "end" }, inPercent(tick)));
    }
    if (low > 0) words.append(` The axis starts at ${inPercent(low)}.`);
    // Label the current step, both ends, and others if there is room.
    const taken = [], rank = (i) => (i === now ? 0 : i === 0 || i === at.length - 1 ? 1 : 2);
    for (const i of at.map((_, k) => k).sort((a, b) => rank(a) - rank(b) || a - b)) {
      if (taken.some((other) => Math.abs(other - X(i)) < 25)) continue;
      picture.append(svg("text", { class: `scale${i === now ? " now" : ""}`, x: X(i), y: bottom + 16, "text-anchor": "middle" }, steps[i]));
      taken.push(X(i));
    }
    picture.append(svg("text", { class: "scale", x: right + 22, y: bottom + 16 }, axis));
    if (now !== null) {
      picture.append(svg("line", { class: "cursor", x1: X(now), x2: X(now), y1: TOP, y2: bottom, "data-test": `cursor-${key}` }));
    }
    const labels = [];
    for (const { kind, sign, text, y, title } of references) {
      picture.append(svg("line", { class: `reference ${kind}`, x1: LEFT, x2: right, y1: Y(y), y2: Y(y), "data-test": `reference-${kind}` },
        svg("title", {}, title)));
      labels.push({ y: Y(y), sign, text, kind, isReference: true });
    }
    for (const line of lines) {
      const known = line.values.map((y, i) => [i, y]).filter(([, y]) => isThere(y));
      for (const [i, y] of known) {
        const bound = (line.bounds || [])[i];
        if (isThere(bound) && bound < y) picture.append(svg("line", { class: `bound ${line.kind}`, x1: X(i), x2: X(i), y1: Y(y), y2: Y(bound) }));
      }
      picture.append(svg("polyline", { class: `line ${line.kind}`, points: known.map(([i, y]) => `${X(i)},${Y(y)}`).join(" ") }));
      for (const [i, y] of known) picture.append(mark(line, X(i), Y(y), i === now ? 5.5 : 3));
      const end = order.findLast((i) => isThere(line.values[i]));
      if (end !== undefined) labels.push({ y: Y(line.values[end]), sign: line.sign, text: line.text, kind: line.kind });
    }
    for (const { kind, sign, text, at: y, isReference } of spread(labels, TOP, bottom - 4)) {
      picture.append(svg("text", { class: `end ${kind}${isReference ? " box" : ""}`, x: right + 10, y: y + 4 },
        sign && svg("tspan", { class: `sign ${kind}` }, `${sign} `), text));
    }
    order.forEach((i, k) => {
      const from = k ? (X(order[k - 1]) + X(i)) / 2 : LEFT, to = k < at.length - 1 ? (X(i) + X(order[k + 1])) / 2 : right;
      picture.append(svg("rect", { class: "hit", x: from, y: TOP, width: Math.max(0, to - from), height: bottom - TOP, "data-level": i,
        on: { click: () => pick(i) } }, svg("title", {}, tip(i))));
    });
    figure.insertBefore(picture, words);
    return figure;
  }
  return { draw, isWide };
})();
