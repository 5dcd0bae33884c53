"use strict";
// Sortable table of the kept thresholds.
fcca.table = (() => {
  const { data, nFound, nKept, el, svg, put, number, hasChanges, percent, counted, state } = fcca;
  const FIRST = 40, ASKED = "used by the tree";
  const collator = new Intl.Collator("en", { numeric: true });
  const order = { key: "count", up: false };
  const isSample = data.conditions.some(({ share }) => share);
  let showAll = false;

  const smaller = {
    condition: (a, b) => a.column - b.column || (a.threshold ?? Infinity) - (b.threshold ?? Infinity) || collator.compare(a.text, b.text),
    count: (a, b) => a.count - b.count,
  };
  function sorted(kept) {
    const sign = order.up ? 1 : -1, compare = smaller[order.key];
    return [...kept].sort((a, b) => sign * compare(data.conditions[a], data.conditions[b]) || a - b);
  }
  function header(key, name, className) {
    const now = order.key === key;
    return el("th", { scope: "col", class: className, "aria-sort": now ? (order.up ? "ascending" : "descending") : "none" },
      el("button", { type: "button", "data-sort": key, "data-test": `sort-${key}`, on: { click: () => sortBy(key) } },
        name, el("span", { "aria-hidden": "true" }, now ? (order.up ? " ↑" : " ↓") : " ↕")));
  }
  function sortBy(key) {
    order.up = order.key === key ? !order.up : key === "condition";
    order.key = key;
    draw();
    fcca.place("kept").querySelector(`[data-sort="${key}"]`).focus();
  }

  function draw() {
    const { kept, tree } = state.level(), most = Math.max(1e-300, ...data.conditions.map((condition) => condition.count));
    const asked = new Set(tree.condition.filter((id) => id >= 0)), ids = sorted(kept), shown = showAll ? ids : ids.slice(0, FIRST);
    fcca.put("kept-caption", `${number(nKept(state.level()))} of ${counted(nFound, "threshold")} are kept at `,
      `${state.called()}; the tree uses `,
      asked.size ? `${number(asked.size)} of them (●). ` : "none of them. ", hasChanges
        && `The count is the number of rows with a proven cheapest change that crosses the threshold. ${isSample ? "The share is that of the rows in the sample, with a 95 % confidence interval for all rows." : `The share is the count divided by ${number(data.n_counterfactuals)}, the number of rows with a proven cheapest change.`} The longest bar is the largest count of all thresholds, kept or not.`,
      kept.length < nKept(state.level()) ? ` The table lists the ${number(kept.length)} thresholds crossed most often.` : "");
    put("kept",
      el("table", { class: "kept" },
        el("thead", {}, el("tr", {}, header("condition", "Condition"), header("count", hasChanges ? "Count" : "Importance", "number"),
          hasChanges && el("th", { scope: "col", class: "number" }, "Share"),
          el("th", { scope: "col", class: "bars", "aria-hidden": "true" }))),
        el("tbody", {}, shown.map((id) => {
          const { text, count, share } = data.conditions[id];
          return el("tr", { "data-id": id, "data-test": "kept-row" },
            el("th", { scope: "row" }, text, asked.has(id) && el("span", { class: "asked", title: ASKED, role: "img", "aria-label": ASKED }, " ●")),
            el("td", { class: "number" }, fcca.count(count)),
            hasChanges && el("td", { class: "number" }, percent(share ? share[0] : count / data.n_counterfactuals),
              share && ` (${percent(share[1])} – ${percent(share[2])})`),
            el("td", { class: "bars", "aria-hidden": "true" },
              svg("svg", { class: "small-bar", viewBox: "0 0 100 8", preserveAspectRatio: "none" },
                svg("rect", { width: 100, height: 8, class: "track" }),
                svg("rect", { width: ((100 * count) / most).toFixed(2), height: 8, class: "value" }))));
        }))),
      !kept.length && el("p", {}, "No threshold is kept at this level."),
      ids.length > FIRST && el("button", { type: "button", "data-test": "kept-all", "aria-expanded": String(showAll),
        on: { click: () => { showAll = !showAll; draw(); fcca.place("kept").querySelector("[data-test=kept-all]").focus(); } } },
      showAll ? `Show the first ${FIRST}` : `Show all ${number(ids.length)}`));
  }
  // Show all rows for printing; returns the previous state.
  function unfold(all) {
    const before = showAll;
    showAll = all;
    return before;
  }
  return { draw, unfold };
})();
