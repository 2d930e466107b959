// The page on which games are played. What is legal, and what follows, the server says.

import { Board } from "./board.js";
import { valueChart } from "./charts.js";
import { ask, careful, el, patient, say, svg } from "./frame.js";
import { NewGame, titleOf } from "./newgame.js";
import { hasKanji, piece, shogiName } from "./pieces.js";
import { playersOf, Seat } from "./seats.js";

const $ = (id) => document.getElementById(id);
const STATES = { waiting: "waits for its turn", compiling: "is being compiled", searching: "thinks" };
const SPECIAL = { pass: /^pass$/i, swap: /^swap/i };

let table = null; // as the server last said it
let shown = null; // the same, at the ply that is looked at
let thinking = null;
let socket = null;
let sending = null; // the version of the table that a move is on its way for
let arrived = 0; // when the clocks were read

const board = new Board($("board"), { onMove: careful((action) => move({ action })) });
const form = new NewGame((fresh) => begun(fresh));
const others = [0, 1].map((side) => new Seat($(`other${side}`)));

// -- talking to the server ---------------------------------------------------

function begun(fresh) {
  history.pushState(null, "", `/play/${fresh.id}`);
  enter(fresh);
}

function enter(fresh) {
  table = null;
  thinking = null;
  accept(fresh);
  listen(fresh.id);
  $("new").hidden = true;
  $("table").hidden = false;
}

function listen(id) {
  socket?.close();
  const mine = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/api/tables/${id}/live`);
  socket = mine;
  let first = true;
  mine.onmessage = (event) => {
    if (socket !== mine) return;
    const said = JSON.parse(event.data);
    if (said.type === "table") {
      // A server that was killed and started again may not know the last move.
      if (first && table?.id === id && said.table.version < table.version) table = null;
      first = false;
      accept(said.table);
    } else {
      ({ thinking } = said);
      status();
    }
  };
  mine.onclose = () => {
    if (socket === mine) setTimeout(() => { if (socket === mine) listen(id); }, 1500);
  };
}

/** A newer table: shown at its end. One that is not newer moves the clocks alone: a page that is
    drawn again under somebody's finger loses the press, and the piece that was chosen. */
function accept(fresh) {
  if (table && (fresh.id !== table.id || fresh.version < table.version)) return;
  arrived = performance.now();
  if (table?.version === fresh.version && `${table.moves}` === `${fresh.moves}`) {
    table.clock = fresh.clock;
    return;
  }
  table = shown = fresh;
  draw();
}

async function change(what, body = {}) {
  accept(await ask(`/api/tables/${table.id}/${what}`, body));
}

async function move(given) {
  // A second press before the answer would be a move in the position before the first. The socket
  // may tell of the first move before it is answered: then the next one may be made.
  const { version } = table;
  if (sending === version) return;
  sending = version;
  try {
    await change("move", { ...given, ply: shown.ply });
  } finally {
    if (sending === version) sending = null;
  }
}

async function look(ply) {
  const to = Math.max(0, Math.min(table.moves.length, ply));
  const found = to === table.moves.length ? table : await ask(`/api/tables/${table.id}?ply=${to}`);
  shown = found;
  draw();
}

// -- drawing -------------------------------------------------------------------

function mine() {
  return table.seats[shown.position.toPlay] === "person"
    && !shown.position.over && (shown.ply < table.moves.length || !table.over);
}

function draw() {
  $("title").textContent = titleOf(table.game, table.board);
  document.title = `${titleOf(table.game, table.board)} · Halfmove`;
  board.show(shown.board, shown.position, { active: mine() });
  players();
  moves();
  values();
  buttons();
  status();
}

function players() {
  $("player1").hidden = table.seats.length === 1;
  for (const side of table.seats.keys()) {
    const colour = table.board.colours[side];
    const seat = table.seats[side] === "person" ? "a person" : table.seats[side];
    const turn = !table.over && table.toPlay === side;
    const box = $(`player${board.flipped ? 1 - side : side}`);
    box.replaceChildren(
      badge(side),
      el("span", { class: "name" }, el("b", {}, colour), ` ${seat}`),
      ...captured(side), ...hand(side), ...clock(side));
    box.classList.toggle("turn", turn);
  }
}

function badge(side) {
  if (table.board.pieces === "numbers") return "";
  const mark = table.board.pieces === "chess" ? "k" : table.board.pieces === "shogi"
    ? (table.board.columns === 3 ? "L" : "K") : "xo"[side];
  return svg("svg", { viewBox: "-50 -50 100 100", class: `badge ${table.board.pieces} ${table.board.shape}`,
    "aria-hidden": true }, piece(table.board, mark, side, { kanji: board.kanji }));
}

/** What the other side has lost. */
function captured(side) {
  if (shown.score !== null) return [el("b", { class: "score" }, `${shown.score} points`)];
  const lost = shown.position.lost[1 - side];
  if (!lost || lost === "0") return [];
  if (/^\d+$/.test(lost)) return [el("span", { class: "faint small" }, `captured ${lost}`)];
  return [el("span", { class: "lost", role: "img", "aria-label": `captured: ${[...lost].join(" ")}` },
    [...lost].map((mark) => svg("svg", { viewBox: "-42 -42 84 84", class: "chess" },
      piece(table.board, mark, 1 - side))))];
}

function hand(side) {
  if (!table.board.hands) return [];
  const held = Object.entries(shown.position.hands[side]);
  const can = (letter) => mine() && shown.position.toPlay === side
    && shown.position.legal.some((m) => m.drop === letter);
  return [el("span", { class: "hand", role: "group", "aria-label": "In hand" }, held.map(([letter, n]) =>
    el("button", {
      type: "button", disabled: !can(letter), "aria-pressed": board.chosen?.drop === letter ? "true" : "false",
      "aria-label": `Drop ${shogiName(table.board, letter)}, ${n} in hand`,
      onclick: () => { board.take(letter); players(); },
    }, svg("svg", { viewBox: "-50 -50 100 100", class: "shogi" },
      piece(table.board, letter, 0, { kanji: board.kanji })), n > 1 ? `×${n}` : "")))];
}

function clock(side) {
  if (!table.clock) return [];
  return [el("span", { class: "clock", role: "timer", "data-side": side }, timeOf(side))];
}

function left(side) {
  const runs = table.clock.runs && table.toPlay === side && !table.over;
  return Math.max(0, table.clock.left[side] - (runs ? (performance.now() - arrived) / 1000 : 0));
}

function timeOf(side) {
  const seconds = left(side);
  if (seconds < 10) return seconds.toFixed(1);
  return `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
}

