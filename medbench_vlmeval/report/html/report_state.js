// What is shown, kept in the address, so that a link shows the same again.

const data = JSON.parse($("#report-data").textContent);
const several = data.runs.length > 1;
const sampleByIndex = new Map(data.samples.map((sample) => [String(sample.index), sample]));

const DEFAULTS = { sample: "", samples: "", q: "", status: "", flag: "", metric: "", min: "", max: "", sort: "",
  view: "side", left: "", right: "", roi: "off" };

// A group is `by.organ=Eyes`; marks of plots lead to the shorter `organ=Eyes`.
const parsed = (hash) => {
  const read = { ...DEFAULTS };
  for (const [name, value] of new URLSearchParams(hash.replace(/^#/, "").replaceAll("+", "%2B"))) {
    if (name in DEFAULTS || name.startsWith("by.")) read[name] = value;
    else if (data.groupings.includes(name)) read[`by.${name}`] = value;
  }
  return read;
};

let state = parsed(location.hash);

const hashOf = (values) => {
  const told = Object.entries(values).filter(([name, value]) => value !== "" && value !== DEFAULTS[name]);
  return told.length ? `#${told.map((pair) => pair.map(encodeURIComponent).join("=")).join("&")}` : "";
};

const hashOfSample = (index) => hashOf({ ...state, sample: String(index), left: "", right: "" });

/** Change the state; a new sample is a new step in the browser's history, all else is not. */
function change(values) {
  const before = state.sample;
  state = { ...state, ...values };
  const url = `${location.pathname}${location.search}${hashOf(state)}`;
  if (state.sample !== before) history.pushState(null, "", url);
  else history.replaceState(null, "", url);
}

const metricOf = (name) => data.metrics.findIndex((metric) => metric.name === name);

/** Whether any run has a value in a column. */
const hasValues = data.metrics.map((_, place) =>
  data.samples.some((sample) => sample.runs.some((made) => scoreValue(made?.scores?.[place]) !== null)));
