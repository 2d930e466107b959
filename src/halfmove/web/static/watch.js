// The runs of a folder, live: a list to choose from, and curves of those chosen.

import { ask, el, say } from "./frame.js";
import { along, merge, smoothed } from "./watch_data.js";
import { replay } from "./watch_games.js";
import { duration, plot, short } from "./watch_plot.js";

const EVERY = 2000; // milliseconds between two questions
const COMPARED = 12;
const AXES = { positions: "positions", updates: "updates", seconds: "time", step: "iterations" };

// What is shown first, and how it is called.
const FIRST = {
  "rating/rating": "Rating (Elo; the first network has 0)",
  "rating/return": "Return of an episode",
  "score/mcts": "Score against plain MCTS",
  "score/past": "Score against the network before",
  "learn/loss": "Loss",
  "learn/policy_loss": "Policy loss",
  "learn/value_loss": "Value loss",
  "learn/value_error": "Value error",
  "selfplay/entropy": "Entropy of the search’s policy",
  "selfplay/depth": "Search depth",
  "speed/positions": "Positions a second",
  "replay/size": "Positions in the replay",
  "replay/age": "Age of the replay (moves of a lane)",
};
const NOT_DRAWN = /^(step|run\/|seconds\/total$)|_(low|high)$/;
const box = (name) => document.getElementById(name);

const given = new URLSearchParams(location.hash.slice(1));
const state = {
  runs: [],
  chosen: given.getAll("run").slice(0, COMPARED),
  asked: given.has("run"),
  against: AXES[given.get("x")] ? given.get("x") : "positions",
  smooth: Math.min(0.95, Math.max(0, Number(given.get("smooth")) || 0)),
  log: new Set(given.getAll("log")),
  tables: new Map(), // run -> {metrics, speed}: {generation, next, columns}
  colours: new Map(),
};
const charts = new Map(); // metric -> {plot, element}

function keepAddress() {
  const words = new URLSearchParams(state.chosen.map((name) => ["run", name]));
  if (state.against !== "positions") words.set("x", state.against);
  if (state.smooth) words.set("smooth", state.smooth);
  for (const name of state.log) words.append("log", name);
  history.replaceState(null, "", `#${words}`);
}

// -- the list ----------------------------------------------------------------

function look(name) {
  if (!state.colours.has(name)) {
    const taken = [...state.colours.entries()]
      .filter(([run]) => state.chosen.includes(run))
      .map(([, i]) => i);
    let i = 0;
    while (taken.includes(i)) i += 1;
    state.colours.set(name, i);
  }
  const i = state.colours.get(name);
  return { colour: `var(--c${i % 8})`, dash: i >= 8 ? "6 3" : "" };
}

function toggle(name, on) {
  if (on && state.chosen.length >= COMPARED) {
    say(`At most ${COMPARED} runs are compared at once.`);
    return list();
  }
  state.chosen = on ? [...state.chosen, name] : state.chosen.filter((each) => each !== name);
  if (!on) state.colours.delete(name);
  keepAddress();
  list();
  draw();
  return soon();
}

function strength(run) {
  if (!run.strength) return "–";
  const [low, middle, high] = run.strength.map((x) => Math.round(x).toLocaleString("en-US"));
  return `${middle} (${low} to ${high})`;
}

function row(run) {
  const on = state.chosen.includes(run.name);
  const share = run.iterations
    ? `${Math.floor((100 * run.step) / run.iterations)}%`
    : short(run.step);
  const check = el("input", {
    type: "checkbox",
    checked: on,
    "data-run": run.name,
    onchange: (event) => toggle(run.name, event.target.checked),
  });
  const mark = el("i", {
    class: "swatch",
    style: `background:${on ? look(run.name).colour : "transparent"}`,
  });
  const ago = Math.max(0, Date.now() / 1000 - run.changed);
  const planner = run.planner ? `${run.planner}, n = ${run.simulations}` : "–";
  return el(
    "tr",
    {},
    el("th", { scope: "row" }, el("label", {}, check, mark, run.name)),
    el("td", {}, el("span", { class: `state ${run.state}` }, run.state)),
    el("td", {}, share),
    el(
      "td",
      {
        title: run.measured === "return" ? "mean return, 95% interval" : "Elo, 95% interval",
      },
      strength(run),
    ),
    el("td", {}, short(run.positions)),
    el("td", {}, run.game),
    el("td", {}, planner),
    el("td", {}, `${duration(ago)} ago`),
  );
}

