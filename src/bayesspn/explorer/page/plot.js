// Plots of columns without categories: steps with a band, and a way to choose cells of them.

import { cellsEntry, finiteCells, place, show, ticks } from "./axis.js";
import { draw, percent } from "./elements.js";

const [WIDTH, HEIGHT, FLOOR] = [300, 96, 80];

/** A plot that calls back with what is chosen in it. */
export class NumberPlot {
  constructor(column, choose) {
    this.column = column;
    this.choose = choose;
    this.cells = finiteCells(column);
    this.left = this.cells[0][1];
    this.right = this.cells.at(-1)[2];
    this.cursor = null; // cells under the keyboard's cursor: [anchor, end]
    this.layer = draw("g");
    this.mark = draw("rect", { class: "cursor", y: 2, height: FLOOR - 2, visibility: "hidden" });
    this.svg = draw(
      "svg",
      {
        viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
        tabindex: 0,
        role: "img",
        onpointerdown: (event) => this.press(event),
        onpointermove: (event) => this.move(event),
        onpointerup: (event) => this.release(event),
        onpointercancel: () => this.drop(),
        onkeydown: (event) => this.key(event),
        onblur: () => this.drop(),
      },
      this.layer,
      this.mark,
    );
  }

  x(value) {
    return (WIDTH * (value - this.left)) / (this.right - this.left);
  }

  heights(shares) {
    return this.cells.map(([index, left, right]) => shares[index] / (right - left));
  }

  steps(heights, top) {
    const y = (height) => FLOOR - (FLOOR - 4) * Math.min(height / top, 1);
    return this.cells
      .map(([, left, right], k) => `${this.x(left)},${y(heights[k])} ${this.x(right)},${y(heights[k])}`)
      .join(" ");
  }

  /** Draw an answer, the answer when nothing is given, and what is known of the column itself. */
  update(answer, before, entry, summary) {
    const low = this.heights(answer.low);
    const high = this.heights(answer.high);
    const middle = this.heights(answer.probability);
    const earlier = this.heights(before.probability);
    const exact = entry?.kind === "value";
    const top = Math.max(...earlier, ...(exact ? [] : [...high, ...middle])) || 1;
    const parts = [];
    if (entry?.kind === "range") parts.push(this.chosen(entry));
    if (!exact) {
      const back = this.steps(low, top).split(" ").reverse().join(" ");
      parts.push(draw("polygon", { class: "band", points: `${this.steps(high, top)} ${back}` }));
    }
    parts.push(draw("polyline", { class: "before", points: this.steps(earlier, top) }));
    if (exact) {
      const x = this.x(place(this.column, entry.value));
      if (Number.isFinite(x)) parts.push(draw("line", { class: "value", x1: x, x2: x, y1: 2, y2: FLOOR }));
    } else {
      parts.push(draw("polyline", { class: "answer", points: this.steps(middle, top) }));
    }
    parts.push(draw("line", { class: "axis", x1: 0, x2: WIDTH, y1: FLOOR, y2: FLOOR }));
    for (const value of ticks(this.column, this.left, this.right)) {
      const x = this.x(value);
      const anchor = x < 16 ? "start" : x > WIDTH - 16 ? "end" : "middle";
      parts.push(draw("text", { x, y: HEIGHT - 3, "text-anchor": anchor }, show(this.column, value)));
    }
    parts.push(...this.beyond(answer));
    this.layer.replaceChildren(...parts);
    this.svg.setAttribute("aria-label", summary);
  }

  /** How much lies outside of what is shown. */
  beyond(answer) {
    const shown = new Set(this.cells.map(([index]) => index));
    const first = this.cells[0][0];
    let [below, above] = [0, 0];
    answer.probability.forEach((share, index) => {
      if (!shown.has(index)) index < first ? (below += share) : (above += share);
    });
    const notes = [];
    if (below > 0.01) notes.push(draw("text", { x: 2, y: 10 }, `← ${percent(below)}`));
    if (above > 0.01) {
      notes.push(draw("text", { x: WIDTH - 2, y: 10, "text-anchor": "end" }, `${percent(above)} →`));
    }
    return notes;
  }

  chosen(entry) {
    const ends = [entry.low, entry.high].map((text) => (text ? this.x(place(this.column, text)) : NaN));
    const left = Number.isFinite(ends[0]) ? Math.max(0, ends[0]) : 0;
    const right = Number.isFinite(ends[1]) ? Math.min(WIDTH, ends[1]) : WIDTH;
    return draw("rect", {
      class: "chosen", x: Math.min(left, right), y: 0, width: Math.max(2, right - left), height: FLOOR,
    });
  }

  cellAt(event) {
    const box = this.svg.getBoundingClientRect();
    const value = this.left + ((event.clientX - box.left) / box.width) * (this.right - this.left);
    const found = this.cells.findIndex(([, , right]) => value < right);
    return found < 0 ? this.cells.length - 1 : found;
  }

  press(event) {
    if (event.button !== 0) return;
    const cell = this.cellAt(event);
    this.dragged = [cell, cell];
    this.svg.setPointerCapture(event.pointerId);
    this.showMark(this.dragged);
  }

  move(event) {
    if (!this.dragged) return;
    this.dragged[1] = this.cellAt(event);
    this.showMark(this.dragged);
  }

  release(event) {
    if (!this.dragged) return;
    const chosen = this.dragged;
    this.drop();
    this.commit(chosen);
    event.preventDefault();
  }

  drop() {
    this.dragged = null;
    this.cursor = null;
    this.mark.setAttribute("visibility", "hidden");
  }

  commit([anchor, end]) {
    const [first, last] = [Math.min(anchor, end), Math.max(anchor, end)];
    this.choose(cellsEntry(this.column, this.cells, first, last));
  }

  key(event) {
    const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
    if (step !== undefined) {
      const last = this.cells.length - 1;
      const [anchor, end] = this.cursor ?? [last >> 1, (last >> 1) - step];
      const moved = Math.max(0, Math.min(last, end + step));
      this.cursor = [event.shiftKey && this.cursor ? anchor : moved, moved];
      this.showMark(this.cursor);
    } else if ((event.key === "Enter" || event.key === " ") && this.cursor) {
      this.commit(this.cursor);
    } else if (event.key === "Escape") {
      this.drop();
      this.choose(null);
    } else {
      return;
    }
    event.preventDefault();
  }

  showMark([anchor, end]) {
    const [left, right] = [this.cells[Math.min(anchor, end)][1], this.cells[Math.max(anchor, end)][2]];
    this.mark.setAttribute("x", this.x(left));
    this.mark.setAttribute("width", Math.max(1, this.x(right) - this.x(left)));
    this.mark.setAttribute("visibility", "visible");
  }
}
