// The page: what is given goes to the server, answers go to the cards.

import { ask, describe } from "./ask.js";
import { tell } from "./axis.js";
import { Card } from "./card.js";
import { find, make } from "./elements.js";
import { Given } from "./given.js";
import { prepareExports, prepareRows, prepareSamples } from "./panels.js";

const JUDGE_AFTER = 250; // milliseconds without a change, so that clicks do not wait for it

const given = new Given();
let model = null;
let cards = [];
let asking = false;
let waiting = null; // what is to be asked once the server has answered
let judging = 0;

function complain(error, position = null) {
  find("problem").hidden = false;
  find("problem").textContent = error.message;
  if (position !== null) cards[position]?.element.classList.add("bad");
}

function forgive() {
  find("problem").hidden = true;
  find("problem").textContent = "";
}

/** Show what is given, and put it into the address. */
function showGiven() {
  const items = given.list().map((entry) => {
    const column = model.columns[entry.column];
    return make(
      "li",
      {},
      make(
        "button",
        { type: "button", title: "Forget this", onclick: (event) => change(() => given.set(entry.column, null), entry.column, event) },
        make("bdi", {}, column.name.slice(0, 60)), " ", make("bdi", {}, tell(column, entry)), " ×",
      ),
    );
  });
  find("known").replaceChildren(...items);
  find("undo").disabled = !given.past.length;
  find("redo").disabled = !given.future.length;
  find("clear").disabled = !given.entries.size;
  history.replaceState(null, "", `${location.pathname}${given.fragment()}`);
}

function measure(start) {
  // the frame is painted after its callbacks; the next task finds it on the screen
  requestAnimationFrame(() =>
    setTimeout(() => {
      performance.measure("click to repaint", { start });
      document.body.dataset.settled = String(Number(document.body.dataset.settled ?? 0) + 1);
    }),
  );
}

/** Change what is given, ask, and take the change back if the server refuses it. */
async function change(alter, position = null, event = null) {
  const start = event?.timeStamp ?? performance.now();
  if (asking) {
    waiting = () => change(alter, position, { timeStamp: start });
    return;
  }
  asking = true;
  const [entries, past, future] = [given.entries, [...given.past], [...given.future]];
  alter();
  try {
    const answers = await ask("ask", { given: given.list() });
    forgive();
    find("python").textContent = answers.python;
    showGiven();
    cards.forEach((card, place) => card.update(answers.columns[place], given.get(place)));
    measure(start);
    judgeSoon();
  } catch (error) {
    Object.assign(given, { entries, past, future });
    showGiven();
    complain(error, position);
    measure(start);
  } finally {
    asking = false;
    const next = waiting;
    waiting = null;
    next?.();
  }
}

/** Ask how probable what is given is, once nothing has changed for a while. */
function judgeSoon() {
  const mine = ++judging;
  find("judgement").textContent = given.entries.size ? "…" : "Nothing is given: these are the columns as they are.";
  if (!given.entries.size) return;
  setTimeout(async () => {
    if (mine !== judging) return;
    let words;
    try {
      words = (await ask("judge", { given: given.list() })).words;
    } catch (error) {
      words = error.message;
    }
    if (mine === judging) find("judgement").textContent = words;
  }, JUDGE_AFTER);
}

function prepareKeys() {
  const typing = (target) => target instanceof HTMLInputElement;
  document.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || typing(event.target)) return;
    const key = event.key.toLowerCase();
    if (key === "z" && !event.shiftKey) change(() => given.undo(), null, event);
    else if (key === "y" || (key === "z" && event.shiftKey)) change(() => given.redo(), null, event);
    else return;
    event.preventDefault();
  });
  find("undo").addEventListener("click", (event) => change(() => given.undo(), null, event));
  find("redo").addEventListener("click", (event) => change(() => given.redo(), null, event));
  find("clear").addEventListener("click", (event) => change(() => given.setAll([]), null, event));
  window.addEventListener("hashchange", () => followLink());
}

/** Take over what the address says is given. */
async function followLink() {
  try {
    const list = Given.fromFragment(location.hash);
    await change(() => given.setAll(list));
  } catch (error) {
    complain(error);
  }
}

async function begin() {
  try {
    model = await describe();
    const marginal = await ask("ask", { given: [] });
    find("title").textContent = model.name;
    document.title = `${model.name} – bayesspn explorer`;
    find("about").textContent = `${model.columns.length} columns, averaged over ${model.draws} networks`;
    find("interval").textContent = String(100 * model.interval);
    find("python").textContent = marginal.python;
    cards = model.columns.map(
      (column, position) =>
        new Card(column, position, marginal.columns[position], (entry) =>
          change(() => given.set(position, entry), position, window.event),
        ),
    );
    cards.forEach((card, position) => card.update(marginal.columns[position], undefined));
    find("columns").replaceChildren(...cards.map((card) => card.element));
    prepareKeys();
    prepareExports(given, complain);
    prepareSamples(given, complain);
    prepareRows(model.columns, model.table, (entries) => change(() => given.setAll(entries)), complain);
    judgeSoon();
    if (location.hash.length > 1) await followLink();
    document.body.dataset.ready = "yes";
  } catch (error) {
    find("about").textContent = "";
    complain(error);
  }
}

begin();
