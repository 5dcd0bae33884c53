"use strict";
// The rates over the levels: one small chart each, the current level marked in all of them.
fcca.curves = (() => {
  const { nKept, el, svg, put, place, isThere, number, percent, shortened, state } = fcca;
  const RATES = [
    { key: "accuracy", name: "Accuracy", reference: true, who: "tree, ", says: () => "How often the tree gives the row’s label." },
    { key: "fidelity", name: "Fidelity", who: "tree, ", says: () => "How often the tree answers as the black box does." },
    { key: "compression", name: "Compression",
      says: () => "Share of rows saved if rows that are equal on the kept thresholds are written once." },
    { key: "inconsistency", name: "Inconsistency",
      says: ({ training }) => "Share of rows whose label is not the commonest among the rows equal to them. "
        + `No tree on these thresholds is right on more than ${percent(1 - training.inconsistency)} of the training rows.` },
  ];
  const SIDES = [
    { key: "training", sign: "●", word: "training" },
    { key: "held_out", sign: "■", word: "held out" },
  ];
  const HEIGHT = 190, TOP = 12, BOTTOM = 34, LEFT = 46, GAP = 28;
  const rate = (level, side, key) => (level[side] ? level[side][key] : null);

  function ticksFor(values) {
    const low = Math.min(...values), high = Math.max(...values);
    const step = [0.01, 0.02, 0.05, 0.1, 0.2, 0.25].find((s) => (high - low) / s <= 4 && s >= 0.01) || 0.25;
    let first = Math.floor(low / step + 1e-9), last = Math.ceil(high / step - 1e-9);
    while (last - first < 2) last < 1 / step - 1e-9 ? last++ : first--;
    return Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step);
  }

  // Labels at the ends of lines, pushed apart where they would overlap.
  function spread(labels, low, high) {
    labels.sort((a, b) => a.y - b.y);
    for (let i = 0; i < labels.length; i++) labels[i].at = Math.max(labels[i].y, i ? labels[i - 1].at + 15 : low);
    for (let i = labels.length - 1, limit = high; i >= 0; i--) { labels[i].at = Math.min(labels[i].at, limit); limit = labels[i].at - 15; }
    return labels;
  }

  function mark(side, x, y, size) {
    if (side === "training") return svg("circle", { class: `dot ${side}`, cx: x, cy: y, r: size });
    return svg("rect", { class: `dot ${side}`, x: x - size, y: y - size, width: 2 * size, height: 2 * size });
  }

  function chart({ key, name, reference, says, who = "" }, width) {
    const wide = width >= 440, RIGHT = wide ? 146 : 112;
    const { levels, valueOf, name: axisName } = state.axis, now = state.index;
    const sides = SIDES.filter((side) => levels.some((level) => isThere(rate(level, side.key, key))));
    const heads = sides.map((side) => `${percent(rate(levels[now], side.key, key))} ${side.word}`);
    const values = sides.flatMap((side) => levels.map((level) => rate(level, side.key, key)).filter(isThere));
    const box = levels[now].black_box, boxSides = reference ? sides.filter((side) => isThere(box[side.key])) : [];
    const guess = reference ? levels[now].held_out || levels[now].training : null;
    values.push(...boxSides.map((side) => box[side.key]), ...(guess ? [guess.baseline] : []));
    const figure = el("figure", { class: "chart", "data-test": `chart-${key}` },
      el("figcaption", {}, el("strong", {}, name), " ", el("span", { "data-test": `now-${key}` }, heads.join(", ") || "not known")));
    if (!values.length) return figure;
    const note = el("p", { class: "quiet" }, says(levels[now]));
    figure.append(note);

    const ticks = ticksFor(values), low = ticks[0], high = ticks[ticks.length - 1], right = width - RIGHT, bottom = HEIGHT - BOTTOM;
    const at = levels.map(valueOf), first = Math.min(...at), last = Math.max(...at);
    const X = (x) => (last > first ? LEFT + 8 + ((x - first) / (last - first)) * (right - LEFT - 16) : (LEFT + right) / 2);
    const Y = (y) => TOP + ((high - y) / (high - low)) * (bottom - TOP);
    const picture = svg("svg", { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: "img",
      "aria-label": `${name} over ${axisName}; at ${state.called()}: ${heads.join(", ")}` });
    for (const tick of ticks) {
      picture.append(svg("line", { class: "grid", x1: LEFT, x2: right, y1: Y(tick), y2: Y(tick) }));
      picture.append(svg("text", { class: "scale", x: LEFT - 8, y: Y(tick) + 4, "text-anchor": "end" },
        `${number(Number((100 * tick).toFixed(1)))}\u00a0%`));
    }
    if (low > 0) note.append(` The axis starts at ${number(Number((100 * low).toFixed(1)))}\u00a0%.`);
    // The current level, both ends, and as many of the others as there is room for.
    const taken = [], rank = (i) => (i === now ? 0 : i === 0 || i === levels.length - 1 ? 1 : 2);
    for (const i of levels.map((_, k) => k).sort((a, b) => rank(a) - rank(b) || a - b)) {
      const x = X(at[i]);
      if (taken.some((other) => Math.abs(other - x) < 25)) continue;
      picture.append(svg("text", { class: `scale${i === now ? " now" : ""}`, x, y: bottom + 16, "text-anchor": "middle" }, number(at[i])));
      taken.push(x);
    }
    picture.append(svg("text", { class: "scale", x: right + 22, y: bottom + 16 }, axisName));
    picture.append(svg("line", { class: "cursor", x1: X(at[now]), x2: X(at[now]), y1: TOP, y2: bottom, "data-test": `cursor-${key}` }));
    const labels = [];
    for (const side of boxSides) {
      const y = Y(box[side.key]);
      picture.append(svg("line", { class: `reference ${side.key}`, x1: LEFT, x2: right, y1: y, y2: y },
        svg("title", {}, `black box, ${side.word}: ${percent(box[side.key])}`)));
      labels.push({ y, sign: side.sign, text: wide ? `black box, ${side.word}` : "black box", side: side.key, box: true });
    }
    if (guess) {
      const y = Y(guess.baseline), word = guess === levels[now].held_out ? "held out" : "training";
      picture.append(svg("line", { class: "reference guess", x1: LEFT, x2: right, y1: y, y2: y, "data-test": "baseline" },
        svg("title", {}, `always “${guess.commonest}”, ${word}: ${percent(guess.baseline)}`)));
      labels.push({ y, text: `always “${shortened(guess.commonest, wide ? 13 : 6)}”`, side: "guess", box: true });
    }
    for (const side of sides) {
      const known = levels.map((level, i) => [X(at[i]), rate(level, side.key, key), i]).filter(([, y]) => isThere(y));
      picture.append(svg("polyline", { class: `line ${side.key}`, points: known.map(([x, y]) => `${x},${Y(y)}`).join(" ") }));
      for (const [x, y, i] of known) picture.append(mark(side.key, x, Y(y), i === now ? 5.5 : 3));
      if (known.length) labels.push({ y: Y(known[known.length - 1][1]), sign: side.sign, text: `${wide ? who : ""}${side.word}`, side: side.key });
    }
    for (const label of spread(labels, TOP, bottom - 4)) {
      picture.append(svg("text", { class: `end ${label.side}${label.box ? " box" : ""}`, x: right + 10, y: label.at + 4 },
        label.sign && svg("tspan", { class: `sign ${label.side}` }, `${label.sign} `), label.text));
    }
    levels.forEach((level, i) => {
      const from = i ? (X(at[i - 1]) + X(at[i])) / 2 : LEFT, to = i < levels.length - 1 ? (X(at[i]) + X(at[i + 1])) / 2 : right;
      picture.append(svg("rect", { class: "hit", x: from, y: TOP, width: Math.max(0, to - from), height: bottom - TOP, "data-level": i,
        on: { click: () => state.setLevel(i) } },
      svg("title", {}, `${state.called(level)}: ${sides.map((side) => `${percent(rate(level, side.key, key))} ${side.word}`).join(", ")}`)));
    });
    figure.insertBefore(picture, note);
    return figure;
  }

  function table() {
    const { levels, valueOf, name } = state.axis;
    const sides = SIDES.filter((side) => levels.some((level) => level[side.key]));
    const head = el("tr", {}, el("th", { scope: "col" }, name), el("th", { scope: "col" }, "Thresholds"),
      RATES.map((each) => sides.map((side) => el("th", { scope: "col" }, each.name, sides.length > 1 && el("small", {}, side.word)))));
    const now = (i) => (i === state.index ? { class: "lit", "aria-current": "true" } : {});
    const body = levels.map((level, i) => el("tr", now(i),
      el("th", { scope: "row" }, number(valueOf(level))), el("td", {}, number(nKept(level))),
      RATES.map((each) => sides.map((side) => el("td", {}, percent(rate(level, side.key, each.key)))))));
    put("rates", el("thead", {}, head), el("tbody", {}, body));
  }

  let forced = null;
  function draw() {
    const all = forced || place("curves").clientWidth, two = all >= 640, width = two ? Math.floor((all - GAP) / 2) : all;
    place("curves").classList.toggle("two", two);
    put("curves", RATES.map((each) => chart(each, width)));
    table();
  }
  return { draw, force: (width) => { forced = width; } };
})();
