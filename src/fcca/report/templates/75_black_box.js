"use strict";
// The black box: its prediction and probabilities for any row, computed in the order and precision of the classifier.
fcca.blackBox = (() => {
  const { sum } = fcca;
  const largest = (values) => values.indexOf(Math.max(...values));
  const expit = (x) => 1 / (1 + Math.exp(-x));
  const clip = (x, low, high) => Math.min(high, Math.max(low, x));

  // Probabilities from scores; a single score belongs to the second class.
  const ONE = {
    logistic: ({ steepness }, s) => expit(steepness * s),
    clipped: (_, s) => (clip(s, -1, 1) + 1) / 2,
    share: (link, s) => clip(link.of_first ? s + 1 : s, 0, 1),
  };
  const MANY = {
    softmax({ steepness }, scores) {
      const scaled = scores.map((s) => steepness * s), top = Math.max(...scaled), powers = scaled.map((s) => Math.exp(s - top));
      return powers.map((power) => power / sum(powers));
    },
    each: ({ steepness }, scores) => scores.map((s) => expit(steepness * s)),
    share: (_, scores) => scores.map((s) => s / sum(scores)),
  };
  function probabilities({ link }, scores) {
    if (link.kind === "none") return null;
    if (scores.length > 1) return MANY[link.kind](link, scores);
    const second = ONE[link.kind](link, scores[0]);
    return [1 - second, second];
  }

  // A missing value is null. x ≤ threshold goes to the left; so do the categories of a set.
  function leafOf(model, root, row) {
    let node = root;
    while (model.feature[node] >= 0) {
      const x = row(model.feature[node]), codes = model.sets.get(node);
      const isLeft = x === null ? Boolean(model.missing_left?.[node]) : codes ? codes.has(x) : x <= model.threshold[node];
      node = isLeft ? model.left[node] : model.right[node];
    }
    return model.value[model.left[node]];
  }
  function treeScores(model, row) {
    const round = model.single ? Math.fround : (x) => x, total = model.base.map(round);
    let tree = 0;
    for (const [n, divisor, weight] of model.parts) {
      const into = model.nested ? total.map(() => 0) : total;
      for (const end = tree + n; tree < end; tree++) {
        leafOf(model, model.roots[tree], row).forEach((x, k) => { into[k] = round(into[k] + round(x)); });
      }
      if (model.nested) into.forEach((x, k) => { total[k] = round(total[k] + round(round(x / round(divisor)) * round(weight))); });
    }
    return total.map((x) => round(x / round(model.divisor)));
  }
  function linearScores(model, row) {
    return model.intercept.map((start, k) => start + sum(Object.entries(model.terms).map(([j, { centre, coef, effects, missing }]) => {
      const x = row(Number(j));
      if (x === null) return missing ? missing[k] : 0;
      return effects ? effects[x][k] : (x - centre) * coef[k];
    })));
  }

  // What the black box gets: a typical value for a missing value or an unknown category that it cannot take.
  function taken(model, column, value) {
    const { value: typical, missing, category } = model.fill[column];
    return (value === null && !missing) || (category && value === -1) ? typical : value;
  }

  // Infinite thresholds are strings.
  const exact = (list) => list.map(Number);
  function prepared(model) {
    if (model.kind === "linear") return model;
    const sets = new Map(Object.entries(model.categories).map(([node, codes]) => [Number(node), new Set(codes)]));
    return { ...model, sets, threshold: exact(model.threshold), value: model.value.map(exact), base: exact(model.base) };
  }

  let model = null;
  async function read() {
    const document = await fcca.unpack("black-box");
    model = document && prepared(document);
  }
  // The predicted class of a row, as a position among the classes of the page, and the probabilities of all classes.
  function predict(valueOf) {
    const row = (column) => taken(model, column, valueOf(column));
    const scores = (model.kind === "linear" ? linearScores : treeScores)(model, row), found = probabilities(model, scores);
    const at = scores.length === 1 ? Number(scores[0] > Number(model.boundary)) : largest(scores);
    const every = found && fcca.data.classes.map((_, code) => (model.classes.includes(code) ? found[model.classes.indexOf(code)] : 0));
    return { code: model.classes[at], probabilities: every };
  }
  return { read, predict, get isThere() { return model !== null; }, get columns() { return model ? model.columns : []; } };
})();
