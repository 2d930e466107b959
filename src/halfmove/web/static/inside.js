// The page that looks inside a search: a position, one or two planners, all of their figures.

import { valueChart } from "./charts.js";
import { ask, careful, el, patient } from "./frame.js";
import { LookView } from "./lookview.js";
import { titleOf } from "./newgame.js";
import { playersOf } from "./seats.js";

const $ = (id) => document.getElementById(id);

let place = { game: "hex size=7", position: "", moves: [] };
let line = []; // all moves of the game, of which `place` has the first
let values = null;

const views = ["First", "Second"].map((title) => new LookView(title, {
  onMove: careful((action) => went([...place.moves, action])),
  changed: () => buttons(),
}));
let two = false;

// -- the position ----------------------------------------------------------------

async function look(moves) {
  const shown = await patient($("where"), ask("/api/position", { ...place, moves }));
  place = { ...place, moves };
  $("title").textContent = `Look inside: ${titleOf(place.game, shown.board)}`;
  for (const view of views) {
    view.stop();
    view.show(shown);
  }
  const last = shown.moves.at(-1);
  $("where").textContent = moves.length
    ? `After move ${moves.length} of ${line.length}, ${last}.` : "Before the first move.";
  buttons();
  chart();
}

async function went(moves) {
  const same = moves.every((move, i) => line[i] === move) && moves.length <= line.length;
  if (!same) {
    line = moves;
    values = null;
  }
  await look(moves);
}

async function setUp(game, position, moves, at) {
  place = { game, position, moves: [] };
  line = moves;
  values = null;
  $("game").value = game;
  $("position").value = position;
  await look(line.slice(0, at));
  const players = (await playersOf(game)).filter((player) => ["network", "run", "search"].includes(player.kind));
  for (const view of views) view.seat.offer(players, view.seat.players ? view.seat.line : "");
}

// -- searching -------------------------------------------------------------------

function begin() {
  const request = { ...place, seed: Number($("seed").value) || 0, pace: Number($("pace").value) };
  for (const view of two ? views : views.slice(0, 1)) view.begin(request);
  buttons();
}

function compare(on) {
  two = on;
  $("compare").setAttribute("aria-pressed", String(on));
  $("views").classList.toggle("two", on);
  views[1].root.hidden = !on;
}

/** The demonstration of the whole idea: four simulations each, with noise, on one position. */
function demonstrate() {
  compare(true);
  ["muzero", "full_gumbel"].forEach((planner, i) => {
    const { seat, noise } = views[i];
    seat.planner.value = planner;
    seat.amount.value = 4;
    noise.checked = true;
  });
  begin();
}

function buttons() {
  const busy = views.some((view) => view.busy);
  const over = views[0].shown?.position.over;
  $("search").disabled = busy || over;
  $("demonstration").disabled = busy || over;
  $("stop").disabled = !busy;
  $("first").disabled = $("back").disabled = place.moves.length === 0;
  $("forward").disabled = $("last").disabled = place.moves.length === line.length;
  $("valuePanel").hidden = line.length < 2;
}

function chart() {
  const points = (values ?? []).map((value, ply) => [ply, value]).filter(([, value]) => value !== null);
  $("values").replaceChildren(...(points.length > 1
    ? [valueChart(points, line.length, place.moves.length, careful((ply) => look(line.slice(0, ply)))),
      el("p", { class: "faint small" }, views[0].shown.board.shape === "tiles"
        ? "Points still to come." : `1 means that ${views[0].shown.board.colours[0]} wins.`)] : []));
}

async function askValues() {
  $("valueButton").disabled = true;
  try {
    const found = await ask("/api/values", { ...place, moves: line, line: views[0].seat.line });
    ({ values } = found);
    chart();
  } finally {
    $("valueButton").disabled = false;
  }
}

// -- buttons -----------------------------------------------------------------------

const press = (id, handler) => $(id).addEventListener("click", careful(handler));
press("search", () => begin());
press("stop", () => views.forEach((view) => view.halt()));
press("compare", () => compare(!two));
press("demonstration", () => demonstrate());
press("first", () => look([]));
press("back", () => look(line.slice(0, place.moves.length - 1)));
press("forward", () => look(line.slice(0, place.moves.length + 1)));
press("last", () => look(line));
press("setUp", () => setUp($("game").value.trim(), $("position").value.trim(), [], 0));
press("valueButton", () => askValues());
$("figure").addEventListener("change", () => {
  for (const view of views) {
    view.kind = $("figure").value;
    view.draw();
  }
});

async function arrive() {
  $("views").replaceChildren(...views.map((view) => view.root));
  compare(false);
  const found = await ask("/api/games");
  $("games").replaceChildren(...[...found.networks.map((net) => net.game), ...found.games.map((g) => g.name)]
    .map((game) => el("option", { value: game })));
  const id = /^\/inside\/([\w-]+)/.exec(location.pathname)?.[1];
  if (!id) {
    const game = new URLSearchParams(location.search).get("game") ?? found.networks[0]?.game ?? "hex size=5";
    return setUp(game, "", [], 0);
  }
  const table = await patient($("where"), ask(`/api/tables/${id}`));
  $("toGame").hidden = false;
  $("toGame").href = `/play/${id}`;
  const ply = new URLSearchParams(location.search).get("ply");
  const at = ply === null ? table.moves.length : Number(ply);
  return setUp(table.game, table.setup, table.actions, at);
}

careful(arrive)();
