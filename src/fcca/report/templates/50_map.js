"use strict";
// Heat map of thresholds: a line per column, a mark per condition. A new level only changes which marks are kept.
fcca.map = (() => {
  const { data, el, svg, put, place, number, hasChanges, percent, counted, NBSP, state } = fcca;
  const FIRST = 20, HEIGHT = 44, EDGE = 8, GAPS = 56, NEAR = 16, NAMED = 3;
  const MOVES = {
    ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0], Home: [0, -Infinity], End: [0, Infinity],
  };
  const most = Math.max(...data.conditions.map((condition) => condition.count), 0) || 1;
  const strength = (count) => Math.sqrt(count / most);

  const byColumn = new Map();
  data.conditions.forEach((condition, id) => {
    if (!byColumn.has(condition.column)) byColumn.set(condition.column, []);
    byColumn.get(condition.column).push(id);
  });
  const weightOf = ([, ids]) => fcca.sum(ids.map((id) => data.conditions[id].count));
  const lines = [...byColumn].sort((a, b) => weightOf(b) - weightOf(a) || a[0] - b[0]);
  const anyGap = data.conditions.some((condition) => condition.kind === "missing");
  let marks = [], showAll = lines.length <= FIRST, forced = null;

  function words(id) {
    const { text, count } = data.conditions[id], kept = state.level().kept.includes(id);
    const weight = hasChanges
      ? `crossed by the changes of ${counted(count, "row")} (${percent(count / data.n_counterfactuals)})` : `importance ${fcca.count(count)}`;
    return `${text}: ${weight}; ${kept ? "kept" : "left out"} at ${state.called()}`;
  }
  // Show the text below the map, for screen readers, and at the mark.
  function say(bar) {
    const id = Number(bar.dataset.id), text = words(id), strip = bar.closest(".map-strip");
    place("map-said").textContent = text;
    tip.remove();
    marks.flat().forEach((other) => other.classList.toggle("read", other === bar));
    tip.textContent = text;
    strip.append(tip);
    const x = Number(bar.getAttribute("x")), room = strip.clientWidth;
    tip.style.left = `${Math.max(0, Math.min(x - 20, room - tip.offsetWidth))}px`;
  }
  const tip = el("div", { class: "map-tip", "aria-hidden": "true" });
  function unsay() {
    tip.remove();
    marks.flat().forEach((bar) => bar.classList.remove("read"));
  }
  // The mark closest to the pointer, within a finger's width.
  function pointed(event) {
    const strip = event.target.closest(".strip");
    if (!strip) return;
    const x = event.clientX - strip.getBoundingClientRect().left;
    const away = (bar) => Math.abs(Number(bar.getAttribute("x")) + Number(bar.getAttribute("width")) / 2 - x);
    const near = [...strip.querySelectorAll(".mark")].sort((a, b) => away(a) - away(b))[0];
    if (near && away(near) <= NEAR && !near.classList.contains("read")) say(near);
  }

  // Positions in [0, 1]: a cut or a special value by its number or, in a skewed column, by its rank; sets of categories side by
  // side.
  function positions(column, ids) {
    const { low, high, quartiles } = data.columns[column], found = new Map();
    const sets = ids.filter((id) => data.conditions[id].kind === "set");
    const cuts = ids.filter((id) => data.conditions[id].kind === "cut" || data.conditions[id].kind === "special").map((id) => data.conditions[id].threshold);
    const from = Math.min(...cuts, low ?? Infinity), to = Math.max(...cuts, high ?? -Infinity);
    for (const id of ids) {
      const { kind, threshold, rank } = data.conditions[id];
      if (kind === "cut" || kind === "special") found.set(id, quartiles ? rank : to > from ? (threshold - from) / (to - from) : 0.5);
      if (kind === "set") found.set(id, (sets.indexOf(id) + 0.5) / sets.length);
    }
    return { found, from, to };
  }

  function line([column, ids], width) {
    const { name, kind, categories, quartiles } = data.columns[column], { found, from, to } = positions(column, ids);
    const right = width - EDGE - (anyGap ? GAPS : 0), numbers = kind === "number";
    const ends = numbers ? [Number.isFinite(from) ? from : null, Number.isFinite(to) ? to : null] : null;
    const strip = svg("svg", { class: "strip", width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: "group", "aria-label": name });
    strip.append(svg("line", { class: numbers ? "base" : "base sets", x1: EDGE, x2: right, y1: HEIGHT - 2, y2: HEIGHT - 2 }));
    const asksGap = ids.some((id) => data.conditions[id].kind === "missing");
    if (asksGap) {
      strip.append(svg("line", { class: "base sets", x1: right + 20, x2: width - 4, y1: HEIGHT - 2, y2: HEIGHT - 2 }));
    }
    const ordered = [...ids].sort((a, b) => (found.get(a) ?? 2) - (found.get(b) ?? 2));
    const bars = ordered.map((id) => {
      const { kind: what, count } = data.conditions[id], tall = 5 + 21 * strength(count), wide = what === "cut" ? 6 : 12;
      const x = what === "missing" ? right + 34 : EDGE + found.get(id) * (right - EDGE);
      const bar = svg("rect", { class: "mark", x: (x - wide / 2).toFixed(1), y: (HEIGHT - 3 - tall).toFixed(1), width: wide,
        height: tall.toFixed(1), rx: 1.5, tabindex: -1, role: "img", "data-id": id });
      bar.style.setProperty("--heat", `${Math.round(100 * strength(count))}%`);
      return bar;
    });
    // Draw rare marks last, so that frequent ones do not hide them.
    strip.append(...[...bars].sort((a, b) => data.conditions[b.dataset.id].count - data.conditions[a.dataset.id].count));
    // Label the cuts crossed most often with their values, as far as labels do not overlap.
    const named = [], byCount = [...bars].sort((a, b) => data.conditions[b.dataset.id].count - data.conditions[a.dataset.id].count);
    for (const bar of byCount) {
      const { kind: what, threshold, count } = data.conditions[bar.dataset.id], text = what === "cut" || what === "special" ? number(threshold) : "";
      const half = 3.4 * text.length, x = Math.max(half, Math.min(Number(bar.getAttribute("x")) + 3, width - half));
      if (!text || named.length >= NAMED || named.some(([other, size]) => Math.abs(other - x) < half + size + 6)) continue;
      named.push([x, half]);
      const tall = Math.max(...bars.filter((other) => Math.abs(Number(other.getAttribute("x")) + 3 - x) < half + 3)
        .map((other) => Number(other.getAttribute("height"))), 5 + 21 * strength(count));
      strip.append(svg("text", { class: "value", x, y: HEIGHT - 7 - tall, "text-anchor": "middle", "aria-hidden": "true" }, text));
    }
    const byRank = numbers && quartiles, inner = byRank ? quartiles.map(number) : [];
    if (byRank) [0.25, 0.5, 0.75].forEach((share) => {
      const x = EDGE + share * (right - EDGE);
      strip.append(svg("line", { class: "base", x1: x, x2: x, y1: HEIGHT - 6, y2: HEIGHT }));
    });
    const foot = ends && ends[0] !== null
      ? [number(ends[0]), number(ends[1])] : [counted((categories || []).length, "category", "categories"), ""];
    return { bars, row: el("div", { class: "map-line" },
      el("div", { class: "map-name" }, el("span", { class: "long", title: name }, name),
        el("span", { class: "quiet" }, counted(ids.length, "threshold"), byRank && ", axis by rank")),
      el("div", { class: `map-strip${anyGap ? " gaps" : ""}` }, strip, el("div", { class: `map-ends quiet${byRank ? " by-rank" : ""}`, "aria-hidden": "true" },
        [foot[0], ...inner, foot[1]].map((text) => el("span", {}, text)), anyGap && el("span", {}, asksGap ? "missing" : "")))) };
  }

  function key(event) {
    const [y, x] = find(document.activeElement);
    if (y < 0) return;
    if (!(event.key in MOVES)) return;
    event.preventDefault();
    const row = marks[y], [down, along] = MOVES[event.key], next = marks[Math.min(marks.length - 1, Math.max(0, y + down))];
    focus(next === row ? row[Math.min(row.length - 1, Math.max(0, x + along))] : next[Math.min(next.length - 1, x)]);
  }
  function find(bar) {
    const y = marks.findIndex((row) => row.includes(bar));
    return [y, y < 0 ? -1 : marks[y].indexOf(bar)];
  }
  function focus(bar) {
    marks.flat().forEach((other) => other.setAttribute("tabindex", other === bar ? 0 : -1));
    bar.focus();
  }

  function draw() {
    const shown = showAll ? lines : lines.slice(0, FIRST), all = forced || place("map").clientWidth;
    const width = Math.max(140, all - (all >= 560 ? 236 : 0)), made = shown.map((each) => line(each, width));
    marks = made.map((each) => each.bars);
    tip.remove();
    if (!lines.length) return put("map", el("p", {}, "No threshold was found."));
    const focused = (event) => { if (event.target.dataset && event.target.dataset.id) say(event.target); };
    put("map",
      el("div", { class: "map-key", "aria-hidden": "true" },
        el("span", {}, hasChanges ? "few changes" : "less"), el("span", { class: "ramp" }),
        el("span", {}, hasChanges ? `many (${fcca.count(most)})` : "more important"),
        el("span", { class: "pair" }, el("span", { class: "sample kept" }), "kept"),
        el("span", { class: "pair" }, el("span", { class: "sample" }), "left out")),
      el("div", { class: "map-lines", on: { pointermove: pointed, pointerdown: pointed, pointerleave: unsay, focusin: focused, focusout: unsay, keydown: key } }, made.map((each) => each.row)),
      el("p", { class: "map-said", "aria-live": "polite", "data-live": "map-said", "data-test": "map-said" },
        `To read a mark, point at it or tap it, or use the tab key and the arrow keys.`),
      lines.length > FIRST && el("button", { type: "button", class: "needs-js", "aria-expanded": String(showAll), "data-test": "map-all",
        on: { click: () => { showAll = !showAll; draw(); place("map").querySelector("button").focus(); } } },
      showAll ? `Show the first ${FIRST} columns` : `Show all ${number(lines.length)} columns`),
      lines.length > FIRST && !showAll && el("span", { class: "quiet" }, `${NBSP} ${FIRST} of ${number(lines.length)} columns shown`));
    if (marks.length) marks[0][0].setAttribute("tabindex", 0);
    update();
  }
  function update() {
    const kept = new Set(state.level().kept);
    unsay();
    for (const bar of marks.flat()) {
      const id = Number(bar.dataset.id);
      bar.classList.toggle("kept", kept.has(id));
      bar.setAttribute("aria-label", words(id));
    }
  }
  return { draw, update, force: (width) => { forced = width; } };
})();
