"use strict";
// Charts of the rates over the levels of the active axis, with the current level marked. Like the sliders, they run from few
// thresholds to many.
fcca.rates = (() => {
  const { data, chart, nKept, el, put, place, isThere, number, percent, shortened, state } = fcca;
  const RATES = [
    { key: "accuracy", name: "Accuracy", reference: true, who: "tree, ", says: () => "Share of rows where the tree predicts the correct label." },
    { key: "fidelity", name: "Agreement with the black box", term: "Fidelity", who: "tree, ", says: () => "Share of rows where the tree and the black box agree." },
    { key: "compression", name: "Compression",
      says: () => "Share of rows that repeat an earlier row once the kept thresholds are applied." },
    { key: "inconsistency", name: "Inconsistency",
      says: ({ training }) => "Rows on the same side of every kept threshold form a group. The inconsistency is the share of rows whose label differs from the most frequent label in their group. "
        + (training.inconsistency > 0 ? `Any tree on these thresholds gets at least ${percent(training.inconsistency)} of the training rows wrong.`
          : "With these thresholds, a large enough tree can classify all training rows correctly.") },
  ];
  const BOXES = { curves: RATES.slice(0, 2), "special-curves": RATES.slice(2) };
  const SIDES = [
    { key: "training", sign: "●", word: "training" },
    { key: "held_out", sign: "■", word: "held out" },
  ];
  const GAP = 28;
  const rate = (level, side, key) => (level[side] ? level[side][key] : null);

  // Reference lines of the accuracy: the black box and the most frequent class.
  function references(level, sides, wide) {
    const box = data.black_box, guess = level.held_out || level.training, word = guess === level.held_out ? "held out" : "training";
    const found = sides.filter((side) => isThere(box[side.key])).map((side) => ({
      kind: side.key, sign: side.sign, y: box[side.key], text: wide ? `black box, ${side.word}` : "black box",
      title: `black box, ${side.word}: ${percent(box[side.key])}` }));
    return [...found, { kind: "guess", y: guess.baseline, text: `always “${shortened(guess.commonest, wide ? 13 : 6)}”`,
      title: `always “${guess.commonest}”, ${word}: ${percent(guess.baseline)}` }];
  }

  function figure({ key, name, reference, says, who = "" }, width) {
    const { levels } = state.axis, now = levels[state.index], wide = chart.isWide(width);
    const sides = SIDES.filter((side) => levels.some((level) => isThere(rate(level, side.key, key))));
    const said = (level) => sides.map((side) => `${percent(rate(level, side.key, key))} ${side.word}`).join(", ");
    return chart.draw({
      key, name, width, axis: "thresholds", now: state.index, said: said(now) || "not known", note: says(now),
      at: levels.map((level, i) => (state.axis.key === "k" ? i : -level.value)), steps: levels.map((level) => number(nKept(level))),
      lines: sides.map((side) => ({ kind: side.key, sign: side.sign, text: `${wide ? who : ""}${side.word}`,
        values: levels.map((level) => rate(level, side.key, key)) })),
      references: reference ? references(now, sides, wide) : [],
      label: `${name} over the number of thresholds; at ${state.called()}: ${said(now)}`,
      tip: (i) => `${state.called(levels[i])}: ${said(levels[i])}`, pick: (i) => state.setLevel(i),
    });
  }

  function table() {
    const { levels, name, key } = state.axis;
    const sides = SIDES.filter((side) => levels.some((level) => level[side.key]));
    const head = el("tr", {}, el("th", { scope: "col" }, name), key === "q" && el("th", { scope: "col" }, "Thresholds"),
      RATES.map((each) => sides.map((side) => el("th", { scope: "col" }, each.term || each.name, el("small", {}, `${side.word.replace(" ", "-")} rows`)))));
    const now = (i) => (i === state.index ? { class: "lit", "aria-current": "true" } : {});
    const body = levels.map((level, i) => el("tr", now(i),
      el("th", { scope: "row" }, number(level.value)), key === "q" && el("td", {}, number(nKept(level))),
      RATES.map((each) => sides.map((side) => el("td", {}, percent(rate(level, side.key, each.key)))))));
    put("rates", el("thead", {}, head), el("tbody", {}, body));
  }

  let forced = null;
  function draw() {
    const all = forced || place("curves").clientWidth, two = all >= 640, width = two ? Math.floor((all - GAP) / 2) : all;
    for (const [box, rates] of Object.entries(BOXES)) {
      place(box).classList.toggle("two", two);
      put(box, rates.map((each) => figure(each, width)));
    }
    put("exact-level", `${state.exact()} is selected: ${state.describe()}.`);
    table();
  }
  return { draw, force: (width) => { forced = width; } };
})();