function list() {
  const focused = document.activeElement?.dataset?.run;
  const wanted = box("filter").value.trim().toLowerCase();
  const shown = state.runs.filter(
    (run) =>
      state.chosen.includes(run.name) ||
      `${run.name} ${run.game} ${run.planner}`.toLowerCase().includes(wanted),
  );
  box("filter-row").hidden = state.runs.length < 8;
  box("runs").replaceChildren(...shown.map(row));
  if (focused)
    box("runs")
      .querySelector(`input[data-run="${CSS.escape(focused)}"]`)
      ?.focus();
  const busy = state.runs.filter((run) => run.state === "running").length;
  box("news").textContent = state.runs.length
    ? `${state.runs.length} ${state.runs.length === 1 ? "run" : "runs"}, ${busy} running`
    : "";
  if (!state.runs.length)
    box("runs").replaceChildren(
      el(
        "tr",
        {},
        el(
          "td",
          { colspan: 8 },
          "There is no run in the folder yet. Begin one with ",
          el("code", {}, "halfmove train hex5"),
          "; it appears here by itself.",
        ),
      ),
    );
}

// -- the curves --------------------------------------------------------------

function series(metric) {
  const found = [];
  for (const name of state.chosen) {
    const tables = state.tables.get(name);
    const table = tables && [tables.metrics, tables.speed].find((t) => t?.columns[metric]);
    if (!table) continue;
    const x = along(tables, table, state.against);
    const y = table.columns[metric];
    const ends = { low: table.columns[`${metric}_low`], high: table.columns[`${metric}_high`] };
    const style = { label: name, ...look(name), x };
    if (state.smooth && !ends.low) {
      found.push({ ...style, y, faint: true }, { ...style, y: smoothed(y, state.smooth) });
    } else {
      found.push({ ...style, y, ...ends, dots: Boolean(ends.low) });
    }
  }
  return found;
}

function chart(metric, title) {
  const host = el("div");
  const log = el("input", {
    type: "checkbox",
    checked: state.log.has(metric),
    onchange: () => {
      if (log.checked) state.log.add(metric);
      else state.log.delete(metric);
      keepAddress();
      draw();
    },
  });
  const element = el(
    "section",
    { class: "panel", "aria-label": title, "data-metric": metric },
    el(
      "div",
      { class: "chart-head" },
      el("h2", {}, title),
      el("label", { class: "row" }, log, "log"),
    ),
    host,
  );
  const made = { element, plot: plot(host), title };
  charts.set(metric, made);
  return made;
}

function named(metric) {
  const [group, ...rest] = metric.split("/");
  const name = rest.join(" ").replaceAll("_", " ");
  return name ? `${group}: ${name}` : group;
}

function drawOne(metric, title) {
  const made = charts.get(metric) || chart(metric, title);
  const xFormat = state.against === "seconds" ? duration : short;
  made.plot.draw({
    title: made.title,
    x: AXES[state.against],
    xFormat,
    log: state.log.has(metric),
    series: series(metric),
  });
  return made.element;
}

