"use strict";
// Connects all parts: drawing after changes, the address, the width, printing.
(() => {
  const { data, put, place, tile, number, percent, counted, nFound, nKept, state, sliders, worth, tree, errors, rates, frontier, map,
    table, rows, whatIf } = fcca;

  function tiles() {
    const level = state.level(), { training, held_out: heldOut, certificate, quality } = level, side = heldOut || training, box = data.black_box;
    // The large figures are of held-out rows, if there are any.
    const on = (rate) => (heldOut ? [`of ${counted(heldOut.rows, "held-out row")}`, `on training rows: ${percent(rate)}`]
      : [`of ${counted(training.rows, "training row")}`, "no rows were held out"]);
    put("tiles",
      tile("Agrees with the black box", "fidelity", percent(side.fidelity), ...on(training.fidelity)),
      heldOut && tile("Training accuracy", "accuracy", percent(training.accuracy), `on ${counted(training.rows, "training row")}`,
        `black box: ${percent(box.training)}`),
      tile("Thresholds kept", "thresholds", `${number(nKept(level))} of ${number(nFound)}`,
        `the tree has ${counted(certificate.leaves, "leaf", "leaves")}`));
    const badge = place("certificate");
    badge.textContent = certificate.claim + (quality.verdict ? ", and no better than the most frequent class" : "");
    badge.classList.toggle("open", !certificate.optimal);
    badge.classList.toggle("weak", Boolean(quality.verdict));
    put("certificate-detail", certificate.detail);
  }
  const drawTree = () => tree.draw(rows.path());

  function drawLevel() {
    worth.draw();
    tiles();
    tree.legend();
    drawTree();
    errors.draw();
    rates.draw();
    frontier.draw();
    map.update();
    table.draw();
    rows.match();
    rows.draw();
    whatIf.redraw();
  }
  state.readAddress();
  sliders.start();
  rows.start();
  whatIf.start();
  state.listeners.level.push(drawLevel);
  state.listeners.row.push(() => { drawTree(); rows.draw(); whatIf.draw(); });
  for (const box of document.querySelectorAll(".table-box")) box.open = false;
  map.draw();
  state.setLevel(state.index, state.axis, false);
  rows.read().then(() => { drawTree(); errors.draw(); }).catch((problem) => {
    put("row-message", "This browser cannot read the rows of this page. Use a newer browser.");
    console.warn(problem);
  });

  window.addEventListener("hashchange", () => {
    if (state.readAddress()) state.setLevel(state.index, state.axis, false);
  });

  let width = document.documentElement.clientWidth, waiting = 0;
  function redraw() { drawTree(); rates.draw(); frontier.draw(); map.draw(); whatIf.draw(); }
  window.addEventListener("resize", () => {
    if (document.documentElement.clientWidth === width) return;
    width = document.documentElement.clientWidth;
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(redraw);
  });

  // Printing: lay out for the width of paper, and open all folded parts.
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
    for (const part of [rates, frontier, map]) part.force(isPaper ? PAPER : null);
    // A large diagram is laid out for a screen and scaled to the paper, so that it stays on one page.
    tree.force(isPaper ? (state.level().certificate.leaves > 4 ? SCREEN : PAPER) : null);
    redraw();
    table.draw();
  }
  window.addEventListener("beforeprint", () => toPaper(true));
  window.addEventListener("afterprint", () => toPaper(false));
  window.matchMedia("print").addEventListener("change", (media) => toPaper(media.matches));
})();
