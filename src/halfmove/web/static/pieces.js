// Stones, discs and figures in a box of 100 by 100, all drawn here: no font is needed.

import { svg } from "./frame.js";

const BASE = "M25 74H75V84H25Z";
const FIGURES = {
  p: ["M50 44C40 50 39 62 34 74H66C61 62 60 50 50 44Z", "M50 20A13.5 13.5 0 1 1 49.9 20Z"],
  r: ["M29 22H40V31H46V22H54V31H60V22H71V41L63 47V66L69 74H31L37 66V47L29 41Z"],
  n: ["M33 74C34 58 47 55 47 45C40 47 35 54 28 51C23 47 26 42 31 36C36 29 37 26 43 24L45 16L52 23"
    + "C67 26 73 44 69 74Z"],
  b: ["M50 21C39 31 33 41 36 51C38 57 43 58 44 61L37 74H63L56 61C57 58 62 57 64 51C67 41 61 31 50 21Z",
    "M50 11A4.5 4.5 0 1 1 49.9 11Z"],
  q: ["M25 33L35 60L33 74H67L65 60L75 33L61 50L56 25L50 48L44 25L39 50Z",
    "M25 26A4 4 0 1 1 24.9 26ZM44 17A4 4 0 1 1 43.9 17ZM56 17A4 4 0 1 1 55.9 17ZM75 26A4 4 0 1 1 74.9 26Z"],
  k: ["M50 35C60 26 77 32 73 47C71 55 64 58 64 64L67 74H33L36 64C36 58 29 55 27 47C23 32 40 26 50 35Z",
    "M47 11H53V17H59V23H53V31H47V23H41V17H47Z"],
};
const LINES = {
  n: "M44 34L46 33", b: "M50 33V46M44 39H56", r: "M37 47H63", k: "M50 35V62M37 66H63", q: "M36 62H64",
};
const CHESS = { p: "pawn", r: "rook", n: "knight", b: "bishop", q: "queen", k: "king" };
const SHOGI = {
  P: "pawn", L: "lance", N: "knight", S: "silver", G: "gold", B: "bishop", R: "rook", K: "king",
};
const ANIMALS = { L: "lion", G: "giraffe", E: "elephant", C: "chick", H: "hen" };
const KANJI = {
  P: "歩", L: "香", N: "桂", S: "銀", G: "金", B: "角", R: "飛", K: "玉",
  "+P": "と", "+L": "杏", "+N": "圭", "+S": "全", "+B": "馬", "+R": "龍",
};

/** Whether a font here has Japanese letters: two that are missing look the same. */
export function hasKanji() {
  const drawn = ["歩", "銀"].map((letter) => {
    const canvas = Object.assign(document.createElement("canvas"), { width: 32, height: 32 });
    const pen = canvas.getContext("2d");
    pen.font = "24px sans-serif";
    pen.fillText(letter, 2, 26);
    return pen.getImageData(0, 0, 32, 32).data.join();
  });
  return drawn[0] !== drawn[1];
}

/** What a piece is called, for people who listen: "white knight". */
export function nameOf(board, mark, side) {
  const colour = board.colours[side];
  if (board.pieces === "numbers") return mark;
  if (board.pieces === "chess") return `${colour} ${CHESS[mark.toLowerCase()]}`;
  if (board.pieces !== "shogi") return board.pieces === "marks" ? colour : `${colour} ${
    board.pieces === "discs" ? "disc" : "stone"}`;
  return `${colour} ${shogiName(board, mark)}`;
}

export function shogiName(board, mark) {
  const letter = mark.replace("+", "").toUpperCase();
  const names = board.columns === 3 ? ANIMALS : SHOGI;
  return (mark.includes("+") ? "promoted " : "") + (names[letter] ?? letter);
}

/** A piece as a group in a box of 100 by 100 around (0, 0). */
export function piece(board, mark, side, { kanji = false, turned = false } = {}) {
  const middle = svg("g", { class: `piece side${side}`, transform: "translate(-50 -50)" });
  if (board.pieces === "stones") middle.append(svg("circle", { cx: 50, cy: 50, r: stoneSize(board) }));
  else if (board.pieces === "discs") middle.append(svg("circle", { cx: 50, cy: 50, r: 41 }));
  else if (board.pieces === "marks") middle.append(mark.toLowerCase() === "x"
    ? svg("path", { class: "stroke", d: "M26 26L74 74M74 26L26 74" })
    : svg("circle", { class: "stroke", cx: 50, cy: 50, r: 27 }));
  else if (board.pieces === "numbers") middle.append(...number(mark));
  else if (board.pieces === "chess") middle.append(...figure(mark.toLowerCase()));
  else middle.append(...tile(board, mark, kanji));
  if (board.pieces !== "shogi") return svg("g", {}, middle);
  const upside = (side === 1) !== turned;
  return svg("g", { transform: upside ? "rotate(180)" : null }, middle);
}

/** A tile of 2048: the larger, the hotter. */
function number(mark) {
  const heat = Math.min(1, Math.log2(Number(mark)) / 11);
  return [
    svg("rect", { class: "tile", x: 4, y: 4, width: 92, height: 92, rx: 8,
      style: `fill:hsl(${48 - 40 * heat} ${30 + 60 * heat}% ${86 - 40 * heat}%)` }),
    svg("text", { x: 50, y: 52, class: heat > 0.6 ? "hot" : null, "text-anchor": "middle",
      "dominant-baseline": "central", "font-size": [44, 44, 38, 30, 25, 21][mark.length - 1] }, mark),
  ];
}

function stoneSize(board) {
  return board.shape === "hexes" ? 38 : 47;
}

function figure(letter) {
  const parts = [BASE, ...FIGURES[letter]].map((d) => svg("path", { d }));
  if (LINES[letter]) parts.push(svg("path", { class: "inner", d: LINES[letter] }));
  return parts;
}

function tile(board, mark, kanji) {
  const letter = mark.toUpperCase();
  const text = kanji && board.columns === 9 ? KANJI[letter] : letter;
  return [
    svg("path", { class: "tile", d: "M50 8L78 21L88 90H12L22 21Z" }),
    svg("text", {
      x: 50, y: 56, class: mark.includes("+") ? "promoted" : null,
      "font-size": text.length > 1 ? 38 : 46,
      "text-anchor": "middle", "dominant-baseline": "central",
    }, text),
  ];
}
