// The list of samples: filters of ours, sorting and paging by DataTables.

const columnsOf = () => {
  const groupings = data.groupings.map((name, place) => ({ id: `by.${name}`, title: plainName(name), of: (sample) => sample.groups[place], kind: place ? "label later" : "label" }));
  const columns = [
    { id: "index", title: "#", of: (sample) => sample.index, kind: "index" },
    ...groupings,
    { id: "status", title: "status", of: statusText, kind: "status" },
  ];
  if (several) {
    const place = metricOf(chosenMetric());
    const of = (run) => (sample) => scoreParts(sample.runs[run]?.scores?.[place]);
    if (place >= 0) {
      const unit = data.metrics[place].unit;
      data.runs.forEach((name, run) => columns.push({ id: `run${run}`, title: name, of: of(run), kind: "score", unit }));
      columns.push({ id: "spread", title: "spread", of: (sample) => spread(sample, place), kind: "score", unit });
    }
    return columns;
  }
  data.metrics.forEach((metric, place) => {
    if (metric.protocol !== "extra" && hasValues[place]) {
      columns.push({ id: metric.name, title: metric.label, of: (sample) => scoreParts(sample.runs[0]?.scores?.[place]), kind: "score", unit: metric.unit });
    }
  });
  columns.push({ id: "flags", title: "flags", of: (sample) => (sample.runs[0]?.flags ?? []).map(plainName).join(", ") });
  return columns;
};

const statusText = (sample) => [...new Set(sample.runs.map((made) => made?.status || "absent"))].join(", ");

function spread(sample, place) {
  const values = sample.runs.map((made) => scoreValue(made?.scores?.[place])).filter((it) => it !== null);
  return values.length > 1 ? [Math.max(...values) - Math.min(...values), "answer", "", false] : null;
}

const scoredMetrics = data.metrics.filter((_, place) => hasValues[place]);
const chosenMetric = () => (metricOf(state.metric) >= 0 ? state.metric : scoredMetrics[0]?.name ?? "");

// A score without a value comes last, whichever way the column is sorted.
const last = (sign) => (a, b) => (a === null) - (b === null) || sign * (a - b) || 0;
DataTable.ext.type.order["score-asc"] = last(1);
DataTable.ext.type.order["score-desc"] = last(-1);
DataTable.ext.type.order["score-pre"] = (it) => it;
const byText = new Intl.Collator(undefined, { numeric: true });
DataTable.ext.type.order["words-asc"] = (a, b) => byText.compare(a, b);
DataTable.ext.type.order["words-desc"] = (a, b) => byText.compare(b, a);
DataTable.ext.type.order["words-pre"] = (it) => it;

function shownCell(column, sample) {
  const value = column.of(sample);
  if (column.kind === "index") return el("a", { href: hashOfSample(value), "data-sample": value, text: value });
  if (column.kind === "status") return el("span", { class: "tags" }, value.split(", ").map(statusTag));
  if (column.kind !== "score") return el("span", { text: value ?? "" });
  if (!value) return el("span", { class: "muted", text: "–" });
  return value[0] === null ? el("span", { class: "muted small", text: plainName(value[1]) }) : el("span", { text: shownNumber(value[0], column.unit) });
}

let table = null;

function drawTable() {
  const columns = columnsOf();
  if (table) {
    table.destroy();
    $("#list").querySelectorAll("thead, tbody, colgroup").forEach((it) => it.remove());
  }
  const [id, way] = state.sort.split(":");
  const sorted = columns.findIndex((column) => column.id === id);
  table = new DataTable("#list", {
    data: filtered(),
    columns: columns.map((column) => ({
      // DataTables reads a title as HTML
      title: el("span", { text: column.title }).innerHTML,
      type: column.kind === "score" ? "score" : "words",
      className: column.kind === "score" ? "number" : column.kind ?? "label",
      data: null,
      render: (_, type, sample) => {
        if (type === "display") return shownCell(column, sample);
        const value = column.of(sample);
        return column.kind === "score" ? value?.[0] ?? null : String(value ?? "");
      },
    })),
    order: sorted >= 0 ? [[sorted, way === "desc" ? "desc" : "asc"]] : [],
    orderMulti: false,
    autoWidth: false,
    pageLength: 25,
    lengthMenu: [25, 100, 500],
    searching: false,
    layout: { topStart: null, topEnd: null, bottomStart: "info", bottomEnd: ["pageLength", "paging"] },
    language: { emptyTable: "No sample fits these filters.", info: "_START_ to _END_ of _TOTAL_", infoEmpty: "none", lengthMenu: "_MENU_ a page" },
  });
  table.on("order", () => {
    const [first] = table.order();
    const [at, direction] = Array.isArray(first) ? first : table.order();
    change({ sort: at === undefined || !direction ? "" : `${columns[at].id}:${direction}` });
  });
  $("#list").setAttribute("aria-label", "Samples");
}

