// Small drawings: phases of Sequential Halving, depths, the value along a game.

import { el, svg } from "./frame.js";

const PHASES = ["#b9d3ea", "#7fb0d8", "#3f86bd", "#1f5a8c", "#e08a2e", "#b55d11"];

function text(x, y, content, attributes = {}) {
  return svg("text", { x, y, ...attributes }, String(content));
}

/** Visits of every considered action, a colour a phase, as figure 1 of the Gumbel paper. */
export function phaseChart(phases, names) {
  const actions = phases[0].visits.map(([action]) => action);
  const given = phases.map((phase) => new Map(phase.visits));
  const total = (action) => given.reduce((sum, phase) => sum + (phase.get(action) ?? 0), 0);
  const most = Math.max(1, ...actions.map(total));
  const [left, base, high] = [30, 150, 130];
  const gap = Math.max(22, Math.min(48, 520 / actions.length));
  const wide = left + gap * actions.length + 8;
  const chart = svg("svg", { viewBox: `0 0 ${wide} 176`, class: "chart",
    style: `max-width:${wide * 1.3}px;min-width:${Math.min(420, wide)}px`,
    role: "img", "aria-label": `Visits in ${phases.length} phases; ${actions.map((a) =>
      `${names.get(a)} ${total(a)}`).join(", ")}` });
  for (const share of most < 2 ? [0, 1] : [0, 0.5, 1]) {
    const y = base - high * share;
    chart.append(svg("path", { class: "gridline", d: `M${left} ${y}H${wide - 8}` }),
      text(left - 4, y, Math.round(most * share), { "text-anchor": "end", "dominant-baseline": "central" }));
  }
  actions.forEach((action, i) => {
    let floor = base;
    given.forEach((phase, number) => {
      const height = high * (phase.get(action) ?? 0) / most;
      floor -= height;
      chart.append(svg("rect", { x: left + i * gap + 2, y: floor, width: gap - 4, height,
        fill: PHASES[number % PHASES.length] }));
    });
    const middle = left + (i + 0.5) * gap;
    chart.append(text(middle, base + 12, names.get(action), { "text-anchor": "middle" }),
      text(middle, floor - 4, total(action), { "text-anchor": "middle" }));
  });
  return chart;
}

/** The phases in words: who was considered, visits given, who fell out. */
export function phaseList(phases, names) {
  return el("ol", { class: "phases" }, phases.map((phase, number) => {
    const out = phase.out.map((action) => names.get(action));
    const each = [...new Set(phase.visits.map(([, visits]) => visits))].join(" or ");
    return el("li", {},
      el("span", { class: "swatch", style: `background:${PHASES[number % PHASES.length]}` }),
      `${phase.considered} considered, ${phase.simulations} of ${phase.planned} simulations, ${each} each`,
      out.length ? el("span", { class: "faint" }, `; out: ${out.join(" ")}`) : null);
  }));
}

/** How many simulations ended at each depth. */
export function depthChart(depths) {
  const most = Math.max(1, ...depths);
  const shown = depths.slice(1);
  const gap = Math.max(16, Math.min(34, 420 / shown.length));
  const wide = 30 + gap * shown.length + 8;
  const chart = svg("svg", { viewBox: `0 0 ${wide} 100`, class: "chart", style: `max-width:${wide * 1.3}px`,
    role: "img", "aria-label": `Simulations by depth: ${shown.map((n, i) => `${i + 1}: ${n}`).join(", ")}` });
  shown.forEach((count, i) => {
    const height = 62 * count / most;
    const x = 30 + i * gap;
    chart.append(svg("rect", { class: "bar", x: x + 2, y: 78 - height, width: gap - 4, height }),
      text(x + gap / 2, 90, i + 1, { "text-anchor": "middle" }),
      text(x + gap / 2, 74 - height, count || "", { "text-anchor": "middle" }));
  });
  chart.append(svg("path", { class: "gridline", d: `M30 78H${wide - 8}` }),
    text(28, 90, "depth", { "text-anchor": "end" }));
  return chart;
}

/** Values of the positions of a game, as the first player sees them; `look(ply)` on a press. */
export function valueChart(points, plies, here, look) {
  const wide = 300;
  const x = (ply) => 24 + (wide - 30) * ply / Math.max(1, plies);
  const most = Math.max(1, ...points.map(([, value]) => Math.abs(value))); // points, of one alone
  const y = (value) => 50 - 42 * value / most;
  const line = points.map(([ply, value]) => `${x(ply).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
  const chart = svg("svg", { viewBox: `0 0 ${wide} 100`, class: "graph", role: "img",
    "aria-label": `Value along the game: ${points.map(([ply, v]) => `${ply}: ${v.toFixed(2)}`).join(", ")}` },
  ...(most > 1 ? [most, 0] : [1, 0, -1]).flatMap((v) => [
    svg("path", { class: "gridline", d: `M24 ${y(v)}H${wide - 6}` }),
    text(20, y(v), Math.round(v), { "text-anchor": "end", "dominant-baseline": "central" })]),
  svg("path", { class: "here", d: `M${x(here)} 6V94` }),
  svg("polyline", { class: "curve", points: line }),
  ...points.map(([ply, value]) => svg("circle", { class: "dotted", cx: x(ply), cy: y(value), r: 2.2 })));
  chart.addEventListener("click", (event) => {
    const box = chart.getBoundingClientRect();
    const at = (event.clientX - box.left) / box.width * wide;
    look(Math.max(0, Math.min(plies, Math.round((at - 24) / (wide - 30) * plies))));
  });
  return chart;
}
