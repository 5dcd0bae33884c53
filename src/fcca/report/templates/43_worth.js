"use strict";
// The quality of the level's tree: summary, figures compared with CART and the black box, confusion matrix, warning.
fcca.worth = (() => {
  const { data, el, put, place, tile, isThere, number, percent, counted, shortened, nFound, nKept, state } = fcca;
  const { quality } = data;
  // Round half to even, as Python does in other outputs.
  function fixed(x) {
    if (!isThere(x)) return "–";
    const isHalf = Number.isInteger(16 * x) && (1000 * x) % 1 === 0.5;
    return (isHalf ? (2 * Math.round(500 * x)) / 1000 : x).toFixed(3);
  }
  const FIGURES = [
    { key: "accuracy", name: "Accuracy", say: percent },
    { key: "balanced_accuracy", name: "Balanced accuracy", say: percent },
    { key: "auc", name: "AUC", say: fixed },
    { key: "log_loss", name: "Log-loss", say: fixed },
    { key: "ks", name: "KS", say: fixed },
  ].filter(({ key }) => key !== "ks" || quality.classes.length === 2);

  function figures({ certificate, quality: own }) {
    const compared = [
      { name: "Tree", note: counted(certificate.leaves, "leaf", "leaves"), of: own.tree },
      { name: "CART", note: own.cart && counted(own.cart_leaves, "leaf", "leaves"), of: own.cart },
      { name: "Most frequent class", note: `“${shortened(quality.commonest_class, 20)}”`, of: quality.commonest },
      { name: "Black box", of: quality.black_box },
    ];
    const head = el("tr", {}, el("td", {}), compared.map(({ name, note }) => el("th", { scope: "col" }, name, note && el("small", {}, note))));
    const body = FIGURES.map(({ key, name, say }) => el("tr", {}, el("th", { scope: "row" }, name),
      compared.map(({ of }) => el("td", {}, say(of && of[key])))));
    put("figures", el("thead", {}, head), el("tbody", {}, body));
  }

  function confusion({ quality: own }) {
    const names = quality.classes.map((name) => shortened(name, 20));
    const head = el("tr", {}, el("td", {}, el("small", {}, "label")), names.map((name) => el("th", { scope: "col" }, el("small", {}, "predicted"), name)));
    const body = own.confusion.map((line, i) => el("tr", {}, el("th", { scope: "row" }, names[i]),
      line.map((n, j) => el("td", { class: i === j && "right" }, number(n)))));
    put("confusion", el("thead", {}, head), el("tbody", {}, body));
  }

  function verdict({ quality: own, is_own: isOwn }) {
    place("verdict").hidden = !own.verdict;
    put("verdict-text", own.verdict || "");
    put("advice", isOwn ? data.advice.map((line) => el("li", {}, line)) : []);
    place("advice-title").hidden = !(isOwn && data.advice.length);
  }

  // The first screen: accuracy and size. The links of the last tile do not change.
  const links = place("glance").lastElementChild;
  function glance(level) {
    const { certificate, quality: own } = level, side = quality.held_out ? "held-out row" : "training row";
    put("glance",
      tile(quality.held_out ? "Held-out rows" : "Training rows", "glance-accuracy", percent(own.tree.accuracy), `accuracy on ${counted(quality.rows, side)}`,
        `black box: ${percent(quality.black_box.accuracy)}; always “${shortened(quality.commonest_class, 20)}”: ${percent(quality.commonest.accuracy)}`,
        own.verdict && "no better than the most frequent class"),
      tile("Size", "glance-size", counted(certificate.leaves, "leaf", "leaves"),
        `depth ${number(certificate.depth)}; ${number(nKept(level))} of ${counted(nFound, "threshold")} kept`),
      links);
  }

  function draw() {
    const level = state.level();
    put("sentence", level.quality.sentence);
    glance(level);
    figures(level);
    confusion(level);
    verdict(level);
  }
  return { draw };
})();
