"use strict";
// The data of the page, predictions of trees, and helpers for text, numbers and elements. Data enters the page only as text
// nodes or attributes, never as markup.
const fcca = (() => {
  document.documentElement.classList.add("js");
  const data = JSON.parse(document.getElementById("data").textContent);
  const SVG = "http://www.w3.org/2000/svg";

  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (!isThere(value) || value === false) continue;
      if (name === "on") for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
      else node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...children.flat(Infinity).filter((child) => isThere(child) && child !== false));
    return node;
  }
  const el = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
  const svg = (name, attributes, ...children) => fill(document.createElementNS(SVG, name), attributes, children);
  const place = (name) => document.querySelector(`[data-live="${name}"]`);
  const put = (name, ...children) => place(name).replaceChildren(...children.flat(Infinity).filter(Boolean));

  const tile = (title, test, value, ...extra) => el("div", {}, el("dt", {}, title), el("dd", { "data-test": test }, value),
    extra.filter(Boolean).map((line) => el("dd", { class: "quiet" }, line)));
  // Shorten a long name to its start.
  const shortened = (text, most) => ([...text].length > most ? `${[...text].slice(0, most - 1).join("")}…` : text);

  // Numbers
  const isThere = (x) => x !== null && x !== undefined;
  const NBSP = "\u00a0";
  // The page may list only a part of very many thresholds.
  const nFound = data.n_conditions ?? data.conditions.length;
  const nKept = (level) => level.n_kept ?? level.kept.length;
  const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
  const digits = new Intl.NumberFormat("en", { maximumSignificantDigits: 6 });
  function number(x) {
    if (!isThere(x)) return "–";
    const size = Math.abs(x);
    if (size !== 0 && (size < 1e-5 || size >= 1e16)) return String(x);
    return Number.isInteger(x) || size >= 1e6 ? whole.format(x) : digits.format(x);
  }
  // Without counterfactuals, counts are importances.
  const hasChanges = data.n_counterfactuals > 0;
  const count = (x) => number(Number.isInteger(x) ? x : Number(x.toPrecision(3)));
  // Never rounds to 0 % or 100 %.
  function percent(x) {
    if (!isThere(x)) return "–";
    // Round half to even, as Python does in other outputs.
    const hundred = 100 * x, isHalf = Number.isInteger(4 * hundred) && (10 * hundred) % 1 === 0.5;
    const text = (isHalf ? (2 * Math.round(5 * hundred)) / 10 : hundred).toFixed(1);
    if (x < 1 && text === "100.0") return `>${NBSP}99.9${NBSP}%`;
    if (x > 0 && text === "0.0") return `<${NBSP}0.1${NBSP}%`;
    return `${x === 0 || x === 1 ? 100 * x : text}${NBSP}%`;
  }
  const counted = (n, one, many) => `${number(n)}${NBSP}${n === 1 ? one : many || one + "s"}`;

  // Conditions and trees. For a missing value, only the condition "is missing" holds.
  function holds(condition, value) {
    if (condition.kind === "missing") return value === null;
    if (value === null) return false;
    if (condition.kind === "special") return value === condition.threshold;
    return condition.kind === "cut" ? value > condition.threshold : condition.codes.includes(value);
  }
  const sum = (numbers) => numbers.reduce((total, x) => total + x, 0);
  // The first one in a tie, as in Python.
  const heaviest = (weight) => weight.indexOf(Math.max(...weight));
  const isLeaf = (tree, node) => tree.condition[node] < 0;
  function share(tree, node) {
    const weight = tree.weight[node], total = sum(weight);
    return total > 0 ? Math.max(...weight) / total : null;
  }
  // The share of a leaf's class: in rows, if they have no weights. A share of few rows is marked.
  const FEW = 20, OR_MISSING = " or missing";
  const isFew = (tree, node) => tree.rows[node] < FEW;
  function inRows(tree, node) {
    const weight = tree.weight[node], all = counted(tree.rows[node], "row");
    return sum(weight) === tree.rows[node] ? `${number(Math.max(...weight))} of ${all}` : all;
  }
  function purity(tree, node) {
    const part = percent(share(tree, node)), rows = inRows(tree, node);
    return `${rows.includes(" of ") ? `${rows}, ${part}` : `${part} of ${rows}`}${isFew(tree, node) ? "; few rows" : ""}`;
  }
  // The path of a row: its steps [{node, right}] and its leaf.
  function walk(tree, valueOf) {
    const steps = [];
    let node = 0;
    while (!isLeaf(tree, node)) {
      const condition = data.conditions[tree.condition[node]];
      const right = holds(condition, valueOf(condition.column));
      steps.push({ node, right });
      node = right ? tree.right[node] : tree.left[node];
    }
    return { steps, leaf: node };
  }
  function said(tree, step) {
    const condition = data.conditions[tree.condition[step.node]];
    if (step.right) return tree.said_right[step.node] || condition.text;
    return tree.said_left[step.node] || condition.negation;
  }
  // Nodes whose cut is implied by a tighter cut of the same column and side.
  function impliedBy(tree, steps) {
    const tightest = new Map(), implied = new Set();
    for (const { node, right } of steps) {
      const { column, kind, threshold } = data.conditions[tree.condition[node]], side = `${column} ${right}`;
      if (kind !== "cut") continue;
      if (!tightest.has(side)) { tightest.set(side, node); continue; }
      const other = tightest.get(side), isTighter = (threshold > data.conditions[tree.condition[other]].threshold) === right;
      implied.add(isTighter ? other : node);
      tightest.set(side, isTighter ? node : other);
    }
    return implied;
  }
  // The text of a step, in which a cut names the special values of its column that take the whole path.
  function saidOnPath(tree, steps, step, mayMiss) {
    const condition = data.conditions[tree.condition[step.node]], { column, kind } = condition, text = said(tree, step);
    if (kind !== "cut") return { text, isChoice: text.endsWith(OR_MISSING) };
    const tests = steps.map((each) => [data.conditions[tree.condition[each.node]], each.right]).filter(([each]) => each.column === column);
    const special = data.columns[column].special_in_rows.filter(([value]) => tests.every(([each, right]) => holds(each, value) === right));
    const isMissing = text.endsWith(OR_MISSING) && mayMiss;
    const base = step.right ? condition.text : condition.negation.endsWith(OR_MISSING) ? condition.negation.slice(0, -OR_MISSING.length) : condition.negation;
    const named = special.length ? ` or is ${special.map(([, named]) => named).join(" or ")}` : "";
    return { text: `${base}${named}${isMissing ? OR_MISSING : ""}`, isChoice: special.length > 0 || isMissing };
  }
  // A path as text, without redundant conditions.
  function sayPath(tree, steps) {
    const implied = impliedBy(tree, steps), present = new Set(), missing = new Set(), compared = new Set(), special = new Set();
    for (const step of steps) {
      const { column, kind } = data.conditions[tree.condition[step.node]];
      if (kind === "cut" || (kind === "special" && step.right)) compared.add(column);
      if (kind === "special" && step.right) special.add(column);
      if (step.right !== (kind === "missing")) present.add(column);
      else if (step.right) missing.add(column);
    }
    const words = [];
    for (const step of steps) {
      const { column, kind } = data.conditions[tree.condition[step.node]];
      const asks = kind === "missing";
      if (implied.has(step.node) || (missing.has(column) ? !asks : asks && compared.has(column))) continue;
      if (kind === "cut" && special.has(column)) continue;
      words.push(saidOnPath(tree, steps, step, !present.has(column)));
    }
    if (!words.length) return ["always"];
    return words.map(({ text, isChoice }) => (isChoice && words.length > 1 ? `(${text})` : text));
  }
  // All leaves from left to right, with their paths.
  function leaves(tree, node = 0, steps = []) {
    if (isLeaf(tree, node)) return [{ leaf: node, steps }];
    return [false, true].flatMap((right) =>
      leaves(tree, right ? tree.right[node] : tree.left[node], [...steps, { node, right }]));
  }
  function saidValue(column, value) {
    if (value === null) return "missing";
    const { kind, categories } = data.columns[column];
    return kind === "category" && categories ? categories[value] : number(value);
  }

  // The content of a compressed script element.
  async function unpack(id) {
    const bytes = Uint8Array.from(atob(JSON.parse(document.getElementById(id).textContent)), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return JSON.parse(await new Response(stream).text());
  }
  async function readRows() {
    const rows = await unpack("rows");
    rows.index = new Map(rows.number.map((name, i) => [String(name), i]));
    const position = new Map(rows.columns.map((column, k) => [column, k]));
    rows.value = (i, column) => rows.values[position.get(column)][i];
    rows.walk = (tree, i) => walk(tree, (column) => rows.value(i, column));
    return rows;
  }

  return {
    data, nFound, nKept, hasChanges, el, svg, place, put, tile, isThere, number, count, percent, counted, NBSP, sum, heaviest, holds,
    share, FEW, isFew, inRows, purity, shortened, isLeaf, said, sayPath, leaves, saidValue, walk, unpack, readRows,
  };
})();
