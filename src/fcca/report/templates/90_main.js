"use strict";
// Puts it together: what is drawn anew when, the address, the width, paper.
(() => {
  const { put, place, tile, number, percent, counted, shortened, hasChanges, NBSP, nFound, nKept, state, tree, curves, map, table, rows } = fcca;

  function tiles() {
    const level = state.level(), { training, held_out: heldOut, black_box: box, certificate } = level, side = heldOut || training;
    // What is said large is said of rows that nothing was fitted on, where there are any.
    const on = (rate) => (heldOut ? [`of ${counted(heldOut.rows, "held-out row")}`, `on training rows: ${percent(rate)}`]
      : [`of ${counted(training.rows, "training row")}`, "no rows were held out"]);
    const Q = level.Q, quantile = number(Number((100 * Q).toFixed(2)));
    put("tiles",
      tile("Tree is right on", "accuracy", percent(side.accuracy), ...on(training.accuracy),
        `always “${shortened(side.commonest, 30)}”: ${percent(side.baseline)}`),
      tile("Black box is right on", "black-box", percent(heldOut ? box.held_out : box.training), ...on(box.training)),
      tile("Tree and black box agree on", "fidelity", percent(side.fidelity), ...on(training.fidelity)),
      tile("Thresholds kept", "thresholds", `${number(nKept(level))} of ${number(nFound)}`,
        hasChanges && (Q > 0 ? `${state.called()}: crossed at least as often as the ${quantile}${NBSP}% quantile` : `${state.called()}: all that are crossed`),
        `in a tree of ${counted(certificate.leaves, "leaf", "leaves")}`));
    const badge = place("certificate");
    badge.textContent = certificate.claim;
    badge.classList.toggle("open", !certificate.optimal);
    put("certificate-detail", certificate.detail);
  }
  const drawTree = () => tree.draw(rows.path());

  function drawLevel() {
    tiles();
    tree.legend();
    drawTree();
    curves.draw();
    map.update();
    table.draw();
    rows.match();
    rows.draw();
  }
  state.readAddress();
  state.startSlider();
  rows.start();
  state.listeners.level.push(drawLevel);
  state.listeners.row.push(() => { drawTree(); rows.draw(); });
  document.querySelector("[data-test=rates-box]").open = false;
  map.draw();
  state.setLevel(state.index, false);
  rows.read().then(drawTree).catch((problem) => {
    put("row-message", "The rows on this page cannot be read by this browser. A newer one can.");
    console.warn(problem);
  });

  window.addEventListener("hashchange", () => {
    if (state.readAddress()) state.setLevel(state.index, false);
  });

  let width = document.documentElement.clientWidth, waiting = 0;
  function redraw() { drawTree(); curves.draw(); map.draw(); }
  window.addEventListener("resize", () => {
    if (document.documentElement.clientWidth === width) return;
    width = document.documentElement.clientWidth;
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(redraw);
  });

  // Paper: laid out for its width, with everything that is folded opened.
  const PAPER = 680, SCREEN = 1100;
  let folded = null, unfolded = false;
  function toPaper(isPaper) {
    if (isPaper === (folded !== null)) return;
    if (isPaper) {
      folded = [...document.querySelectorAll("details:not([open])")];
      folded.forEach((each) => { each.open = true; });
      unfolded = table.unfold(true);
    } else {
      folded.forEach((each) => { each.open = false; });
      folded = null;
      table.unfold(unfolded);
    }
    for (const part of [curves, map]) part.force(isPaper ? PAPER : null);
    // A large diagram is laid out as on a screen and scaled to the paper, so that it is not cut in two.
    tree.force(isPaper ? (state.level().certificate.leaves > 4 ? SCREEN : PAPER) : null);
    redraw();
    table.draw();
  }
  window.addEventListener("beforeprint", () => toPaper(true));
  window.addEventListener("afterprint", () => toPaper(false));
  window.matchMedia("print").addEventListener("change", (media) => toPaper(media.matches));
})();
