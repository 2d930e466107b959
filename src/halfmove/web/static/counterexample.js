// The sliders of the counterexample. The server runs the planners; all budgets come in one answer.

import { ask, el, say } from "./frame.js";
import { plot, short } from "./watch_plot.js";

const ARMS = ["A", "B", "C"];
const EXAMPLES = [
  ["Example 1 of the paper", { pi: [0.5, 0.3, 0.2], q: [0, 0, 1], n: 2 }],
  ["Two arms, one look", { pi: [0.7, 0.3], q: [0, 1], n: 1 }],
  ["A good prior", { pi: [0.2, 0.1, 0.7], q: [0.3, 0, 1], n: 4 }],
];
const SEARCHES = {
  puct: ["pUCT", "var(--c1)", ""],
  puct_noise: ["pUCT with Dirichlet noise", "var(--c4)", "5 3"],
  gumbel: ["Gumbel", "var(--c0)", ""],
};
const MOST = 16;

const state = structuredClone(EXAMPLES[0][1]);
let found = null;
let asking = false;
let stale = false;
const box = (name) => document.getElementById(name);
const chart = plot(box("curve"));

function fromAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  const numbers = (name) =>
    (given.get(name) || "")
      .split(",")
      .map(Number)
      .filter((x) => x >= 0 && x <= 1);
  const [pi, q, n] = [numbers("pi"), numbers("q"), Number(given.get("n"))];
  if (pi.length === q.length && [2, 3].includes(pi.length)) Object.assign(state, { pi, q });
  if (n >= 1 && n <= MOST) state.n = Math.round(n);
}

/** π as it counts: made to sum to one. */
function prior() {
  const total = state.pi.reduce((a, b) => a + b, 0);
  return state.pi.map((x) => (total ? x / total : 1 / state.pi.length));
}

function slider(label, value, low, high, step, told, changed) {
  const output = el("output", {}, told(value));
  const input = el("input", {
    type: "range",
    min: low,
    max: high,
    step,
    value,
    "aria-valuetext": told(value),
    oninput: () => {
      changed(Number(input.value));
      output.textContent = told(Number(input.value));
      input.setAttribute("aria-valuetext", output.textContent);
      refresh();
    },
  });
  return el("label", { class: "slider" }, el("span", {}, label), input, output);
}

function sliders() {
  const rows = state.pi.map((_, a) =>
    el(
      "fieldset",
      {},
      el("legend", {}, `Arm ${ARMS[a]}`),
      slider(
        "π, weight of the prior",
        state.pi[a],
        0,
        1,
        0.01,
        (x) => x.toFixed(2),
        (x) => {
          state.pi[a] = x;
        },
      ),
      slider(
        "q, what it pays",
        state.q[a],
        0,
        1,
        0.05,
        (x) => x.toFixed(2),
        (x) => {
          state.q[a] = x;
        },
      ),
    ),
  );
  const count = slider(
    "n, simulations",
    state.n,
    1,
    MOST,
    1,
    (x) => String(x),
    (x) => {
      state.n = x;
    },
  );
  box("sliders").replaceChildren(...rows, count);
  box("examples").replaceChildren(
    ...EXAMPLES.map(([name, given]) =>
      el(
        "button",
        {
          type: "button",
          onclick: () => {
            Object.assign(state, structuredClone(given));
            sliders();
            refresh();
          },
        },
        name,
      ),
    ),
  );
}

async function refresh() {
  const text = (row) => row.map((x) => Number(x.toFixed(3))).join(",");
  history.replaceState(null, "", `#pi=${text(state.pi)}&q=${text(state.q)}&n=${state.n}`);
  show();
  if (asking) {
    stale = true;
    return;
  }
  asking = true;
  const slow = setTimeout(() => {
    if (!found)
      box("verdict").textContent =
        "The searches are being compiled; this takes a few seconds, once.";
  }, 400);
  try {
    do {
      stale = false;
      if (state.pi.every((x) => x === 0))
        throw new Error("at least one arm needs a weight above 0");
      found = await ask(`/api/counterexample?pi=${text(state.pi)}&q=${text(state.q)}`);
      show();
    } while (stale);
  } catch (error) {
    say(error.message);
  } finally {
    clearTimeout(slow);
    asking = false;
  }
}