function draw() {
  const tables = state.chosen.map((name) => state.tables.get(name)).filter(Boolean);
  const there = new Set(
    tables.flatMap((t) => [t.metrics, t.speed].flatMap((x) => Object.keys(x?.columns || {}))),
  );
  const first = Object.entries(FIRST).filter(([metric]) => there.has(metric));
  const rest = [...there]
    .filter((m) => !(m in FIRST) && !NOT_DRAWN.test(m))
    .sort()
    .map((m) => [m, named(m)]);
  const place = box("charts");
  const plan = JSON.stringify([first, rest]);
  if (place.dataset.plan !== plan) {
    const open = place.querySelector("details")?.open;
    const panels = (some) =>
      el(
        "div",
        { class: "charts" },
        some.map(([m, t]) => (charts.get(m) || chart(m, t)).element),
      );
    place.dataset.plan = plan;
    place.replaceChildren(panels(first));
    if (rest.length)
      place.append(
        el(
          "details",
          { open, ontoggle: () => draw() },
          el("summary", {}, `All other curves (${rest.length})`),
          panels(rest),
        ),
      );
  }
  const open = place.querySelector("details")?.open;
  for (const [metric, title] of open ? [...first, ...rest] : first) drawOne(metric, title);
  box("controls").hidden = !first.length;
  if (!first.length) {
    place.replaceChildren(
      el(
        "p",
        { class: "faint" },
        !state.runs.length
          ? ""
          : state.chosen.length
            ? "Nothing was written yet: the first iteration compiles the program."
            : "Choose a run above to see its curves.",
      ),
    );
    delete place.dataset.plan;
  }
}

// -- asking ------------------------------------------------------------------

let timer = null;
let busy = false;
let said = "";

async function refresh() {
  if (busy) return;
  busy = true;
  let more = false;
  try {
    const found = await ask("/api/watch/runs");
    state.runs = found.runs;
    if (!state.asked && state.runs.length) {
      state.asked = true;
      state.chosen = [state.runs[0].name];
      keepAddress();
    }
    list();
    const [fresh, rest] = await curves();
    more = rest;
    if (fresh || !charts.size) draw();
    games.show(state.runs.filter((run) => state.chosen.includes(run.name)));
    said = "";
  } catch (error) {
    if (error.message !== said) say(error.message); // once, not every two seconds
    said = error.message;
  } finally {
    busy = false;
    clearTimeout(timer);
    timer = setTimeout(
      () => {
        if (!document.hidden) refresh();
      },
      more ? 50 : EVERY,
    );
  }
}

/** Fetches what is new: [whether anything is, whether there is more at once]. */
async function curves() {
  const chosen = state.chosen;
  if (!chosen.length) return [true, false];
  const known = Object.fromEntries(
    chosen.map((name) => {
      const held = state.tables.get(name);
      const at = (table) => (table ? [table.generation, table.next] : ["0", 0]);
      return [name, { metrics: at(held?.metrics), speed: at(held?.speed) }];
    }),
  );
  const found = await ask("/api/watch/curves", { runs: known });
  let more = false;
  let changed = false;
  for (const [name, fresh] of Object.entries(found.runs)) {
    if (fresh.error) {
      say(fresh.error);
      state.chosen = state.chosen.filter((each) => each !== name);
      changed = true;
      keepAddress();
      continue;
    }
    const held = state.tables.get(name);
    state.tables.set(name, {
      metrics: merge(held?.metrics, fresh.metrics),
      speed: merge(held?.speed, fresh.speed),
    });
    more = more || fresh.more;
    changed = changed || [fresh.metrics, fresh.speed].some((t) => t.columns.step?.length);
  }
  return [changed, more];
}

function soon() {
  clearTimeout(timer);
  timer = setTimeout(refresh, 0);
}

const games = replay(box("games"), box("replay"));
box("against").value = state.against;
box("smooth").value = state.smooth;
box("against").addEventListener("change", (event) => {
  state.against = event.target.value;
  keepAddress();
  draw();
});
box("smooth").addEventListener("input", (event) => {
  state.smooth = Number(event.target.value);
  keepAddress();
  draw();
});
box("filter").addEventListener("input", list);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) soon();
});
refresh();
