// One search that is looked at: who searches, the board with its heat, and all figures.

import { Board } from "./board.js";
import { depthChart, phaseChart, phaseList } from "./charts.js";
import { el, say } from "./frame.js";
import { Seat } from "./seats.js";

const COLUMNS = [
  ["visits", "Visits", 0], ["prior", "Prior", 3], ["q", "Q", 3], ["completed_q", "Completed Q", 3],
  ["policy", "Policy", 3], ["noise", "Noise", 2], ["score", "Score", 2],
];
const SHOWN = 12; // rows of the table before it is asked for all

function figure(value, digits) {
  return value === null || value === undefined ? "–" : value.toFixed(digits);
}

function times(visits) {
  return visits === 1 ? "1 visit" : `${visits} visits`;
}

export class LookView {
  /** `onMove(action)` hears of moves on its board, `changed()` of the end of its search. */
  constructor(title, { onMove, changed }) {
    this.changed = changed;
    this.kind = "visits";
    this.frame = null;
    this.busy = false;
    this.order = "visits";
    this.all = false;
    const box = el("fieldset", {}, el("legend", {}, title));
    this.seat = new Seat(box, { people: false, seconds: false });
    this.noise = el("input", { type: "checkbox" });
    box.append(el("label", { class: "row" }, this.noise, "Noise at the root, as in training"));
    this.state = el("p", { role: "status", class: "state" });
    const place = el("div", { class: "lookBoard" });
    this.board = new Board(place, { onMove });
    this.summary = el("p", { class: "summary" });
    this.tree = el("div", { class: "tree" });
    this.parts = Object.fromEntries(["phases", "moves", "lines", "depths", "below"].map((name) =>
      [name, el("div", { class: name })]));
    const { phases, moves, lines, depths, below } = this.parts;
    this.root = el("section", { class: "panel look", "aria-label": title }, box, this.state,
      el("div", { class: "columns" }, el("div", {}, place, lines, depths, below),
        el("div", {}, this.summary, phases, moves)));
  }

  show(shown) {
    this.shown = shown;
    this.frame = null;
    this.draw();
    this.summary.replaceChildren();
    for (const part of Object.values(this.parts)) part.replaceChildren();
    this.state.textContent = shown.position.over ? "The game is over." : "";
  }

  draw() {
    this.board.show(this.shown.board, this.shown.position,
      { active: !this.shown.position.over, heat: this.heat() });
  }

  /** place -> how hot, by the figure that is chosen. */
  heat() {
    if (!this.frame) return null;
    const rows = this.frame.actions.filter((row) => row.to !== null && row.to !== undefined
      && row[this.kind] !== null && row[this.kind] !== undefined);
    const sums = ["visits", "prior", "policy"].includes(this.kind);
    const found = new Map();
    for (const row of rows) {
      const before = found.get(row.to);
      const value = row[this.kind];
      found.set(row.to, before === undefined ? value : sums ? before + value : Math.max(before, value));
    }
    const values = [...found.values()];
    const low = sums ? 0 : Math.min(...values);
    const high = Math.max(...values);
    const heat = new Map();
    for (const [place, value] of found) {
      const share = high > low ? (value - low) / (high - low) : 1;
      if (sums && value <= high / 1000) continue;
      const label = this.kind === "visits" ? String(value) : sums ? `${Math.round(100 * value)}%`
        : value.toFixed(Math.abs(value) < 10 ? 2 : 0);
      heat.set(place, { share, text: label === "0%" ? "" : label, spoken: `${this.kind} ${label}` });
    }
    return heat;
  }

  // -- searching -------------------------------------------------------------

