// A leaderboard: columns sort, rows filter, and groups are laid out as a table of models by groups.
const data = JSON.parse(document.getElementById("board-data").textContent);

for (const filters of document.querySelectorAll("[data-filters]")) filters.hidden = false;

// ---- sorting
const keyOf = (row, column) => {
  const cell = row.cells[column];
  return cell.dataset.order === undefined ? cell.textContent.trim() : Number(cell.dataset.order);
};

const compare = (a, b) => {
  const areNumbers = typeof a === "number" && typeof b === "number";
  if (areNumbers) return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
};

// what was published is never ranked among what was measured here
const KINDS = ["measured", "baseline", "published"];
const kindOf = (row) => KINDS.indexOf(row.dataset.kind);

const sortBy = (head) => {
  const table = head.closest("table");
  const column = [...head.parentElement.cells].indexOf(head);
  const isNumber = head.classList.contains("number");
  const first = isNumber ? "descending" : "ascending";
  const other = isNumber ? "ascending" : "descending";
  const order = head.getAttribute("aria-sort") === first ? other : first;
  for (const it of head.parentElement.cells) it.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", order);
  const sign = order === "ascending" ? 1 : -1;
  const rows = [...table.tBodies[0].rows].map((row) => [keyOf(row, column), row]);
  rows.sort(([a, one], [b, other]) => {
    if (kindOf(one) !== kindOf(other)) return kindOf(one) - kindOf(other);
    // what has no number comes last in both directions
    const isOpen = [a, b].map((it) => isNumber && typeof it !== "number");
    if (isOpen[0] || isOpen[1]) return isOpen[0] - isOpen[1];
    return sign * compare(a, b);
  });
  table.tBodies[0].append(...rows.map(([, row]) => row));
};

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-sort]");
  if (button) sortBy(button.closest("th"));
});

// ---- filtering
const find = document.querySelector("[data-find]");
const shows = [...document.querySelectorAll("[data-show]")];
const isShown = (name, kind) => {
  const wanted = (find?.value ?? "").trim().toLowerCase();
  const kinds = shows.filter((it) => it.checked).map((it) => it.dataset.show);
  return kinds.includes(kind) && name.toLowerCase().includes(wanted);
};

const filter = () => {
  for (const row of document.querySelectorAll("#overall tbody tr, #groups tbody tr")) {
    row.hidden = !isShown(row.cells[0].textContent, row.dataset.kind);
  }
};
find?.addEventListener("input", filter);
for (const it of shows) it.addEventListener("change", filter);

// ---- groups
const table = document.getElementById("groups");
const groupBy = document.querySelector("[data-group-by]");
const metric = document.querySelector("[data-metric]");

const element = (name, text, attributes = {}) => {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
};

// ---- notes on cells: a letter each, explained below the table
const marks = document.getElementById("group-marks");
const known = new Map();

const letters = (number) =>
  (number < 26 ? "" : letters(Math.floor(number / 26) - 1)) + String.fromCharCode(97 + (number % 26));

const mark = (note) => {
  if (!known.has(note)) {
    const line = element("li", "", { id: `group-mark-${letters(known.size)}` });
    line.append(element("b", letters(known.size)), ` ${note}`);
    marks.append(line);
    known.set(note, letters(known.size));
  }
  const letter = known.get(note);
  return element("a", letter, { class: "mark", href: `#group-mark-${letter}`, title: note });
};

const shownCell = (cell) => {
  const made = element("td", cell?.text ?? "–", { class: "number" });
  if (!cell) return made;
  if (cell.order !== null) made.dataset.order = cell.order;
  if (cell.interval) made.append(" ", element("span", cell.interval, { class: "interval" }));
  if (cell.coverage) made.append(" ", element("span", cell.coverage, { class: "interval" }));
  if (cell.note) made.append(" ", mark(cell.note));
  return made;
};

const layOut = () => {
  const by = data.groups[Number(groupBy.value)];
  const column = Number(metric.value);
  const head = element("tr", "");
  const first = element("th", "", { scope: "col" });
  first.append(element("button", "model", { type: "button", class: "sort", "data-sort": "" }));
  head.append(first);
  marks.replaceChildren();
  known.clear();
  by.names.forEach((group, number) => {
    const cell = element("th", "", { scope: "col", class: "number" });
    cell.append(element("button", group, { type: "button", class: "sort", "data-sort": "" }));
    if (by.sizes[number] !== null) {
      cell.append(" ", element("span", `n ${by.sizes[number]}`, { class: "interval" }));
    }
    head.append(cell);
  });
  const body = document.createElement("tbody");
  data.rows.forEach((row, number) => {
    const cells = by.names.map((_, group) => by.cells[`${number}/${group}/${column}`]);
    if (!cells.some(Boolean)) return;
    const line = element("tr", "", { class: row.kind });
    line.dataset.kind = row.kind;
    line.append(element("th", row.name, { scope: "row" }), ...cells.map(shownCell));
    body.append(line);
  });
  const top = document.createElement("thead");
  top.append(head);
  const caption = element("caption", "Value, 95 % interval, and scored/expected samples where " +
    "not all were scored; n: samples of a group; ? marks a published figure that is probably wrong");
  table.replaceChildren(caption, top, body);
  filter();
};

if (table && data.groups.length) {
  data.groups.forEach((it, number) => groupBy.append(element("option", it.label, { value: number })));
  data.metrics.forEach((it, number) => metric.append(element("option", it, { value: number })));
  groupBy.addEventListener("change", layOut);
  metric.addEventListener("change", layOut);
  layOut();
}
