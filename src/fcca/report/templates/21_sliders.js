"use strict";
// A slider for every axis. The one moved last is active; the others are dimmed.
fcca.sliders = (() => {
  const { el, number, state } = fcca;

  // All sliders run from few thresholds on the left to many on the right, so the values of Q descend. Ticks are numbers of thresholds.
  const placed = (axis, i) => (axis.key === "q" ? axis.levels.length - 1 - i : i);

  function ticks(axis, box) {
    const names = axis.levels.map((each) => number(fcca.nKept(each))), last = names.length - 1;
    // As many labels as fit on a phone.
    const every = Math.ceil(fcca.sum(names.map((name) => 6 + 7 * name.length)) / 300);
    names.forEach((name, i) => {
      const tick = el("span", { class: i === last || (i % every === 0 && i <= last - every) ? "tick" : "tick bare" }, name);
      tick.style.left = last > 0 ? `${(100 * placed(axis, i)) / last}%` : "0";
      box.append(tick);
    });
  }

  function start() {
    const output = document.getElementById("said");
    for (const axis of state.axes) {
      const way = document.querySelector(`[data-way="${axis.key}"]`), radio = way.querySelector("input[type=radio]");
      const slider = way.querySelector("input[type=range]"), box = way.querySelector(".ticks");
      const holds = () => state.axis === axis, take = () => { if (!holds()) state.setLevel(axis.index, axis); };
      ticks(axis, box);
      slider.disabled = axis.levels.length < 2;
      slider.addEventListener("input", () => state.setLevel(placed(axis, Number(slider.value)), axis));
      slider.addEventListener("click", take);
      if (radio) radio.addEventListener("change", take);
      state.listeners.level.push(() => {
        slider.value = String(placed(axis, axis.index));
        slider.setAttribute("aria-valuetext", `${state.describe(axis)}${holds() ? "" : "; not in use"}`);
        [...box.children].forEach((tick, i) => tick.classList.toggle("now", i === axis.index));
        way.classList.toggle("off", !holds());
        if (radio) radio.checked = holds();
      });
    }
    state.listeners.level.push(() => {
      output.textContent = state.describe();
      output.htmlFor = `level-${state.axis.key}`;
      for (const text of document.querySelectorAll("[data-of]")) text.hidden = text.dataset.of !== state.axis.key;
    });
  }
  return { start };
})();
