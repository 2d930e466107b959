// The tables of runs as the page holds them, and their rows against any axis.

/** A table with the rows that are new. */
export function merge(old, fresh) {
  const start = fresh.from;
  const columns = {};
  for (const [name, values] of Object.entries(fresh.columns)) {
    const before = start ? (old?.columns[name] || []).slice(0, start) : [];
    while (before.length < start) before.push(null);
    columns[name] = before.concat(values);
  }
  return { generation: fresh.generation, next: fresh.next, columns };
}

/** y at x of a rising curve, between its points. */
function between(xs, ys, x) {
  let low = 0;
  let high = xs.length - 1;
  if (high < 0) return null;
  if (x <= xs[0]) return xs[0] ? (ys[0] * x) / xs[0] : ys[0];
  if (x >= xs[high]) return ys[high];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (xs[middle] <= x) low = middle;
    else high = middle;
  }
  return ys[low] + ((ys[high] - ys[low]) * (x - xs[low])) / (xs[high] - xs[low]);
}

/** The x of every row of a table, against positions, updates, seconds or step. */
export function along(tables, table, against) {
  const steps = table.columns.step || [];
  if (against === "step") return steps;
  const [other, name] =
    against === "seconds" ? [tables.speed, "seconds/total"] : [tables.metrics, `run/${against}`];
  const known = other?.columns[name];
  if (!known) return steps.map(() => null);
  if (other === table) return known;
  return steps.map((step) => between(other.columns.step, known, step));
}

/** Running means; `share` is what is kept of the one before. */
export function smoothed(values, share) {
  let kept = null;
  return values.map((v) => {
    if (v === null || v === undefined) return null;
    kept = kept === null ? v : share * kept + (1 - share) * v;
    return kept;
  });
}
