// Who sits where: a person, a network, a run, plain MCTS or an engine, and how much it may think.

import { ask, el } from "./frame.js";

const PLANNERS = ["", "full_gumbel", "gumbel", "gumbel_stochastic", "gumbel_replacement", "muzero",
  "alphazero", "trpo", "mpo", "mcs", "pgs", "pgs_unfrozen", "prior"];
const AMOUNTS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096];
const KINDS = {
  network: "Networks of the package", run: "Your runs", search: "Without a network",
  simple: "Without a network", engine: "Engines",
};
const TITLES = { mcts: "Plain MCTS", random: "Random moves", perfect: "Perfect play" };

/** Who can play a game. */
export async function playersOf(game) {
  return (await ask(`/api/players?game=${encodeURIComponent(game)}`)).players;
}

export class Seat {
  /** Fills a fieldset; `people`, `seconds`: whether a person may sit there, and think by the clock. */
  constructor(box, { people = true, seconds = true, onChange = () => {} } = {}) {
    this.box = box;
    this.people = people;
    this.onChange = onChange;
    this.who = el("select", { "aria-label": "Who plays", onchange: () => this.changed() });
    this.checkpoint = el("select", { onchange: onChange });
    this.planner = el("select", { onchange: onChange }, PLANNERS.map((name) =>
      el("option", { value: name }, name || "its own")));
    this.amount = el("input", { type: "number", min: 0.01, max: 16384, step: "any", value: 64,
      list: "amounts", onchange: onChange });
    this.unit = el("select", { "aria-label": "Simulations or seconds", onchange: () => this.measured() },
      el("option", { value: "" }, "simulations"), seconds ? el("option", { value: "s" }, "seconds") : null);
    this.about = el("span", { class: "faint small about" });
    this.rows = {
      checkpoint: el("label", {}, "Checkpoint", this.checkpoint),
      planner: el("label", {}, "Planner", this.planner),
      amount: el("label", {}, "Thinks a move", el("span", { class: "row tight" }, this.amount, this.unit)),
    };
    if (!document.getElementById("amounts")) {
      document.body.append(el("datalist", { id: "amounts" }, AMOUNTS.map((n) => el("option", { value: n }))));
    }
    box.append(el("div", { class: "row" }, el("label", {}, "Player", this.who),
      Object.values(this.rows)), this.about);
  }

  /** Offers these players, and chooses the one of `line`, or the strongest there is. */
  offer(players, line = "") {
    this.players = players;
    const groups = new Map();
    if (this.people) this.who.replaceChildren(el("option", { value: "person" }, "A person"));
    else this.who.replaceChildren();
    for (const player of players) {
      const kind = KINDS[player.kind];
      if (!groups.has(kind)) groups.set(kind, el("optgroup", { label: kind }));
      groups.get(kind).append(el("option", { value: player.who }, TITLES[player.who] ?? player.who));
    }
    this.who.append(...groups.values());
    this.choose(line || players[0].who);
  }

  choose(line) {
    const whole = this.players.find((player) => player.who === line);
    const found = whole ? null : /^([^@:\s]+)(?::([a-z_]+))?(?:@([0-9.]+)(s?))?/.exec(line);
    const at = found && /^(.+)\/checkpoints\/0*(\d+)$/.exec(found[1]);
    this.who.value = whole ? line : at ? at[1] : found?.[1] ?? "person";
    if (this.who.selectedIndex < 0) this.who.selectedIndex = 0;
    this.changed(false);
    if (at) this.checkpoint.value = at[2];
    if (found?.[2]) this.planner.value = found[2];
    if (found?.[3]) this.amount.value = found[3];
    if (found?.[3]) this.unit.value = found[4];
  }

  get player() {
    return this.players.find((player) => player.who === this.who.value);
  }

  changed(tell = true) {
    const { player } = this;
    const nets = player && ["network", "run"].includes(player.kind);
    this.rows.checkpoint.hidden = player?.kind !== "run";
    // Where people sit, plain MCTS is itself; where it is looked into, any planner may lead it.
    this.rows.planner.hidden = !nets && (this.people || player?.kind !== "search");
    this.rows.amount.hidden = !player || ["simple", "engine"].includes(player.kind);
    if (player?.kind === "run") {
      this.checkpoint.replaceChildren(el("option", { value: "" }, "newest"),
        player.checkpoints.map((n) => el("option", { value: n }, n)).reverse());
    }
    this.planner.options[0].textContent = nets ? `its own (${player.planner})` : "its own";
    this.amount.value = player?.who === "mcts" ? 200 : 64;
    this.unit.value = "";
    this.about.textContent = player?.about ? `Rating: ${player.about}` : "";
    if (tell) this.onChange();
  }

  measured() {
    this.amount.value = this.unit.value ? 2 : 64;
    this.onChange();
  }

  /** As the server reads it: `hex7:muzero@64`. */
  get line() {
    const { player } = this;
    if (!player) return "person";
    if (["simple", "engine"].includes(player.kind)) return player.who;
    const checkpoint = !this.rows.checkpoint.hidden && this.checkpoint.value
      ? `/checkpoints/${this.checkpoint.value.padStart(8, "0")}` : "";
    const planner = !this.rows.planner.hidden && this.planner.value ? `:${this.planner.value}` : "";
    return `${player.who}${checkpoint}${planner}@${this.amount.value || 64}${this.unit.value}`;
  }
}
