// A board in SVG for mouse, touch and keyboard. It knows no rules: the server says what is legal.

import { el, svg } from "./frame.js";
import { hasKanji, nameOf, piece, shogiName } from "./pieces.js";

const UNIT = 100;
const TALL = 86.6; // between two rows of hexes
// Of a board with an arrow on each side: where the arrows are, and how each is turned.
const ARROWS = [[-58, 200, 0], [200, -58, 90], [458, 200, 180], [200, 458, 270]];
const KEYS = ["ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown"];
const CHOICES = { q: "Queen", r: "Rook", b: "Bishop", n: "Knight", "+": "Promote" };

export class Board {
  /** `root` is an element to draw in; `onMove(action)` hears of a legal move. */
  constructor(root, { onMove }) {
    this.root = root;
    this.onMove = onMove;
    this.chosen = null; // {from: place} or {drop: letter}
    this.focus = 0;
    this.flipped = false;
    this.hints = null;
    this.kanji = localStorage.getItem("kanji") === "yes" && hasKanji();
  }

  /** Draws a position. `active`: whether moves can be made; `heat`: place -> {share, text}. */
  show(board, position, { active = false, heat = null } = {}) {
    const changed = JSON.stringify(this.position) !== JSON.stringify(position);
    if (changed || !active) this.chosen = null;
    if (this.board?.places.length !== board.places.length) this.focus = middle(board);
    Object.assign(this, { board, position, active, heat });
    this.draw();
  }

  draw() {
    const { board } = this;
    const had = this.root.contains(document.activeElement) && document.activeElement.dataset?.place;
    const [width, height] = extent(board);
    const tiles = board.shape === "tiles";
    const drawing = svg("svg", {
      viewBox: tiles ? "-110 -110 620 620" : `${-80} ${-70} ${width + 150} ${height + 140}`,
      class: `board ${board.shape} ${board.pieces}`,
      role: "group",
      "aria-label": tiles ? "Board. Arrow keys slide the tiles, and so does a swipe."
        : "Board. Arrow keys go from place to place, Enter makes the move.",
    });
    drawing.append(...this.background(), ...this.labels());
    board.places.forEach((_, place) => drawing.append(this.place(place)));
    this.root.replaceChildren(drawing);
    if (had !== undefined && had !== false && had !== null) this.at(this.focus)?.focus();
    drawing.addEventListener("keydown", (event) => this.key(event));
    if (tiles) this.swiped(drawing);
  }

  /** Slides where a finger or the mouse goes. */
  swiped(drawing) {
    let from = null;
    drawing.addEventListener("pointerdown", (event) => { from = [event.clientX, event.clientY]; });
    drawing.addEventListener("pointerup", (event) => {
      if (!from) return;
      const [x, y] = [event.clientX - from[0], event.clientY - from[1]];
      from = null;
      if (Math.max(Math.abs(x), Math.abs(y)) < 24) return;
      this.slide(Math.abs(x) > Math.abs(y) ? (x < 0 ? 0 : 2) : (y < 0 ? 1 : 3));
    });
  }

  /** Makes the move of an arrow, if it is legal: 0 left, 1 up, 2 right, 3 down. */
  slide(arrow) {
    const move = this.active && this.position.legal.find((one) => one.to === this.first + arrow);
    if (move) this.onMove(move.action);
  }

  /** The first place that is no square of the board but an arrow. */
  get first() {
    return this.board.rows * this.board.columns;
  }

  at(place) {
    return this.root.querySelector(`[data-place="${place}"]`);
  }

  /** The middle of a place. */
  spot(place) {
    const { rows, columns, shape } = this.board;
    if (place >= this.first) return ARROWS[place - this.first];
    const turn = this.flipped ? rows * columns - 1 - place : place;
    const row = Math.floor(turn / columns);
    const column = turn % columns;
    if (shape === "hexes") return [column * UNIT + row * (UNIT / 2) + 50, row * TALL + 50];
    return [column * UNIT + 50, row * UNIT + 50];
  }

  background() {
    const { board } = this;
    const [width, height] = extent(board);
    if (board.shape === "hexes") return this.sides();
    const wide = board.shape === "points" ? 24 : 6;
    const parts = [svg("rect", {
      class: "ground", x: -wide, y: -wide, width: width + 2 * wide, height: height + 2 * wide, rx: 10,
    })];
    if (board.shape === "points") {
      for (let i = 0; i < board.rows; i += 1) {
        const at = 50 + UNIT * i;
        const end = UNIT * (board.rows - 1) + 50;
        parts.push(svg("path", { class: "lines", d: `M50 ${at}H${end}M${at} 50V${end}` }));
      }
      for (const star of board.stars) {
        const [cx, cy] = this.spot(star);
        parts.push(svg("circle", { class: "star", cx, cy, r: 9 }));
      }
    }
    return parts;
  }

