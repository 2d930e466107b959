// Curves in SVG: axes, several series, intervals as bands, a read-out by mouse, touch and keys.

import { el, svg } from "./frame.js";

const TALL = 230;
const LOW = 190; // on a phone
const EDGE = { left: 52, right: 12, top: 8, bottom: 34 };

/** A number for an axis or a table: 0.0312, 4.2, 1,650, 12.3k, 4.1M. */
export function short(x) {
  if (x === null || x === undefined || !Number.isFinite(x)) return "–";
  const size = Math.abs(x);
  for (const [unit, letter] of [
    [1e9, "G"],
    [1e6, "M"],
    [1e4, "k"],
  ]) {
    const by = unit === 1e4 ? 1e3 : unit;
    if (size >= unit) return `${Number((x / by).toPrecision(3))}${letter}`;
  }
  if (size >= 1000) return Math.round(x).toLocaleString("en-US");
  if (size && size < 0.001) return x.toExponential(1);
  return String(Number(x.toPrecision(3)));
}

/** Seconds as people say them: 45 s, 12 min, 3.5 h. */
export function duration(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  if (seconds < 90) return `${Number(seconds.toPrecision(2))} s`;
  if (seconds < 5400) return `${Number((seconds / 60).toPrecision(2))} min`;
  if (seconds < 172800) return `${Number((seconds / 3600).toPrecision(2))} h`;
  return `${Number((seconds / 86400).toPrecision(2))} days`;
}

/** Round numbers from low to high, about `count`; powers of ten, and what lies between, if log. */
function ticks(low, high, count, log) {
  if (log) {
    const found = [];
    const decades = Math.log10(high / low);
    const within = decades < 1.2 ? [1, 2, 3, 5, 7] : decades < 3 ? [1, 2, 5] : [1];
    const every = Math.max(1, Math.ceil(decades / count));
    for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high); e += every)
      for (const m of within) {
        const x = m * 10 ** e;
        if (x >= low * 0.999 && x <= high * 1.001) found.push(x);
      }
    return found;
  }
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find((m) => m * power >= raw * 0.999);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++)
    found.push(i * step);
  return found;
}

function range(values, log) {
  let low = Infinity;
  let high = -Infinity;
  for (const v of values) {
    if (v === null || !Number.isFinite(v) || (log && v <= 0)) continue;
    if (v < low) low = v;
    if (v > high) high = v;
  }
  if (low > high) return log ? [0.1, 1] : [0, 1];
  if (log) return low === high ? [low / 2, high * 2] : [low, high];
  const room = (high - low) * 0.05 || Math.abs(high) * 0.1 || 1;
  // A curve that starts at zero keeps zero as its floor.
  return [low >= 0 && low - room < 0 ? 0 : low - room, high + room];
}

/**
 * A plot in `host`. `draw` shows: {title, x: name, y: name, log, xFormat, zero, mark,
 * series: [{label, colour, dash, x, y, low, high, faint, dots}]}; x rises, y may have nulls.
 */
