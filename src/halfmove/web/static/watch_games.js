// Sample games of a run, move by move, with what one of its networks thinks of every position.

import { Board } from "./board.js";
import { ask, careful, el } from "./frame.js";
import { plot } from "./watch_plot.js";

/** The section `host` in which games are replayed; `show(runs)` says of which runs. */
export function replay(section, host) {
  let runs = [];
  let there = null; // {games, checkpoints} of the run
  let shown = null; // the game: {board, positions, moves, ...}
  let opinions = [];
  let ply = 0;
  let asked = 0; // grows with every choice: what comes too late is dropped

  const run = el("select", { onchange: careful(choose) });
  const file = el("select", { onchange: careful(open) });
  const checkpoint = el("select", { onchange: careful(think) });
  const place = el("div", { class: "replay-board" });
  const board = new Board(place, { onMove() {} });
  const where = el("p", { "aria-live": "polite" });
  const keys = [
    ["|◀", "First position", () => go(0)],
    ["◀", "One move back", () => go(ply - 1)],
    ["▶", "One move on", () => go(ply + 1)],
    ["▶|", "Last position", () => go(Infinity)],
  ];
  const buttons = el(
    "div",
    { class: "row", role: "group", "aria-label": "Moves" },
    keys.map(([sign, name, onclick]) =>
      el("button", { type: "button", "aria-label": name, title: name, onclick }, sign),
    ),
  );
  const inside = el(
    "button",
    { type: "button", onclick: careful(lookInside) },
    "Look inside this position",
  );
  const made = el("div", {
    class: "moves-made",
    role: "group",
    "aria-label": "Moves of the game",
  });
  const thought = el("div");
  const title = el("h3", { class: "small" });
  const line = el("div");
  const values = plot(line);
  const moves = el("div", {}, place, where, buttons, made, inside);
  host.replaceChildren(
    el(
      "div",
      { class: "controls" },
      el("label", {}, "Run", run),
      el("label", {}, "Game at iteration", file),
      el("label", {}, "Network of checkpoint", checkpoint),
    ),
    el(
      "div",
      { class: "replay", onkeydown: key },
      moves,
      el("div", {}, thought, title, line),
    ),
  );

  function key(event) {
    if (event.target.closest("svg, select")) return; // those have arrow keys of their own
    const to = { ArrowLeft: ply - 1, ArrowRight: ply + 1, Home: 0, End: Infinity }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    go(to);
  }

  function options(select, values, label, kept) {
    select.replaceChildren(
      ...values.map((v) =>
        el("option", { value: v, selected: String(v) === String(kept) }, label(v)),
      ),
    );
  }

  async function choose() {
    const mine = ++asked;
    const found = await ask(`/api/watch/games?run=${encodeURIComponent(run.value)}`);
    if (mine !== asked) return;
    there = { ...found, run: run.value };
    options(
      file,
      found.games.map((g) => g.file),
      (name) => name.replace(/\..*$/, ""),
      found.games.at(-1)?.file,
    );
    options(checkpoint, found.checkpoints, String, found.checkpoints.at(-1));
    if (found.games.length) await open();
    else nothing(found.why || "This run has not finished a game yet.");
  }

  function nothing(sentence) {
    shown = null;
    moves.hidden = title.hidden = line.hidden = true;
    place.replaceChildren();
    thought.replaceChildren(el("p", { class: "faint" }, sentence));
    where.textContent = "";
    made.replaceChildren();
  }

  async function open() {
    const mine = ++asked;
    const found = await ask(`/api/watch/game?${words()}`);
    if (mine !== asked) return;
    shown = found;
    moves.hidden = title.hidden = line.hidden = false;
    opinions = [];
    made.replaceChildren(
      ...found.moves.map((name, i) =>
        el("button", { type: "button", onclick: () => go(i + 1) }, `${i + 1}. ${name}`),
      ),
    );
    go(0);
    await think();
  }

  function words() {
    return new URLSearchParams({ run: there.run, file: file.value });
  }

  async function think() {
    const mine = ++asked;
    opinions = [];
    if (!shown || !checkpoint.value) return;
    tell();
    for (let from = 0; from !== null;) {
      const found = await ask(
        `/api/watch/opinion?${words()}&checkpoint=${checkpoint.value}&from=${from}`,
      );
      if (mine !== asked) return;
      for (const each of found.opinions)
        opinions[each.ply] = { ...each, simulations: found.simulations };
      from = found.next;
      tell();
    }
  }

  /** The game as a table of its own, opened where searches are looked into. */
  async function lookInside() {
    if (!shown) return;
    const answer = await fetch("/api/records", { method: "POST", body: shown.record });
    const found = await answer.json();
    if (!answer.ok) throw new Error(found.error);
    location.assign(`/inside/${found.id}?ply=${ply}`);
  }

  function go(to) {
    if (!shown) return;
    ply = Math.min(shown.moves.length, Math.max(0, to));
    tell();
  }

  function ending() {
    const colours = shown.board.colours;
    if (!shown.result) return "";
    const [first, second] = shown.result;
    const won = first === second ? "A draw" : `${colours[first > second ? 0 : 1]} won`;
    return ` ${won}${shown.reason ? ` by ${shown.reason}` : ""}.`;
  }

  function tell() {
    const position = shown.positions[ply];
    const heat = new Map(
      (opinions[ply]?.moves || [])
        .filter((move) => move.to !== null && move.policy >= 0.01)
        .map((move) => [
          move.to,
          { share: move.policy, text: `${Math.round(100 * move.policy)}%` },
        ]),
    );
    board.show(shown.board, position, { heat });
    const last = ply === shown.moves.length;
    const turn = last ? "The end." + ending() : `${shown.board.colours[position.toPlay]} to move.`;
    const after = ply ? `, after ${shown.moves[ply - 1]}` : "";
    where.textContent = `Position ${ply} of ${shown.moves.length}${after}. ${turn}`;
    [...made.children].forEach((button, i) => {
      if (i === ply - 1) button.setAttribute("aria-current", "step");
      else button.removeAttribute("aria-current");
    });
    const current = made.children[ply - 1];
    if (current) made.scrollTop = current.offsetTop - made.offsetTop - made.clientHeight / 2;
    table(last);
    const some = opinions.filter(Boolean);
    const x = some.map((o) => o.ply);
    const colours = shown.board.colours;
    title.textContent = `How ${colours[0]} stands along the game, −1 lost to 1 won`;
    values.draw({
      title: title.textContent,
      x: "moves made",
      yRange: [-1.08, 1.08],
      zero: 0,
      mark: ply,
      xRange: [0, Math.max(1, shown.moves.length)],
      onpick: (at) => go(Math.round(at)),
      series: [
        {
          label: "network alone",
          colour: "var(--c7)",
          dash: "4 3",
          x,
          y: some.map((o) => o.alone),
        },
        {
          label: "after its search",
          colour: "var(--c0)",
          x,
          y: some.map((o) => o.searched),
        },
      ],
    });
  }

  function table(last) {
    const found = opinions[ply];
    const busy = !found && !last && checkpoint.value;
    if (!found) {
      thought.replaceChildren(
        el(
          "p",
          { class: "faint" },
          last
            ? "The game is over here."
            : busy
              ? "The network is thinking; the first time, compiling takes some seconds."
              : "This run has no checkpoint yet, so there is no network to ask.",
        ),
      );
      return;
    }
    const [first] = shown.board.colours;
    const share = (value, kind) =>
      el(
        "td",
        { class: "share" },
        el("span", {
          class: `share-bar ${kind}`,
          style: `width:${Math.round(70 * value)}%`,
        }),
        `${(100 * value).toFixed(1)}%`,
      );
    thought.replaceChildren(
      el(
        "p",
        {},
        `How ${first} stands, −1 to 1: the network alone says `,
        el("b", {}, found.alone.toFixed(2)),
        `, after ${found.simulations} simulations `,
        el("b", {}, found.searched.toFixed(2)),
        ".",
      ),
      el(
        "table",
        { class: "thought" },
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            ["Move", "Network", "After its search"].map((name) => el("th", { scope: "col" }, name)),
          ),
        ),
        el(
          "tbody",
          {},
          found.moves.map((move) =>
            el(
              "tr",
              { class: move.played ? "chosen" : null },
              el(
                "th",
                { scope: "row" },
                move.name,
                move.played ? el("span", { class: "small" }, " played") : "",
              ),
              share(move.prior, "prior"),
              share(move.policy, ""),
            ),
          ),
        ),
      ),
    );
  }

  return {
    show(some) {
      const names = some.map((each) => each.name);
      const old = runs.map((each) => each.name);
      const fresh = some.find((each) => each.name === there?.run);
      runs = some;
      section.hidden = !some.length;
      if (names.join("\n") !== old.join("\n")) {
        options(run, names, (name) => name, there?.run);
        if (names.length && run.value !== there?.run) careful(choose)();
      } else if (
        fresh &&
        (fresh.games !== there.games.length || fresh.checkpoints !== there.checkpoints.length)
      ) {
        careful(grow)();
      }
    },
  };

  /** The run has gone on: new games and checkpoints can be chosen, what is shown stays. */
  async function grow() {
    const found = await ask(`/api/watch/games?run=${encodeURIComponent(there.run)}`);
    const before = there;
    if (before.run !== run.value) return;
    there = { ...found, run: before.run };
    options(
      file,
      found.games.map((g) => g.file),
      (name) => name.replace(/\..*$/, ""),
      file.value,
    );
    options(checkpoint, found.checkpoints, String, checkpoint.value);
    if (!shown && found.games.length) await open();
    else if (!before.checkpoints.length && found.checkpoints.length) await think();
  }
}