  /** The four sides of a Hex board, in the colour of who joins them. */
  sides() {
    const { rows, columns } = this.board;
    const corner = (row, column) => [column * UNIT + row * 50 + 50, row * TALL + 50];
    const far = 78;
    const [a, b] = [corner(0, 0), corner(0, columns - 1)];
    const [c, d] = [corner(rows - 1, columns - 1), corner(rows - 1, 0)];
    const out = ([x, y], dx, dy) => `${x + dx} ${y + dy}`;
    const centre = `${(a[0] + c[0]) / 2} ${(a[1] + c[1]) / 2}`;
    const four = [out(a, -far * 1.25, -far), out(b, far * 0.6, -far), out(c, far * 1.25, far),
      out(d, -far * 0.6, far)];
    return [
      svg("path", { class: "edge side0", d: `M${four[0]}L${four[1]}L${centre}Z` }),
      svg("path", { class: "edge side0", d: `M${four[2]}L${four[3]}L${centre}Z` }),
      svg("path", { class: "edge side1", d: `M${four[1]}L${four[2]}L${centre}Z` }),
      svg("path", { class: "edge side1", d: `M${four[3]}L${four[0]}L${centre}Z` }),
    ];
  }

  labels() {
    const { board } = this;
    const [, height] = extent(board);
    const size = Math.min(46, 32 * Math.max(1, board.rows / 12));
    const text = (x, y, label) => svg("text", {
      class: "label", x, y, "font-size": size, "text-anchor": "middle", "dominant-baseline": "central", "aria-hidden": true,
    }, label);
    const hex = board.shape === "hexes";
    const across = board.across.map((label, i) => {
      const [x] = this.spot(i);
      const [lowX] = this.spot((board.rows - 1) * board.columns + i);
      return hex ? text(this.flipped ? lowX + 24 : x - 24, -46, label) : text(x, height + 44, label);
    });
    if (hex && this.flipped) across.length = 0;
    const down = board.down.map((label, i) => {
      const [x, y] = this.spot(i * board.columns + (this.flipped ? board.columns - 1 : 0));
      return hex ? text(x - 112, y + 14, label) : text(board.shape === "points" ? -54 : -36, y, label);
    });
    return [...across, ...down];
  }

  place(place) {
    const { board, position } = this;
    const [x, y] = this.spot(place);
    const there = position.pieces[place];
    const legal = this.targets(place).length > 0;
    const starts = this.active && position.legal.some((move) => move.from === place);
    const still = board.shape === "tiles" && place < this.first;
    const group = svg("g", {
      transform: `translate(${x} ${y})`,
      "data-place": place,
      class: `place${legal ? " legal" : ""}${starts ? " starts" : ""}`,
      tabindex: still ? null : place === this.focus || place >= this.first ? 0 : -1,
      role: still ? "img" : "button",
      "aria-label": this.spoken(place, there, legal),
      "aria-pressed": this.chosen?.from === place ? "true" : null,
      onclick: () => this.press(place),
      onfocus: () => this.focused(place),
    });
    group.append(this.cell(place));
    this.marks(group, place);
    if (board.shape === "holes" && !there) group.append(svg("circle", { class: "hole", r: 41 }));
    if (there) group.append(piece(board, there[0], there[1], { kanji: this.kanji, turned: this.flipped }));
    if (position.last?.to === place) group.append(this.lastMark(there));
    const lands = this.targets(place).some((move) => move.to === place);
    if (lands && this.showsLegal()) group.append(svg("circle", { class: "dot", r: there ? 44 : 13 }));
    if (lands && !there && this.ghosts()) {
      const ghost = piece(board, this.ghostMark(), position.toPlay);
      ghost.classList.add("ghost");
      group.append(ghost);
    }
    this.hot(group, place);
    return group;
  }

  cell(place) {
    const { board } = this;
    if (place >= this.first) {
      const turn = `rotate(${ARROWS[place - this.first][2]})`;
      return svg("path", { class: "cell arrow", transform: turn, d: "M-34 0L22 -80V80Z" });
    }
    if (board.shape === "hexes") {
      const points = [[0, -57.7], [50, -28.9], [50, 28.9], [0, 57.7], [-50, 28.9], [-50, -28.9]];
      return svg("polygon", { class: "cell", points: points.map((p) => p.join(",")).join(" ") });
    }
    return svg("rect", {
      class: `cell${board.checkered ? (isDark(board, place) ? " dark" : " light") : ""}`,
      x: -50, y: -50, width: UNIT, height: UNIT, rx: board.shape === "tiles" ? 10 : null,
    });
  }

  marks(group, place) {
    const { position } = this;
    const last = position.last;
    if (last && this.board.shape === "squares" && (last.to === place || last.from === place)) {
      group.append(svg("rect", { class: "was", x: -50, y: -50, width: UNIT, height: UNIT }));
    }
    if (this.chosen?.from === place) {
      group.append(svg("rect", { class: "picked", x: -50, y: -50, width: UNIT, height: UNIT }));
    }
  }

  lastMark(there) {
    if (!there || this.board.shape === "squares") return svg("g");
    return svg("circle", { class: "last", r: 15 });
  }

