"use strict";
// The optimal choices of 1, 2, 3, … thresholds: inconsistency, simpler choices of the same size, and proof.
fcca.frontier = (() => {
  const { chart, hasChanges, put, place, number, nFound, nKept, percent, counted, state } = fcca;
  const axis = state.axes.find((each) => each.key === "k");
  const MOST = hasChanges ? "most frequent" : "most important", WIDEST = 720;
  const isShown = axis !== undefined && axis.levels.length > 1;

  // The inconsistency of an optimal choice, and of the most frequent thresholds of the same number.
  const least = ({ proof }) => `inconsistency ${percent(proof.inconsistency)}, ${proof.claim}`;
  const frequent = ({ value, proof }) => `the ${value === 1 ? `${MOST} one has` : `${number(value)} ${MOST} have`} ${percent(proof.frequency)}`;
  const said = (level) => [least(level), ...(level.value < nFound ? [frequent(level)] : [])];
  // The optimal choice with the current number of thresholds; null if there is none.
  const now = () => { const at = axis.levels.findIndex((level) => level.value === nKept(state.level())); return at < 0 ? null : at; };

  function sentence() {
    const level = axis.levels[now() ?? 0];
    if (state.axis === axis) return `${counted(level.value, "threshold")}: ${said(level).join("; ")}.`;
    const n = nKept(state.level()), last = axis.levels[axis.levels.length - 1].value;
    const kept = `${state.exact()} keeps ${n === nFound ? `all ${number(n)} thresholds` : n === 1 ? `the ${MOST} threshold` : `the ${number(n)} ${MOST} thresholds`}`;
    if (now() === null) return `${kept}. ${n > last ? `Optimal choices were computed only for up to ${counted(last, "threshold")}` : `No optimal choice of ${counted(n, "threshold")} was computed`}.`;
    return `${kept}, with an inconsistency of ${percent(level.proof.frequency)}; the best ${level.value === 1 ? "one has" : `${number(level.value)} have`} ${percent(level.proof.inconsistency)}, ${level.proof.claim}.`;
  }

  let forced = null;
  function draw() {
    if (!isShown) return;
    const width = Math.min(forced || place("frontier").clientWidth, WIDEST), { levels } = axis;
    const of = (name) => levels.map(({ proof }) => proof[name]), isOpen = levels.some(({ proof }) => !proof.is_optimal);
    const badge = place("choice"), level = now() === null ? null : levels[now()];
    badge.textContent = sentence();
    badge.classList.toggle("open", level !== null && !level.proof.is_optimal);
    badge.classList.toggle("plain", level === null);
    put("frontier", chart.draw({
      key: "frontier", name: "Share of training rows", width, axis: "thresholds", now: now(), zero: true, narrow: 128,
      said: level === null ? "" : `${percent(level.proof.inconsistency)} chosen, ${percent(level.proof.frequency)} ${MOST}`,
      note: `“Chosen” is the best choice, “${MOST}” the same number of the ${MOST} thresholds.${isOpen ? " If a choice is not proven optimal, a vertical line runs from its dot down to the proven lower bound." : ""}`,
      at: levels.map((_, i) => i), steps: levels.map((each) => number(each.value)),
      lines: [
        { kind: "greedy", sign: "◆", text: "greedy", values: of("greedy") },
        { kind: "held_out", sign: "■", text: MOST, values: of("frequency") },
        { kind: "training", sign: "●", text: "chosen", values: of("inconsistency"), bounds: of("lower_bound") },
      ],
      references: [{ kind: "guess", sign: chart.isWide(width) || nFound < 100 ? "—" : "", y: axis.least, text: `all ${counted(nFound, "threshold")}`,
        title: `with all ${counted(nFound, "threshold")}: ${percent(axis.least)}` }],
      label: `Inconsistency over the number of thresholds. ${sentence()}`,
      tip: (i) => `${state.exact(levels[i], axis)}: ${said(levels[i]).join("; ")}`,
      pick: (i) => state.setLevel(i, axis),
    }));
    for (const line of place("choices").querySelectorAll("tbody tr")) {
      const isNow = state.axis === axis && Number(line.dataset.k) === state.level().value;
      line.classList.toggle("lit", isNow);
      isNow ? line.setAttribute("aria-current", "true") : line.removeAttribute("aria-current");
    }
  }
  return { draw, said, force: (width) => { forced = width; } };
})();
