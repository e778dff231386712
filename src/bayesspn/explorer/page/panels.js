// What stands below the columns: rows of a table, synthetic rows, the Python call.

import { ask, upload } from "./ask.js";
import { find, make, save } from "./elements.js";

const SURPRISING = Math.log(100); // one in a hundred

async function copy(text, button) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Copying is not allowed";
  }
  setTimeout(() => (button.textContent = before), 1500);
}

/** Buttons that copy the link and the call, and save the answers. */
export function prepareExports(given, complain) {
  find("link").addEventListener("click", () => copy(location.href, find("link")));
  find("copy-python").addEventListener("click", () => copy(find("python").textContent, find("copy-python")));
  find("export").addEventListener("click", async () => {
    try {
      save((await ask("export", { given: given.list() })).csv, "answers.csv");
    } catch (error) {
      complain(error);
    }
  });
}

/** Synthetic rows that agree with what is given. */
export function prepareSamples(given, complain) {
  let csv = "";
  find("draw").addEventListener("click", async () => {
    find("sample-words").textContent = "Drawing …";
    try {
      const drawn = await ask("sample", {
        given: given.list(),
        rows: Number(find("sample-rows").value),
        seed: Number(find("sample-seed").value),
      });
      csv = drawn.csv;
      find("sample-words").textContent = drawn.words;
      const line = (cells, tag) => make("tr", {}, ...cells.map((cell) => make(tag, { title: cell }, make("bdi", {}, cell))));
      find("samples").replaceChildren(line(drawn.header, "th"), ...drawn.rows.map((row) => line(row, "td")));
      find("save-samples").disabled = false;
    } catch (error) {
      find("sample-words").textContent = "";
      complain(error);
    }
  });
  find("save-samples").addEventListener("click", () => save(csv, "synthetic.csv"));
}

/** Rows of a table, with the cells that surprise. */
export function prepareRows(columns, rows, useRow, complain) {
  let shown = null;
  const enable = (count) => {
    find("row").max = count - 1;
    for (const id of ["row", "look"]) find(id).disabled = false;
    find("row-words").textContent = `The table has ${count.toLocaleString("en")} rows, counted from 0.`;
  };
  if (rows !== null) enable(rows);
  find("file").addEventListener("change", async () => {
    const [file] = find("file").files;
    if (!file) return;
    find("row-words").textContent = "Reading …";
    try {
      enable((await upload(file)).rows);
    } catch (error) {
      find("row-words").textContent = "";
      complain(error);
    }
  });
  const look = async () => {
    find("row-words").textContent = "Judging every cell by the others; the first time takes longest …";
    try {
      shown = await ask("look", { row: Number(find("row").value) });
      find("row-words").textContent = `Row ${shown.row}: the cells that surprise most come first.`;
      const order = [...shown.cells.keys()].sort((a, b) => (shown.cells[b].surprise ?? -1) - (shown.cells[a].surprise ?? -1));
      const items = order.map((position) => {
        const cell = shown.cells[position];
        const surprising = (cell.surprise ?? 0) >= SURPRISING;
        const words = cell.words ? ` – ${cell.words}` : "";
        return make(
          "li",
          { class: surprising ? "surprising" : null, "data-column": position },
          make("bdi", {}, columns[position].name),
          ": ",
          make("bdi", {}, make("b", {}, cell.text)),
          words,
        );
      });
      find("cells").replaceChildren(...items);
      find("use-row").disabled = false;
    } catch (error) {
      find("row-words").textContent = "";
      complain(error);
    }
  };
  find("look").addEventListener("click", look);
  find("row").addEventListener("keydown", (event) => {
    if (event.key === "Enter") look();
  });
  find("use-row").addEventListener("click", () => useRow(shown.cells.map((cell) => cell.entry)));
}
