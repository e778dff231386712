// The page: evidence goes to the server, answers go to the cards.

import { ask, describe } from "./ask.js";
import { tell } from "./axis.js";
import { Card } from "./card.js";
import { find, make } from "./elements.js";
import { Evidence } from "./evidence.js";
import { prepareExports, prepareRows, prepareSamples } from "./panels.js";

const JUDGE_AFTER = 250; // milliseconds without a change, so that clicks do not wait for it

const evidence = new Evidence();
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

/** Show which evidence there is, and put it into the address. */
function showEvidence() {
  const items = evidence.list().map((entry) => {
    const column = model.columns[entry.column];
    return make(
      "li",
      {},
      make(
        "button",
        { type: "button", title: "Forget this", onclick: (event) => change(() => evidence.set(entry.column, null), entry.column, event) },
        make("bdi", {}, column.name.slice(0, 60)), " ", make("bdi", {}, tell(column, entry)), " ×",
      ),
    );
  });
  find("known").replaceChildren(...items);
  find("undo").disabled = !evidence.past.length;
  find("redo").disabled = !evidence.future.length;
  find("clear").disabled = !evidence.entries.size;
  history.replaceState(null, "", `${location.pathname}${evidence.fragment()}`);
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

/** Change the evidence, ask, and take the change back if the server refuses it. */
async function change(alter, position = null, event = null) {
  const start = event?.timeStamp ?? performance.now();
  if (asking) {
    waiting = () => change(alter, position, { timeStamp: start });
    return;
  }
  asking = true;
  const [entries, past, future] = [evidence.entries, [...evidence.past], [...evidence.future]];
  alter();
  try {
    const answers = await ask("ask", { evidence: evidence.list() });
    forgive();
    find("python").textContent = answers.python;
    showEvidence();
    cards.forEach((card, place) => card.update(answers.columns[place], evidence.get(place)));
    measure(start);
    judgeSoon();
  } catch (error) {
    Object.assign(evidence, { entries, past, future });
    showEvidence();
    complain(error, position);
    measure(start);
  } finally {
    asking = false;
    const next = waiting;
    waiting = null;
    next?.();
  }
}

/** Ask how probable the evidence is, once nothing has changed for a while. */
function judgeSoon() {
  const mine = ++judging;
  find("judgement").textContent = evidence.entries.size ? "…" : "Nothing is given: these are the columns as they are.";
  if (!evidence.entries.size) return;
  setTimeout(async () => {
    if (mine !== judging) return;
    let words;
    try {
      words = (await ask("judge", { evidence: evidence.list() })).words;
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
    if (key === "z" && !event.shiftKey) change(() => evidence.undo(), null, event);
    else if (key === "y" || (key === "z" && event.shiftKey)) change(() => evidence.redo(), null, event);
    else return;
    event.preventDefault();
  });
  find("undo").addEventListener("click", (event) => change(() => evidence.undo(), null, event));
  find("redo").addEventListener("click", (event) => change(() => evidence.redo(), null, event));
  find("clear").addEventListener("click", (event) => change(() => evidence.setAll([]), null, event));
  window.addEventListener("hashchange", () => followLink());
}

/** Take over the evidence that the address carries. */
async function followLink() {
  try {
    const list = Evidence.fromFragment(location.hash);
    await change(() => evidence.setAll(list));
  } catch (error) {
    complain(error);
  }
}

async function begin() {
  try {
    model = await describe();
    const marginal = await ask("ask", { evidence: [] });
    find("title").textContent = model.name;
    document.title = `${model.name} – bayesspn explorer`;
    find("about").textContent = `${model.columns.length} columns, averaged over ${model.draws} networks`;
    find("interval").textContent = String(100 * model.interval);
    find("python").textContent = marginal.python;
    cards = model.columns.map(
      (column, position) =>
        new Card(column, position, marginal.columns[position], (entry) =>
          change(() => evidence.set(position, entry), position, window.event),
        ),
    );
    cards.forEach((card, position) => card.update(marginal.columns[position], undefined));
    find("columns").replaceChildren(...cards.map((card) => card.element));
    prepareKeys();
    prepareExports(evidence, complain);
    prepareSamples(evidence, complain);
    prepareRows(model.columns, model.table, (entries) => change(() => evidence.setAll(entries)), complain);
    judgeSoon();
    if (location.hash.length > 1) await followLink();
    document.body.dataset.ready = "yes";
  } catch (error) {
    find("about").textContent = "";
    complain(error);
  }
}

begin();
