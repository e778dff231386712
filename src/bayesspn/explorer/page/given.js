// What is known, with a way back, and as part of the page's address.

/** What is given by column, with undo and redo. */
export class Given {
  constructor() {
    this.entries = new Map();
    this.past = [];
    this.future = [];
  }

  /** Entries as the server takes them. */
  list() {
    return [...this.entries.values()].sort((a, b) => a.column - b.column);
  }

  get(column) {
    return this.entries.get(column);
  }

  /** Set, or with null forget, what is known of a column. */
  set(column, entry) {
    const entries = new Map(this.entries);
    if (entry === null) entries.delete(column);
    else entries.set(column, { ...entry, column });
    this.replace(entries);
  }

  /** Put other entries in the place of all. */
  setAll(list) {
    this.replace(new Map(list.map((entry) => [entry.column, entry])));
  }

  replace(entries) {
    this.past.push(this.entries);
    this.future = [];
    this.entries = entries;
  }

  undo() {
    if (!this.past.length) return false;
    this.future.push(this.entries);
    this.entries = this.past.pop();
    return true;
  }

  redo() {
    if (!this.future.length) return false;
    this.past.push(this.entries);
    this.entries = this.future.pop();
    return true;
  }

  /** The part of the address that carries what is given. */
  fragment() {
    const list = this.list();
    return list.length ? `#${encodeURIComponent(JSON.stringify(list))}` : "";
  }

  /** Entries that an address carries; an Error in words if it cannot be read. */
  static fromFragment(fragment) {
    if (fragment.length < 2) return [];
    try {
      const list = JSON.parse(decodeURIComponent(fragment.slice(1)));
      if (Array.isArray(list) && list.every((entry) => Number.isInteger(entry?.column))) return list;
    } catch {
      // said below
    }
    throw new Error("What is given in the link cannot be read; set it again.");
  }
}
