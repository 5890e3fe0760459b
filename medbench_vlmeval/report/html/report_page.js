// What is shown when, and the keys.

let scrolled = 0;
let order = [];

function show() {
  const sample = state.sample === "" ? null : sampleByIndex.get(state.sample);
  if (state.sample !== "" && !sample) $("#count").textContent = `There is no sample ${visible(state.sample)} here.`;
  const view = $("#sample");
  $("#overview").hidden = Boolean(sample);
  view.hidden = !sample;
  document.body.classList.toggle("one-sample", Boolean(sample));
  if (!sample) {
    view.replaceChildren();
    return;
  }
  const used = view.contains(document.activeElement) ? document.activeElement.dataset.value : undefined;
  view.replaceChildren(...sampleView(sample, order.indexOf(state.sample), order, show));
  // What was drawn anew keeps the keyboard.
  if (used) $(`[data-value="${CSS.escape(used)}"]`, view)?.focus({ preventScroll: true });
}

/** Open a sample, or the list for `""`. */
function open(index) {
  const wasOpen = state.sample !== "";
  const before = state.sample;
  if (!wasOpen) scrolled = window.scrollY;
  change({ sample: index, ...(index !== state.sample ? { left: index === "" ? "" : state.left, right: index === "" ? "" : state.right } : {}) });
  settle(before);
}

function settle(before) {
  if (state.sample !== "" && !order.length) order = listed();
  if (before === "" || state.sample === "") order = listed();
  show();
  if (state.sample === "") {
    window.scrollTo(0, scrolled);
    $(`#list [data-sample="${CSS.escape(before)}"]`)?.focus({ preventScroll: true });
  } else if (before !== state.sample) {
    window.scrollTo(0, 0);
    $("#sample-title")?.focus({ preventScroll: true });
  }
}

function step(by) {
  const place = order.indexOf(state.sample);
  const next = order[place + by];
  if (place >= 0 && next !== undefined) open(next);
}

/** The address was changed by the reader: a link, the history, or by hand. */
function followAddress() {
  const before = state.sample;
  if (before === "") scrolled = window.scrollY;
  state = parsed(location.hash);
  drawFilters();
  drawTable();
  tellCount();
  settle(before);
}

/** A mark of a plot leads to a sample, or to the list of the samples that it stands for. */
function followMark(mark) {
  if (mark.sample !== "") {
    open(mark.sample);
    return;
  }
  const groups = Object.fromEntries(Object.entries(mark).filter(([name]) => name.startsWith("by.")));
  change({ ...noFilters(), ...groups, samples: mark.samples });
  drawFilters();
  refilter();
  $("#samples").scrollIntoView();
}

const cycle = (name, forms) => {
  const names = forms.map(([key]) => key);
  change({ [name]: names[(names.indexOf(state[name]) + 1) % names.length] });
  show();
};

const KEYS = {
  ArrowRight: () => step(1), j: () => step(1), ArrowLeft: () => step(-1), k: () => step(-1),
  v: () => data.kind === "edit" && cycle("view", VIEWS), r: () => data.kind === "edit" && cycle("roi", ROI_FORMS),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || $("dialog[open]")) return;
  const typing = event.target.closest?.("input, select, textarea");
  if (event.key === "Escape") {
    if (typing && typing.type !== "range" && typing.type !== "checkbox") typing.blur();
    else if (state.sample !== "") open("");
    return;
  }
  if (typing && !(typing.type === "range" && !event.key.startsWith("Arrow"))) return;
  if (event.key === "?") $("#help").showModal();
  else if (event.key === "/") {
    if (state.sample !== "") open("");
    $("#search").focus();
  } else if (state.sample !== "" && KEYS[event.key]) KEYS[event.key]();
  else return;
  event.preventDefault();
});

document.addEventListener("click", (event) => {
  if (event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const link = event.target.closest?.("a");
  const href = link?.getAttribute("href") ?? link?.getAttribute("xlink:href") ?? "";
  if (link && link.dataset.sample !== undefined) open(link.dataset.sample);
  else if (link?.closest(".plot") && href.startsWith("#")) followMark(parsed(href));
  else if (!link && event.target.closest?.("#list tbody tr")) $("a", event.target.closest("tr"))?.click();
  else if (event.target.closest?.("[data-help]")) $("#help").showModal();
  else if (event.target.closest?.("[data-goto]")) $(`#${event.target.closest("[data-goto]").dataset.goto}`).scrollIntoView();
  else return;
  if (link) event.preventDefault();
});

/** Of the tables of groups, show the one that is chosen. */
function chooseGroups() {
  const chosen = Object.fromEntries([...document.querySelectorAll("[data-choose]")].map((it) => [it.dataset.choose, it.value]));
  const cards = [...document.querySelectorAll("[data-grouping]")];
  for (const card of cards) {
    card.hidden = Object.entries(chosen).some(([name, value]) => name in card.dataset && card.dataset[name] !== value);
  }
}

document.addEventListener("change", (event) => event.target.closest("[data-choose]") && chooseGroups());
$("#filters").addEventListener("submit", (event) => event.preventDefault());
window.addEventListener("popstate", followAddress);

chooseGroups();
drawFilters();
drawTable();
tellCount();
settle("");
document.documentElement.dataset.ready = "true";
