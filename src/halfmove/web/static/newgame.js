// The form for a new game: game, options, who plays, clock, position; and loading a file.

import { ask, careful, el, patient, say } from "./frame.js";
import { playersOf, Seat } from "./seats.js";

const $ = (id) => document.getElementById(id);
const TITLES = {
  go: "Go", hex: "Hex", chess: "Chess", shogi: "Shogi", othello: "Othello",
  connect_four: "Connect four", tic_tac_toe: "Tic-tac-toe", gardner_chess: "Gardner chess (5×5)",
  animal_shogi: "Animal shogi", 2048: "2048",
};
const ORDER = ["go", "hex", "chess", "shogi", "othello", "connect_four", "tic_tac_toe",
  "gardner_chess", "animal_shogi", "2048"];
const SIZES = { go: [5, 7, 9, 13, 19], hex: [3, 5, 7, 9, 11, 13] };
const COLOURS = { chess: ["White", "Black"], gardner_chess: ["White", "Black"],
  connect_four: ["Red", "Yellow"], tic_tac_toe: ["X", "O"], 2048: ["Player", ""] };
const OPTIONS = { size: "Size", komi: "Komi", handicap: "Handicap stones", swap: "Swap rule",
  suicide: "Suicide is legal" };

export function titleOf(text, board) {
  const [name, ...options] = text.split(" ");
  const size = options.map((o) => /^size=(\d+)$/.exec(o)).find(Boolean)?.[1]
    ?? (SIZES[name] ? board.rows : null);
  const rest = options.filter((o) => !o.startsWith("size="));
  return [TITLES[name] ?? name, size && `${size}×${size}`, ...rest].filter(Boolean).join(" ");
}

export class NewGame {
  /** `begun(table)` hears of every game that was started or loaded. */
  constructor(begun) {
    this.begun = begun;
    this.seats = [0, 1].map((side) => new Seat($(`seat${side}`)));
    $("game").addEventListener("change", careful(() => this.chosen()));
    $("newForm").addEventListener("submit", careful((event) => this.submit(event)));
    $("sides").addEventListener("click", () => {
      const lines = this.seats.map((seat) => seat.line);
      this.seats.forEach((seat, side) => seat.choose(lines[1 - side]));
    });
    $("load").addEventListener("change", careful(() => this.load()));
  }

  async open() {
    if (!this.games) {
      const found = await ask("/api/games");
      this.games = new Map(found.games.map((game) => [game.name, game]));
      this.networks = found.networks;
      const names = found.games.map((game) => game.name)
        .sort((a, b) => ORDER.indexOf(a) - ORDER.indexOf(b));
      $("game").replaceChildren(...names.map((name) => el("option", { value: name }, TITLES[name] ?? name)));
      // Begin with a game that the package has a network for.
      $("game").value = (this.networks[0]?.game ?? "hex").split(" ")[0];
      await this.chosen();
    }
  }

  /** Another game: its options, then who can play it. */
  async chosen() {
    const game = this.games.get($("game").value);
    const known = this.networks.find((net) => net.game.split(" ")[0] === game.name)?.game ?? "";
    const given = Object.fromEntries(known.split(" ").slice(1).map((word) => word.split("=")));
    this.fields = Object.entries(game.options).map(([name, usual]) => {
      const value = given[name] ?? usual;
      return [name, usual, this.field(game.name, name, value)];
    });
    $("options").replaceChildren(...this.fields.map(([, , input]) => input.parentElement));
    this.players = game.players;
    $("seat1").hidden = $("sides").hidden = game.players === 1;
    await this.offer();
  }

  /** Who is who; with a handicap White begins. */
  legends() {
    const colours = COLOURS[$("game").value] ?? ["Black", "White"];
    const first = Number($("option-handicap")?.value) > 0 ? 1 : 0;
    [0, 1].forEach((side) => {
      $(`seat${side}`).querySelector("legend").textContent =
        `${colours[side]}${side === first && this.players === 2 ? ", moves first" : ""}`;
    });
  }

  field(game, name, value) {
    const changed = careful(() => this.offer());
    let input;
    if (typeof value === "boolean" || value === "true" || value === "false") {
      input = el("input", { type: "checkbox", checked: String(value) === "true", onchange: changed });
    } else if (name === "size") {
      input = el("select", { onchange: changed }, SIZES[game].map((n) =>
        el("option", { value: n, selected: String(n) === String(value) }, `${n} × ${n}`)));
    } else {
      const step = name === "komi" ? 0.5 : 1;
      input = el("input", { type: "number", value, step, min: name === "komi" ? -99 : 0, max: 99,
        onchange: changed });
    }
    input.id = `option-${name}`;
    el("label", { class: input.type === "checkbox" ? "row" : null }, ...(input.type === "checkbox"
      ? [input, OPTIONS[name]] : [OPTIONS[name], input]));
    return input;
  }

  /** `hex size=7 swap=true` */
  get line() {
    const words = this.fields.map(([name, usual, input]) => {
      const value = input.type === "checkbox" ? input.checked : input.value;
      return String(value) === String(usual) || value === "" ? "" : `${name}=${value}`;
    });
    return [$("game").value, ...words.filter(Boolean)].join(" ");
  }

  async offer() {
    // Answers may come in another order than the questions.
    this.asked = (this.asked ?? 0) + 1;
    const mine = this.asked;
    this.legends();
    const players = await playersOf(this.line);
    if (mine !== this.asked) return;
    const [first, second] = this.seats;
    const lines = first.players ? [first.line, second.line] : ["person", ""];
    first.offer(players, players.some((p) => lines[0].startsWith(p.who)) ? lines[0] : "person");
    second.offer(players, lines[1] === "person" || players.some((p) => p.kind !== "search"
      && p.kind !== "simple" && lines[1].startsWith(p.who)) ? lines[1] : "");
  }

  async submit(event) {
    event.preventDefault();
    const minutes = Number($("minutes").value);
    const clock = minutes > 0
      ? { base: 60 * minutes, increment: Number($("increment").value) || 0 } : null;
    $("start").disabled = true;
    try {
      this.begun(await patient($("starting"), ask("/api/tables", {
        game: this.line, clock,
        seats: this.seats.slice(0, this.players).map((seat) => seat.line),
        position: $("position").value,
      })));
    } finally {
      $("start").disabled = false;
    }
  }

  async load() {
    const file = $("load").files[0];
    $("load").value = "";
    if (!file) return;
    if (file.size > 200000) throw new Error("The file is too large: at most 200 kB are read.");
    const sent = fetch("/api/records", { method: "POST", body: await file.arrayBuffer() });
    const answer = await patient($("starting"), sent);
    const found = await answer.json();
    if (!answer.ok) throw new Error(found.error);
    if (found.games > 1) say(`The file has ${found.games} games; this is the first.`);
    this.begun(found);
  }
}