function tick() {
  if (!table?.clock || table.over) return;
  for (const box of document.querySelectorAll(".clock")) box.textContent = timeOf(Number(box.dataset.side));
  if (table.clock.runs && left(table.toPlay) <= 0) {
    table.clock.runs = false;
    change("flag").catch((error) => say(error.message));
  }
}

function moves() {
  const list = table.moves.map((name, i) => el("li", {}, el("button", {
    type: "button", class: `side${table.movers[i]}`,
    "aria-current": shown.ply === i + 1 ? "true" : null,
    "aria-label": `Move ${i + 1}, ${table.board.colours[table.movers[i]]}, ${name}`,
    onclick: careful(() => look(i + 1)),
  }, name)));
  $("moves").replaceChildren(...list);
  if (!list.length) $("moves").append(el("li", { class: "faint" }, "none yet"));
  const current = $("moves").querySelector("[aria-current]");
  if (current) $("moves").scrollTop = current.offsetTop - $("moves").clientHeight / 2;
  $("legal").replaceChildren(...(mine() ? shown.position.legal.slice(0, 100) : [])
    .map((m) => el("option", { value: m.name })));
}

function values() {
  const points = table.values.map((value, i) => [i + 1, value]).filter(([, value]) => value !== null);
  $("valuePanel").hidden = points.length < 2;
  $("meaning").textContent = table.seats.length === 1 ? "points still to come"
    : `1 means that ${table.board.colours[0]} wins`;
  if (points.length < 2) return;
  $("values").replaceChildren(valueChart(points, table.moves.length, shown.ply, careful(look)));
}

function special(name) {
  return mine() ? shown.position.legal.find((m) => SPECIAL[name].test(m.name)) : undefined;
}

function buttons() {
  const end = table.moves.length;
  for (const name of ["pass", "swap"]) {
    $(name).hidden = !special(name);
    $(name).onclick = careful(() => move({ action: special(name).action }));
  }
  const people = table.seats.includes("person");
  $("undo").disabled = !end;
  $("resign").hidden = !people;
  $("resign").disabled = table.over;
  $("pause").hidden = table.seats.every((seat) => seat === "person") || table.over;
  $("first").disabled = $("back").disabled = shown.ply === 0;
  $("forward").disabled = $("last").disabled = shown.ply === end;
  $("goOn").hidden = shown.ply === end;
  $("typed").disabled = !mine();
  $("inside").href = `/inside/${table.id}?ply=${shown.ply}`;
  $("save").hidden = $("flip").hidden = table.board.shape === "tiles";
  $("save").href = `/api/tables/${table.id}/record`;
  $("save").textContent = `Save ${table.form}`;
  $("saveJson").href = `/api/tables/${table.id}/record?form=json`;
  $("saveJson").hidden = table.form === ".jsonl" || $("save").hidden;
  $("kanjiRow").hidden = !(table.board.pieces === "shogi" && table.board.columns === 9 && hasKanji());
  $("kanji").checked = board.kanji;
  $("hints").checked = board.showsLegal();
  $("hintsRow").hidden = table.board.shape === "tiles"; // its arrows show them
  $("other1").hidden = table.seats.length === 1;
}

