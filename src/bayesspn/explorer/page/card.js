// One card per column: its plot, what is known of it, and boxes to type in.

import { isNamed, quantile, show } from "./axis.js";
import { make, percent } from "./elements.js";
import { NumberPlot } from "./plot.js";

const SHOWN = 8; // categories before the rest is asked for
const MOST = 300;

/** Bars of categories, which are buttons. */
class Bars {
  constructor(column, before, toggle) {
    this.column = column;
    const order = [...column.labels.keys()];
    if (order.length > SHOWN) order.sort((a, b) => before.probability[b] - before.probability[a]);
    this.order = order.slice(0, MOST);
    this.bars = new Map();
    this.list = make("ul", { class: "bars" });
    for (const [place, code] of this.order.entries()) {
      const parts = {
        share: make("span", { class: "share" }),
        fill: make("span", { class: "fill" }),
        spread: make("span", { class: "spread" }),
        earlier: make("span", { class: "earlier" }),
      };
      parts.button = make(
        "button",
        { type: "button", "data-code": code, "aria-pressed": "false", onclick: () => toggle(code) },
        make("bdi", { title: column.labels[code] }, column.labels[code]),
        parts.share,
        make("span", { class: "track" }, parts.spread, parts.fill, parts.earlier),
      );
      parts.item = make("li", { hidden: place >= SHOWN }, parts.button);
      this.bars.set(code, parts);
      this.list.append(parts.item);
    }
    this.more = null;
    if (this.order.length > SHOWN) {
      const rest = column.labels.length > MOST ? `the first ${MOST}` : `all ${column.labels.length}`;
      this.more = make("button", { type: "button", "aria-expanded": "false", onclick: () => this.expand() }, `Show ${rest}`);
    }
  }

  expand() {
    const open = this.more.getAttribute("aria-expanded") !== "true";
    this.more.setAttribute("aria-expanded", String(open));
    this.more.textContent = open ? "Show fewer" : `Show all ${this.column.labels.length}`;
    this.order.forEach((code, place) => {
      this.bars.get(code).item.hidden = !open && place >= SHOWN;
    });
  }

  update(answer, before, entry) {
    const chosen = new Set(entry?.kind === "codes" ? entry.codes : []);
    const expanded = this.more?.getAttribute("aria-expanded") === "true";
    for (const [place, code] of this.order.entries()) {
      const parts = this.bars.get(code);
      const [value, low, high] = [answer.probability[code], answer.low[code], answer.high[code]];
      parts.share.textContent = percent(value);
      parts.share.title = `${percent(low)} to ${percent(high)}`;
      parts.fill.style.width = `${100 * value}%`;
      parts.spread.style.left = `${100 * low}%`;
      parts.spread.style.width = `${100 * (high - low)}%`;
      parts.earlier.style.left = `${100 * before.probability[code]}%`;
      parts.button.setAttribute("aria-pressed", String(chosen.has(code)));
      parts.item.hidden = !expanded && place >= SHOWN && !chosen.has(code);
    }
  }
}

/** The card of a column. */
export class Card {
  /**
   * @param {object} column as the server describes it
   * @param {number} position of the column
   * @param {object} before the answer when nothing is given
   * @param {function} choose is called with what is given of the column now, or null to forget it
   */
  constructor(column, position, before, choose) {
    this.column = column;
    this.position = position;
    this.before = before;
    this.choose = choose;
    this.entry = undefined;
    this.summary = make("p", { class: "summary" });
    this.forget = make("button", { type: "button", class: "forget", hidden: true, onclick: () => choose(null) }, "Forget");
    this.unknown = make(
      "button",
      { type: "button", class: "missing", "aria-pressed": "false", onclick: () => this.toggleMissing() },
      "Missing",
    );
    const name = make("h3", { id: `name-${position}`, title: column.name }, make("bdi", {}, column.name));
    this.element = make(
      "article",
      { class: "card", "data-column": position, "aria-labelledby": `name-${position}` },
      name,
      this.summary,
      ...(isNamed(column) ? this.namedParts() : this.numberParts()),
    );
  }

  namedParts() {
    this.plot = new Bars(this.column, this.before, (code) => this.toggle(code));
    this.typed = make("input", { class: "wide value", placeholder: "type a category", "aria-label": "Category", autocomplete: "off" });
    return [this.plot.list, this.form(this.plot.more, this.typed)];
  }

  numberParts() {
    this.plot = new NumberPlot(this.column, this.choose);
    this.typed = make("input", { class: "value", placeholder: "value", "aria-label": "Value", autocomplete: "off" });
    this.low = make("input", { class: "low", placeholder: "from", "aria-label": "From", autocomplete: "off" });
    this.high = make("input", { class: "high", placeholder: "to", "aria-label": "To", autocomplete: "off" });
    return [this.plot.svg, this.form(this.typed, "or", this.low, this.high)];
  }

  form(...fields) {
    return make(
      "form",
      {
        class: "controls",
        onsubmit: (event) => {
          event.preventDefault();
          this.submit();
        },
      },
      ...fields,
      make("button", { class: "set" }, "Set"),
      this.unknown,
      this.forget,
    );
  }

  submit() {
    const [low, high] = [this.low?.value ?? "", this.high?.value ?? ""];
    if (this.typed.value.trim() === "" && (low.trim() || high.trim())) {
      this.choose({ kind: "range", low, high });
    } else {
      this.choose({ kind: "value", value: this.typed.value });
    }
  }

  toggle(code) {
    const chosen = new Set(this.entry?.kind === "codes" ? this.entry.codes : []);
    if (!chosen.delete(code)) chosen.add(code);
    this.choose(chosen.size ? { kind: "codes", codes: [...chosen].sort((a, b) => a - b) } : null);
  }

  toggleMissing() {
    this.choose(this.entry?.kind === "missing" ? null : { kind: "missing" });
  }

  /** Show a new answer. */
  update(answer, entry) {
    this.entry = entry;
    const words = this.summarise(answer, entry);
    this.summary.textContent = words;
    this.plot.update(answer, this.before, entry, `${this.column.name}: ${words}`);
    this.element.classList.toggle("given", entry !== undefined);
    this.element.classList.remove("bad");
    this.forget.hidden = entry === undefined;
    this.unknown.setAttribute("aria-pressed", String(entry?.kind === "missing"));
  }

  summarise(answer, entry) {
    const shares = answer.probability;
    if (isNamed(this.column)) {
      const best = shares.indexOf(Math.max(...shares));
      return `most likely ${this.column.labels[best].slice(0, 60)}, ${percent(shares[best])}`;
    }
    if (entry?.kind === "value") return `given: ${entry.value}`;
    const most = shares.indexOf(Math.max(...shares));
    if (shares[most] > 0.5) {
      const ends = [this.column.low[most], this.column.high[most]];
      const words = ends.map((end) => (end === null ? "…" : show(this.column, end)));
      return `${percent(shares[most])} between ${words.join(" and ")}`;
    }
    const [low, middle, high] = [0.05, 0.5, 0.95].map((level) => show(this.column, quantile(this.column, shares, level)));
    return `about ${middle}; nine in ten between ${low} and ${high}`;
  }
}