  begin(request) {
    this.stop();
    this.frame = null;
    this.busy = true;
    this.state.textContent = "Begins …";
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/api/inside`);
    this.socket = socket;
    socket.onopen = () => socket.send(JSON.stringify({
      type: "begin", ...request, line: this.seat.line, noise: this.noise.checked,
    }));
    socket.onmessage = (event) => { if (this.socket === socket) this.hear(JSON.parse(event.data)); };
    socket.onclose = () => {
      if (this.socket === socket && this.busy) this.ended("The server has ended the search.");
    };
  }

  /** Ends the search and keeps what was found. */
  halt() {
    if (this.busy) this.socket?.send(JSON.stringify({ type: "stop" }));
  }

  /** Forgets the search. */
  stop() {
    const old = this.socket;
    this.socket = null;
    this.busy = false;
    old?.close();
  }

  ended(text) {
    this.busy = false;
    this.state.textContent = text;
    this.changed();
  }

  hear(said) {
    if (said.type === "state") this.state.textContent = `Compiling, ${said.seconds.toFixed(0)} s …`;
    else if (said.type === "error") {
      this.ended(`It cannot be searched: ${said.error}`);
      say(said.error);
    } else if (said.type === "stopped") this.ended("Stopped before it began.");
    else if (said.type === "node") this.opened(said.tree);
    else {
      this.frame = said.frame;
      const whole = this.frame.simulations >= this.frame.budget;
      if (said.type === "done") this.ended(whole ? "Done." : "Stopped.");
      else this.state.textContent = `Searches: ${this.frame.simulations} of ${this.frame.budget} …`;
      this.figures(said.type === "done");
    }
  }

  // -- figures -----------------------------------------------------------------

  figures(done) {
    const { frame } = this;
    this.draw();
    this.names = new Map(frame.actions.map((row) => [row.action, row.name]));
    this.summary.replaceChildren(
      el("b", {}, frame.chosen), ` is chosen by ${frame.planner} after ${frame.simulations} simulations; value ${
        figure(frame.value, 3)}, ${figure(frame.rawValue, 3)} before it searched`,
      frame.seconds ? `; ${frame.seconds} s` : "", ".");
    const fill = (part, title, ...content) => {
      this.parts[part].replaceChildren(...(content.length ? [el("h3", {}, title), ...content] : []));
    };
    fill("phases", "Sequential Halving", ...(frame.phases?.length
      ? [phaseChart(frame.phases, this.names), phaseList(frame.phases, this.names)] : []));
    fill("moves", "Moves", this.table());
    fill("lines", "Principal lines", this.lines());
    fill("depths", "Depth of the simulations", ...(frame.depths.length > 1 ? [depthChart(frame.depths)] : []));
    fill("below", "Tree", ...(done ? [this.tree] : []));
    if (done) this.root0();
  }

  table() {
    const rows = [...this.frame.actions].sort((a, b) =>
      (b[this.order] ?? -Infinity) - (a[this.order] ?? -Infinity) || b.prior - a.prior);
    const some = this.all ? rows : rows.slice(0, SHOWN);
    const sort = (name) => () => { this.order = name; this.figures(!this.busy); };
    return el("div", { class: "table-scroll" }, el("table", {},
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Move"), COLUMNS.map(([name, title]) =>
        el("th", { scope: "col", "aria-sort": this.order === name ? "descending" : null },
          el("button", { type: "button", class: "plain", onclick: sort(name) }, title))))),
      el("tbody", {}, some.map((row) => el("tr", { class: row.action === this.frame.action ? "chosen" : null },
        el("td", {}, row.name), COLUMNS.map(([name, , digits]) => el("td", {}, figure(row[name], digits))))))),
    rows.length > SHOWN ? el("button", { type: "button", onclick: () => { this.all = !this.all; this.figures(!this.busy); } },
      this.all ? "Fewer" : `All ${rows.length} moves`) : null);
  }

  lines() {
    return el("ol", { class: "lines" }, this.frame.lines.map((line) => el("li", {},
      el("b", {}, line.moves[0] ?? "–"), ` ${line.moves.slice(1).join(" ")} `,
      el("span", { class: "faint" }, `${times(line.visits)}, ${figure(line.value, 3)}`,
        line.mate ? `, ${line.mate > 0 ? "wins" : "loses"} for sure in ${Math.abs(line.mate)} plies` : ""))));
  }

  // -- the tree, node by node ------------------------------------------------------

  root0() {
    this.tree.replaceChildren(el("ul", { role: "tree", "aria-label": "Search tree" },
      this.item({ node: 0, name: "root", visits: this.frame.simulations, prior: null, q: null, more: true })));
  }

  item(entry) {
    const facts = [times(entry.visits)];
    if (entry.prior !== null) facts.push(`prior ${entry.prior.toFixed(3)}`);
    if (entry.q !== null) facts.push(`Q ${entry.q.toFixed(3)}`);
    const button = el("button", {
      type: "button", disabled: !entry.more, "aria-expanded": entry.more ? "false" : null,
      "data-node": entry.node, onclick: () => this.toggle(button, entry.node),
    }, el("b", {}, entry.name), ` ${facts.join(", ")}`);
    return el("li", { role: "treeitem" }, button);
  }

  toggle(button, node) {
    const open = button.getAttribute("aria-expanded") === "true";
    if (!open && this.socket?.readyState !== WebSocket.OPEN) {
      say("The server has let this search go: search again to open its tree.");
      return;
    }
    button.setAttribute("aria-expanded", String(!open));
    if (open) button.parentElement.querySelector("ul")?.remove();
    else this.socket?.send(JSON.stringify({ type: "node", node }));
  }

  opened(tree) {
    const button = this.tree.querySelector(`[data-node="${tree.node}"]`);
    if (!button) return;
    button.parentElement.querySelector("ul")?.remove();
    button.parentElement.append(el("ul", { role: "group" }, tree.children.map((entry) => this.item(entry)),
      tree.left ? el("li", { class: "faint" }, `and ${tree.left} more`) : null,
      tree.children.length ? null : el("li", { class: "faint" }, "nothing below")));
  }
}