function status() {
  const faulty = thinking?.state === "fault";
  $("pause").textContent = faulty ? "Try again" : table.paused ? "Go on" : "Pause";
  const colour = table.board.colours[table.toPlay];
  const seat = table.seats[table.toPlay];
  let text;
  if (shown.ply < table.moves.length) {
    text = `Position after move ${shown.ply} of ${table.moves.length}. A move here takes back what followed.`;
  } else if (table.over) text = table.outcome;
  else if (faulty) text = `${colour} cannot move: ${thinking.fault}.`;
  else if (seat === "person" && table.seats.length === 1) text = "Your move.";
  else if (seat === "person") text = people() === table.seats.length ? `${colour} to move.` : `Your move, ${colour}.`;
  else if (table.paused) text = `${colour} (${seat}) waits: paused.`;
  else if (thinking) text = `${colour} ${STATES[thinking.state]}, ${thinking.seconds.toFixed(0)} s …`;
  else text = `${colour} thinks …`;
  const reversi = /^X (\d+), O (\d+)/.exec(shown.position.status);
  if (reversi) text += ` ${table.board.colours[0]} ${reversi[1]}, ${table.board.colours[1]} ${reversi[2]}.`;
  const last = shown.position.last;
  const before = last ? `${table.board.colours[table.movers[shown.ply - 1]]} played ${last.name}. ` : "";
  $("status").textContent = before + text;
  $("status").classList.toggle("busy", Boolean(thinking) && !faulty);
}

function people() {
  return table.seats.filter((seat) => seat === "person").length;
}

// -- buttons ---------------------------------------------------------------------

const press = (id, handler) => $(id).addEventListener("click", careful(handler));
press("undo", () => change("undo"));
press("resign", () => change("resign"));
press("pause", () => change("pause", { wait: !table.paused && thinking?.state !== "fault" }));
press("first", () => look(0));
press("back", () => look(shown.ply - 1));
press("forward", () => look(shown.ply + 1));
press("last", () => look(table.moves.length));
press("goOn", () => change("jump", { ply: shown.ply }));
press("newGame", () => opened());
press("cancel", () => { $("new").hidden = true; $("table").hidden = false; });
press("flip", () => { board.flipped = !board.flipped; draw(); });
press("copy", async () => {
  await navigator.clipboard?.writeText(shown.text).catch(() => {});
  say(`Copied: ${shown.text}`);
});
press("reseat", () => change("seats", { seats: table.seats.map((_, side) => others[side].line) }));
$("hints").addEventListener("change", () => { board.hints = $("hints").checked; draw(); });
$("kanji").addEventListener("change", () => {
  board.kanji = $("kanji").checked;
  localStorage.setItem("kanji", board.kanji ? "yes" : "no");
  draw();
});
$("change").addEventListener("toggle", careful(async () => {
  if (!$("change").open) return;
  const found = await playersOf(table.game);
  table.seats.forEach((line, side) => {
    others[side].offer(found, line);
    $(`other${side}`).querySelector("legend").textContent = table.board.colours[side];
  });
}));
$("type").addEventListener("submit", careful(async (event) => {
  event.preventDefault();
  const name = $("typed").value.trim();
  if (!name) return;
  await move({ name });
  $("typed").value = "";
}));
document.addEventListener("keydown", (event) => {
  if (!table || $("table").hidden || event.ctrlKey || event.metaKey || event.altKey) return;
  if (/INPUT|SELECT|TEXTAREA/.test(event.target.tagName)) return;
  if (table.board.shape === "tiles" && event.key.startsWith("Arrow")) {
    if (!$("board").contains(event.target)) board.key(event); // the board has heard it itself
    return;
  }
  const id = { u: "undo", p: "pass", ",": "back", ".": "forward" }[event.key.toLowerCase()];
  if (id && !$(id).hidden && !$(id).disabled) $(id).click();
});

async function opened() {
  $("new").hidden = false;
  $("table").hidden = true;
  $("cancel").hidden = !table;
  $("title").textContent = "Play";
  await form.open();
}

async function arrive() {
  const id = /^\/play\/([\w-]+)/.exec(location.pathname)?.[1];
  if (!id) return opened();
  try {
    return enter(await patient($("title"), ask(`/api/tables/${id}`)));
  } catch (error) {
    say(error.message);
    table = null;
    return opened();
  }
}

window.addEventListener("popstate", careful(arrive));
setInterval(tick, 100);
careful(arrive)();
