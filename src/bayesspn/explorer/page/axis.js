// Values along the axis of a column: where cells are, how values are written and read back.

const TIMES = ["datetime", "duration"];

/** Whether a column has categories. */
export function isNamed(column) {
  return column.labels !== undefined;
}

/** The finite cells of a column as [index, left, right] on the axis. */
export function finiteCells(column) {
  const half = column.kind === "count" ? 0.5 : 0;
  const cells = [];
  column.low.forEach((low, index) => {
    const high = column.high[index];
    if (low !== null && high !== null) cells.push([index, low - half, high + half]);
  });
  return cells;
}

function number(value) {
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e7 || size < 1e-4)) return value.toPrecision(3);
  return String(Number(value.toPrecision(size >= 1000 ? 7 : 4)));
}

/** A value on the axis for people to read. */
export function show(column, value) {
  if (column.kind === "datetime") return new Date(1000 * value).toISOString().slice(0, 10);
  if (column.kind === "duration") {
    const size = Math.abs(value);
    if (size >= 172_800) return `${number(value / 86_400)} d`;
    if (size >= 7_200) return `${number(value / 3_600)} h`;
    return size >= 120 ? `${number(value / 60)} min` : `${number(value)} s`;
  }
  return number(value);
}

function write(column, value) {
  if (column.kind === "datetime") {
    const text = new Date(1000 * value).toISOString().replace("T", " ").replace("Z", "");
    return column.zone ? `${text}+00:00` : text;
  }
  return column.kind === "duration" ? `${value} seconds` : String(value);
}

/** The entry for a value in some cells next to each other. */
export function cellsEntry(column, cells, first, last) {
  let low = cells[first][1];
  let high = cells[last][2];
  if (!TIMES.includes(column.kind) && column.kind !== "real") {
    [low, high] = [Math.ceil(low), Math.floor(high)]; // whole numbers inside
    if (low === high) return { kind: "value", value: String(low) };
  }
  return { kind: "range", low: write(column, low), high: write(column, high) };
}

/** An entry in words. */
export function tell(column, entry) {
  if (entry.kind === "missing") return "missing";
  if (entry.kind === "codes") {
    return entry.codes.map((code) => column.labels?.[code] ?? "?").join(" or ").slice(0, 120);
  }
  if (entry.kind === "value") return `= ${entry.value}`.slice(0, 120);
  if (entry.low && entry.high) return `${entry.low} to ${entry.high}`;
  return entry.low ? `from ${entry.low}` : `up to ${entry.high}`;
}

/** A value that was typed or chosen, on the axis; NaN if it cannot be told here. */
export function place(column, text) {
  if (column.kind === "datetime") {
    const iso = text.trim().replace(" ", "T");
    return Date.parse(/[zZ]|[+-]\d\d:?\d\d$/.test(iso) ? iso : `${iso}${iso.includes("T") ? "" : "T00:00"}Z`) / 1000;
  }
  if (column.kind === "duration") {
    const found = /^(-?[\d.]+) seconds$/.exec(text);
    return found ? Number(found[1]) : NaN;
  }
  return text.trim() === "" ? NaN : Number(text);
}

/** Value below which a share of the probability lies, within cells taken as even. */
export function quantile(column, shares, level) {
  let below = 0;
  for (const [index, probability] of shares.entries()) {
    if (below + probability >= level) {
      const [low, high] = [column.low[index], column.high[index]];
      if (low === null || high === null) return low ?? high;
      const half = column.kind === "count" ? 0.5 : 0;
      const inside = low - half + ((level - below) / probability) * (high - low + 2 * half);
      return column.kind === "count" || column.kind === "integer" ? Math.round(inside) : inside;
    }
    below += probability;
  }
  return column.high.findLast((end) => end !== null);
}

/** A few round values within a range. */
export function ticks(column, left, right) {
  const unit = { datetime: 86_400, duration: 3_600 }[column.kind] ?? 1;
  const rough = (right - left) / 5 / unit;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = unit * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power;
  const places = [];
  for (let value = Math.ceil(left / step) * step; value <= right && places.length < 8; value += step) {
    places.push(value);
  }
  return places;
}