export function plot(host) {
  const read = el("p", { class: "plot-read small" });
  const canvas = svg("svg", { class: "plot", tabindex: 0, role: "img" });
  host.append(canvas, read);
  let shown = null;
  let scale = null;
  let cursor = null;

  function across(value) {
    return EDGE.left + (scale.wide * (value - scale.x[0])) / (scale.x[1] - scale.x[0]);
  }
  function up(value) {
    const [low, high] = scale.y;
    const share = shown.log
      ? Math.log(value / low) / Math.log(high / low)
      : (value - low) / (high - low);
    return EDGE.top + scale.tall * (1 - share);
  }
  function good(v) {
    return v !== null && v !== undefined && Number.isFinite(v) && (!shown.log || v > 0);
  }

  function axes() {
    const parts = [];
    const bottom = EDGE.top + scale.tall;
    for (const y of ticks(...scale.y, 5, shown.log)) {
      const at = up(y);
      parts.push(
        svg("line", {
          class: "grid",
          x1: EDGE.left,
          x2: EDGE.left + scale.wide,
          y1: at,
          y2: at,
        }),
        svg("text", { x: EDGE.left - 6, y: at + 4, "text-anchor": "end" }, short(y)),
      );
    }
    const wanted = Math.max(2, Math.floor(scale.wide / 50));
    for (const x of ticks(...scale.x, wanted, false)) {
      const at = across(x);
      parts.push(
        svg("line", { class: "tick", x1: at, x2: at, y1: bottom, y2: bottom + 4 }),
        svg(
          "text",
          { x: at, y: bottom + 17, "text-anchor": "middle" },
          (shown.xFormat || short)(x),
        ),
      );
    }
    parts.push(
      svg("line", {
        class: "axis",
        x1: EDGE.left,
        x2: EDGE.left + scale.wide,
        y1: bottom,
        y2: bottom,
      }),
      svg(
        "text",
        {
          class: "name",
          x: EDGE.left + scale.wide,
          y: scale.height - 2,
          "text-anchor": "end",
        },
        shown.x,
      ),
    );
    if (shown.zero !== undefined && shown.zero >= scale.y[0] && shown.zero <= scale.y[1])
      parts.push(
        svg("line", {
          class: "zero",
          x1: EDGE.left,
          x2: EDGE.left + scale.wide,
          y1: up(shown.zero),
          y2: up(shown.zero),
        }),
      );
    return parts;
  }

  function curve(s) {
    const points = s.x
      .map((x, i) => [x, s.y[i], s.low?.[i], s.high?.[i]])
      .filter(([x, y]) => Number.isFinite(x) && good(y));
    const parts = [];
    const band = points.filter(([, , low, high]) => good(low) && good(high));
    if (band.length > 1) {
      const path = [
        ...band.map(([x, , , high]) => `${across(x).toFixed(1)} ${up(high).toFixed(1)}`),
        ...band.reverse().map(([x, , low]) => `${across(x).toFixed(1)} ${up(low).toFixed(1)}`),
      ];
      parts.push(svg("path", { d: `M${path.join("L")}Z`, fill: s.colour, "fill-opacity": 0.16 }));
    } else if (band.length) {
      const [x, , low, high] = band[0];
      parts.push(
        svg("line", {
          x1: across(x),
          x2: across(x),
          y1: up(low),
          y2: up(high),
          stroke: s.colour,
        }),
      );
    }
    const path = points.map(([x, y]) => `${across(x).toFixed(1)} ${up(y).toFixed(1)}`);
    if (path.length > 1)
      parts.push(
        svg("path", {
          d: `M${path.join("L")}`,
          fill: "none",
          stroke: s.colour,
          "stroke-width": s.faint ? 1 : 1.8,
          "stroke-opacity": s.faint ? 0.3 : 1,
          "stroke-dasharray": s.dash || null,
          "stroke-linejoin": "round",
        }),
      );
    if (!s.faint && (points.length === 1 || (s.dots && points.length < 40)))
      parts.push(
        ...points.map(([x, y]) =>
          svg("circle", { cx: across(x), cy: up(y), r: 2.6, fill: s.colour }),
        ),
      );
    return parts;
  }

  /** The point of a series next to x; that before if x is Infinity; -1: it has none. */
  function near(s, x) {
    let best = -1;
    for (let i = 0; i < s.x.length; i++)
      if (good(s.y[i]) && (best < 0 || Math.abs(s.x[i] - x) <= Math.abs(s.x[best] - x))) best = i;
    return best;
  }

  /** The values where the cursor is, or the last ones. */
  function point() {
    canvas.querySelectorAll(".cursor").forEach((each) => each.remove());
    read.replaceChildren();
    if (!shown) return;
    const at = cursor === null ? Infinity : cursor;
    const seen = shown.series
      .filter((s) => !s.faint)
      .map((s) => [s, near(s, at)])
      .filter(([, i]) => i >= 0);
    if (!seen.length) return;
    if (cursor !== null) {
      const x = seen
        .map(([s, i]) => s.x[i])
        .reduce((a, b) => (Math.abs(b - at) < Math.abs(a - at) ? b : a));
      canvas.append(
        svg("line", {
          class: "cursor",
          x1: across(x),
          x2: across(x),
          y1: EDGE.top,
          y2: EDGE.top + scale.tall,
        }),
      );
      read.append(el("span", { class: "faint" }, `${shown.x} ${(shown.xFormat || short)(x)}: `));
    }
    for (const [s, i] of seen) {
      if (cursor !== null)
        canvas.append(
          svg("circle", {
            class: "cursor",
            cx: across(s.x[i]),
            cy: up(s.y[i]),
            r: 4,
            fill: s.colour,
          }),
        );
      const range = good(s.low?.[i]) ? ` (${short(s.low[i])} to ${short(s.high[i])})` : "";
      const swatch = el("i", { class: "swatch", style: `background:${s.colour}` });
      read.append(
        el("span", { class: "plot-value" }, swatch, `${s.label} ${short(s.y[i])}${range}`),
      );
    }
  }

  function draw(what) {
    if (what) shown = what;
    if (!shown) return;
    const width = Math.max(240, host.clientWidth || 320);
    const strong = shown.series.filter((s) => !s.faint);
    const some = strong.length ? strong : shown.series;
    const height = width < 345 ? LOW : TALL;
    scale = {
      height,
      wide: width - EDGE.left - EDGE.right,
      tall: height - EDGE.top - EDGE.bottom,
      x:
        shown.xRange ||
        range(
          some.flatMap((s) => s.x.filter((_, i) => s.y[i] !== null)),
          false,
        ),
      y:
        shown.yRange ||
        range(
          some
            .flatMap((s) => [...s.y, ...(s.low || []), ...(s.high || [])])
            .concat(shown.zero === undefined || shown.log ? [] : [shown.zero]),
          shown.log,
        ),
    };
    canvas.setAttribute("width", width);
    canvas.setAttribute("height", height);
    const last = strong.map((s) => `${s.label} ${short(s.y.findLast((v) => good(v)))}`);
    canvas.setAttribute(
      "aria-label",
      `${shown.title}, against ${shown.x}. Last: ${last.join(", ") || "nothing yet"}`,
    );
    canvas.replaceChildren(...axes(), ...shown.series.flatMap(curve));
    if (shown.mark !== undefined)
      canvas.append(
        svg("line", {
          class: "mark",
          x1: across(shown.mark),
          x2: across(shown.mark),
          y1: EDGE.top,
          y2: EDGE.top + scale.tall,
        }),
      );
    point();
  }

  function value(event) {
    const left = canvas.getBoundingClientRect().left;
    return (
      scale.x[0] + ((event.clientX - left - EDGE.left) / scale.wide) * (scale.x[1] - scale.x[0])
    );
  }
  canvas.addEventListener("pointermove", (event) => {
    if (scale) {
      cursor = value(event);
      point();
    }
  });
  canvas.addEventListener("pointerdown", (event) => {
    if (!scale) return;
    cursor = value(event);
    point();
    shown.onpick?.(cursor);
  });
  canvas.addEventListener("pointerleave", () => {
    cursor = null;
    point();
  });
  canvas.addEventListener("blur", () => {
    cursor = null;
    read.removeAttribute("aria-live");
    point();
  });
  canvas.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: 10, PageDown: -10 }[event.key];
    const all = shown
      ? [
          ...new Set(
            shown.series.filter((s) => !s.faint).flatMap((s) => s.x.filter((_, i) => good(s.y[i]))),
          ),
        ].sort((a, b) => a - b)
      : [];
    if (!all.length || (by === undefined && !["Home", "End"].includes(event.key))) return;
    event.preventDefault();
    let i =
      cursor === null
        ? by < 0 || event.key === "End"
          ? all.length
          : -1
        : all.reduce(
            (best, x, at) => (Math.abs(x - cursor) < Math.abs(all[best] - cursor) ? at : best),
            0,
          );
    i = event.key === "Home" ? 0 : event.key === "End" ? all.length - 1 : i + by;
    cursor = all[Math.min(all.length - 1, Math.max(0, i))];
    read.setAttribute("aria-live", "polite"); // only now: new points are not to be read aloud
    point();
    shown.onpick?.(cursor);
  });
  new ResizeObserver(() => draw()).observe(host);
  return { draw, element: host };
}