/** The indices of the list as it is filtered and sorted. */
const listed = () => table.rows({ order: "applied" }).data().toArray().map((sample) => String(sample.index));

function refilter() {
  table.clear().rows.add(filtered()).draw();
  tellCount();
}

const tellCount = () => {
  const n = table.rows().count();
  $("#count").textContent = n === data.samples.length ? `${n.toLocaleString("en")} samples` : `${n.toLocaleString("en")} of ${data.samples.length.toLocaleString("en")} samples`;
};

const texts = new Map();

/** All texts of a sample in small letters, made when they are first searched. */
function textOf(sample) {
  if (!texts.has(sample)) {
    const found = [String(sample.index)];
    const collect = (value) => {
      if (typeof value === "string") found.push(value);
      else if (value && typeof value === "object") Object.values(value).forEach(collect);
    };
    const { images, ...rest } = sample;
    collect(rest);
    texts.set(sample, found.join("\n").toLowerCase());
  }
  return texts.get(sample);
}

const bound = (text) => (text.trim() === "" || Number.isNaN(Number(text)) ? null : Number(text));

function filtered() {
  const chosen = state.samples ? new Set(state.samples.split(",")) : null;
  const phrase = state.q.trim().toLowerCase();
  const groups = data.groupings.map((name) => state[`by.${name}`] ?? "");
  const [low, high, place] = [bound(state.min), bound(state.max), metricOf(chosenMetric())];
  const inRange = (made) => {
    const value = scoreValue(made?.scores?.[place]);
    return value !== null && (low === null || value >= low) && (high === null || value <= high);
  };
  return data.samples.filter((sample) =>
    (!chosen || chosen.has(String(sample.index)))
    && groups.every((group, at) => !group || sample.groups[at] === group)
    && (!state.status || sample.runs.some((made) => (made?.status || "absent") === state.status))
    && (!state.flag || sample.runs.some((made) => made?.flags?.includes(state.flag)))
    && ((low === null && high === null) || sample.runs.some(inRange))
    && (!phrase || textOf(sample).includes(phrase)));
}

const counted = (of) => {
  const counts = new Map();
  for (const sample of data.samples) for (const name of new Set(of(sample))) if (name) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].sort(([a], [b]) => byText.compare(a, b)).map(([name, n]) => [name, `${plainName(name)} (${n})`]);
};

function drawFilters() {
  const set = (values, columns = false) => { change(values); if (columns) { drawTable(); tellCount(); } else refilter(); };
  const input = (name, label, attributes) => {
    const node = el("input", { value: state[name], ...attributes, oninput: () => set({ [name]: node.value }) });
    return el("label", { class: `field ${name}` }, el("span", { text: label }), node);
  };
  const pick = (name, label, options) => (options.length ? choice(label, [["", "all"], ...options], state[name] ?? "", (value) => set({ [name]: value })) : null);
  $("#filters").replaceChildren(
    state.samples ? el("p", { class: "small chosen" }, tag("only the samples of a mark", "accent"), " ",
      el("button", { type: "button", class: "quiet", text: "All samples", onclick: () => { change({ samples: "" }); drawFilters(); refilter(); } })) : "",
    input("q", "Search all texts", { type: "search", id: "search", autocomplete: "off", spellcheck: "false" }),
    ...[
      ...data.groupings.map((name, place) => pick(`by.${name}`, plainName(name), counted((sample) => [sample.groups[place]]))),
      pick("status", "status", counted((sample) => sample.runs.map((made) => made?.status || "absent"))),
      pick("flag", "flag", counted((sample) => sample.runs.flatMap((made) => made?.flags ?? []))),
    ].filter(Boolean),
    el("div", { class: "range", role: "group", "aria-label": "Range of a score" },
      scoredMetrics.length ? choice(several ? "score shown" : "score", scoredMetrics.map((it) => [it.name, it.label]), chosenMetric(), (value) => set({ metric: value }, several)) : null,
      input("min", "from", { type: "number", step: "any", inputmode: "decimal" }),
      input("max", "to", { type: "number", step: "any", inputmode: "decimal" })),
    el("button", { type: "button", class: "quiet clear", text: "Clear", onclick: clearFilters }));
}

const noFilters = () => ({ q: "", status: "", flag: "", min: "", max: "", samples: "",
  ...Object.fromEntries(data.groupings.map((name) => [`by.${name}`, ""])) });

function clearFilters() {
  change(noFilters());
  drawFilters();
  refilter();
}