function bar(label, value, error, worth, colour) {
  const worse = value < worth - 3 * error - 1e-6;
  const better = value > worth + 3 * error + 1e-6;
  const said = worse ? "worse than the prior" : better ? "better" : "as the prior";
  return el(
    "div",
    { class: "bar", role: "listitem" },
    el("span", {}, label),
    el(
      "span",
      { class: "bar-track" },
      el("span", { class: "bar-fill", style: `width:${100 * value}%;background:${colour}` }),
      el("span", { class: "bar-prior", style: `left:${100 * worth}%` }),
    ),
    el(
      "span",
      { class: "bar-value" },
      value.toFixed(3),
      error > 5e-4 ? el("span", { class: "faint" }, ` ±${error.toFixed(3)}`) : "",
    ),
    el(
      "span",
      { class: `bar-said ${worse ? "bad" : better ? "good" : "faint"}` },
      label.startsWith("Prior") ? "" : said,
    ),
  );
}

function show() {
  const pi = prior();
  const worth = pi.reduce((sum, p, a) => sum + p * state.q[a], 0);
  const rows = [bar("Prior π, before", worth, 0, worth, "var(--faint)")];
  if (found)
    for (const [key, [name, colour]] of Object.entries(SEARCHES)) {
      const one = found.searches[key][state.n - 1];
      rows.push(bar(`After ${name}`, one.value, one.error, found.prior, colour));
    }
  box("bars").replaceChildren(...rows);
  if (!found) return;
  verdict();
  const budgets = Array.from({ length: MOST }, (_, i) => i + 1);
  const series = Object.entries(SEARCHES).map(([key, [label, colour, dash]]) => {
    const all = found.searches[key];
    return {
      label,
      colour,
      dash,
      x: budgets,
      y: all.map((o) => o.value),
      dots: true,
      low: all.map((o) => o.value - 2 * o.error),
      high: all.map((o) => o.value + 2 * o.error),
    };
  });
  chart.draw({
    title: "What is earned on average",
    x: "simulations n",
    series,
    zero: found.prior,
    mark: state.n,
    xRange: [0.5, MOST + 0.5],
    yRange: [Math.min(...found.q) - 0.05, Math.max(...found.q, 0.1) + 0.05],
  });
  box("legend").replaceChildren(
    ...series.map((s) =>
      el("li", {}, el("i", { class: "swatch", style: `background:${s.colour}` }), s.label),
    ),
    el("li", {}, el("i", { class: "swatch thin" }), "the prior"),
  );
  table(pi);
}

function verdict() {
  const at = (key) => found.searches[key][state.n - 1];
  const lost = found.prior - at("puct").value;
  const gained = at("gumbel").value - found.prior;
  const times = state.n === 1 ? "1 simulation" : `${state.n} simulations`;
  const first =
    lost > 3 * at("puct").error + 1e-6
      ? `With ${times} pUCT earns ${short(lost)} less than not searching at all`
      : `With ${times} pUCT does no harm here`;
  const second =
    gained > 3 * at("gumbel").error + 1e-6
      ? `Gumbel earns ${short(gained)} more than not searching.`
      : "Gumbel earns as much as not searching.";
  box("verdict").textContent = `${first}; ${second}`;
}

function table(pi) {
  const head = el(
    "tr",
    {},
    ...[
      "Arm",
      "π",
      "q",
      "visits of pUCT",
      "visits of Gumbel",
      "played by pUCT",
      "played by Gumbel",
      "Gumbel’s target π′",
    ].map((name) => el("th", { scope: "col" }, name)),
  );
  const at = (key) => found.searches[key][state.n - 1];
  const rows = state.pi.map((_, a) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, ARMS[a]),
      ...[
        pi[a],
        state.q[a],
        at("puct").visits[a],
        at("gumbel").visits[a],
        at("puct").played[a],
        at("gumbel").played[a],
        at("gumbel").learned[a],
      ].map((x) => el("td", {}, x.toFixed(2))),
    ),
  );
  box("table").replaceChildren(el("thead", {}, head), el("tbody", {}, rows));
  const draws = found.draws.toLocaleString("en-US");
  box("note").textContent = [
    `Means of ${draws} searches each, by this package’s planners muzero, which plays in`,
    "proportion to its visits, and full_gumbel; the rule of thumb of the paper, the best of the",
    `n most probable arms, earns ${short(found.top[state.n - 1])}.`,
  ].join(" ");
}

fromAddress();
sliders();
refresh();
