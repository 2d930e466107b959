// The cards of the networks that come with the package.

import { ask, careful, el } from "./frame.js";

const ROWS = [
  ["Game", (card) => card.game],
  ["Strength", (card) => card.rating],
  ["Planner", (card) => card.planner],
  ["Learned from", (card) => `${card.positions.toLocaleString("en-US")} positions`],
  ["Trained in", (card) => `${card.minutes.toLocaleString("en-US")} minutes on ${card.device}`],
  ["By", (card) => el("code", {}, card.command)],
  ["Date", (card) => card.date],
];

async function play(card) {
  const table = await ask("/api/tables", {
    game: card.game,
    seats: ["person", `${card.name}@64`],
  });
  location.assign(`/play/${table.id}`);
}

careful(async () => {
  const { networks } = await ask("/api/watch/networks");
  const cards = networks.map((card) =>
    el(
      "article",
      { class: "panel", "aria-label": `Network ${card.name}` },
      el("h2", {}, card.name),
      el(
        "dl",
        {},
        ROWS.flatMap(([name, of]) => [el("dt", {}, name), el("dd", {}, of(card))]),
      ),
      el(
        "div",
        { class: "row" },
        el(
          "button",
          { type: "button", class: "main", onclick: careful(() => play(card)) },
          "Play against it",
        ),
        el(
          "a",
          { class: "button", href: `/inside?game=${encodeURIComponent(card.game)}` },
          "Look inside its search",
        ),
      ),
    ),
  );
  document
    .getElementById("cards")
    .replaceChildren(
      ...(cards.length
        ? cards
        : [el("p", { class: "faint" }, "This installation has no networks.")]),
    );
})();