  hot(group, place) {
    const heat = this.heat?.get(place);
    if (!heat) return;
    group.append(svg("circle", { class: "heat", r: 46, "fill-opacity": 0.12 + 0.8 * heat.share }));
    if (heat.text) group.append(svg("text", {
      class: `hot${heat.share > 0.35 ? " strong" : ""}`, "text-anchor": "middle",
      "dominant-baseline": "central", "font-size": heat.text.length > 4 ? 24 : 30,
    }, heat.text));
  }

  showsLegal() {
    if (this.chosen) return true;
    return this.hints ?? this.board.pieces === "discs";
  }

  ghosts() {
    return ["stones", "discs", "marks"].includes(this.board.pieces);
  }

  ghostMark() {
    return this.board.pieces === "marks" ? "xo"[this.position.toPlay] : "X";
  }

  spoken(place, there, legal) {
    const { board } = this;
    const words = [board.shape === "holes" ? `column ${(place % board.columns) + 1}, row ${
      board.rows - Math.floor(place / board.columns)}` : board.places[place]];
    if (place < this.first) words.push(there ? nameOf(board, there[0], there[1]) : "empty");
    if (this.position.last?.to === place) words.push("last move");
    if (this.chosen?.from === place) words.push("chosen");
    if (legal) words.push("legal move");
    const heat = this.heat?.get(place);
    if (heat?.text) words.push(heat.spoken ?? heat.text);
    return words.join(", ");
  }

  // -- choosing ------------------------------------------------------------

  /** Legal moves that a press on this place would make. */
  targets(place) {
    if (!this.active) return [];
    const { board, position, chosen } = this;
    return position.legal.filter((move) => {
      if (move.to === null || move.to === undefined) return false;
      if (board.shape === "holes") return move.to % board.columns === place % board.columns;
      if (move.drop) return chosen?.drop === move.drop && move.to === place;
      if (move.from !== undefined) return chosen?.from === move.from && move.to === place;
      return move.to === place;
    });
  }

  async press(place) {
    this.focus = place;
    if (!this.active) return;
    const moves = this.targets(place);
    if (moves.length) {
      const move = moves.length === 1 ? moves[0] : await choice(this.board, moves);
      this.chosen = null;
      if (move) this.onMove(move.action);
      else this.draw();
      return;
    }
    const starts = this.position.legal.some((move) => move.from === place);
    this.chosen = starts && this.chosen?.from !== place ? { from: place } : null;
    this.draw();
    this.at(place)?.focus();
  }

  /** Takes a piece from the hand. */
  take(letter) {
    this.chosen = this.chosen?.drop === letter ? null : { drop: letter };
    this.draw();
  }

  focused(place) {
    if (place === this.focus) return;
    this.at(this.focus)?.setAttribute("tabindex", "-1");
    this.focus = place;
    this.at(place)?.setAttribute("tabindex", "0");
  }

  key(event) {
    const { rows, columns, shape } = this.board;
    const arrow = KEYS.indexOf(event.key);
    if (shape === "tiles" && arrow >= 0) {
      this.slide(arrow);
      event.preventDefault();
      return;
    }
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (step) {
      const sign = this.flipped ? -1 : 1;
      const row = Math.floor(this.focus / columns) + sign * step[0];
      const column = (this.focus % columns) + sign * step[1];
      if (row >= 0 && row < rows && column >= 0 && column < columns) {
        this.at(row * columns + column).focus();
      }
    } else if (event.key === "Enter" || event.key === " ") this.press(this.focus);
    else if (event.key === "Escape") {
      this.chosen = null;
      this.draw();
      this.at(this.focus)?.focus();
    } else return;
    event.preventDefault();
  }
}

function extent({ rows, columns, shape }) {
  if (shape === "hexes") return [columns * UNIT + (rows - 1) * 50, (rows - 1) * TALL + 100];
  return [columns * UNIT, rows * UNIT];
}

function middle({ rows, columns, shape }) {
  if (shape === "tiles") return rows * columns;
  return Math.floor(rows / 2) * columns + Math.floor(columns / 2);
}

/** The left corner below is dark, as on every chess board. */
function isDark(board, place) {
  const fromBelow = board.rows - 1 - Math.floor(place / board.columns);
  return (fromBelow + (place % board.columns)) % 2 === 0;
}

/** Asks which of several moves to one place is meant; null: none. */
function choice(board, moves) {
  return new Promise((resolve) => {
    const box = el("dialog", { "aria-label": "What does the piece become?" });
    const done = (move) => () => {
      box.close();
      box.remove();
      resolve(move);
    };
    const named = (move) => {
      if (board.pieces !== "shogi") return CHOICES[move.becomes] ?? move.name;
      return move.becomes === "+" ? "Promote" : move.drop ? `Drop ${shogiName(board, move.drop)}` : "Do not promote";
    };
    box.append(el("p", {}, "What does the piece become?"), el("div", { class: "row" },
      moves.map((move) => el("button", { type: "button", class: "main", onclick: done(move) }, named(move))),
      el("button", { type: "button", onclick: done(null) }, "Neither")));
    box.addEventListener("cancel", done(null));
    document.body.append(box);
    box.showModal();
  });
}
