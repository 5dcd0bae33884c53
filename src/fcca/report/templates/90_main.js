"use strict";
// Puts it together: what is drawn anew when, the address, the width, paper.
(() => {
  const { put, place, tile, isThere, number, percent, counted, nFound, nKept, state, tree, curves, map, table, rows } = fcca;

  function tiles() {
    const level = state.level(), { training, held_out: heldOut, black_box: box, certificate } = level;
    const out = (key) => (heldOut ? `${percent(heldOut[key])} on ${number(heldOut.rows)} held-out rows` : "on training rows");
    put("tiles",
      tile("Tree’s accuracy", "accuracy", percent(training.accuracy), out("accuracy")),
      tile("Black box’s accuracy", "black-box", percent(box.training),
        isThere(box.held_out) ? `${percent(box.held_out)} held out` : "on training rows"),
      tile("Fidelity to the black box", "fidelity", percent(training.fidelity), out("fidelity")),
      tile("Thresholds kept", "thresholds", `${number(nKept(level))} of ${number(nFound)}`,
        `in a tree of ${counted(certificate.leaves, "leaf", "leaves")}`));
    const badge = place("certificate");
    badge.textContent = certificate.text;
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
