// One sample: pictures, question, prompt, reply, readings, scores, judge.

const LETTERS = [["official_letter", "official reading"], ["strict_letter", "strict reading"], ["judge_letter", "judge's reading"]];

// Their scores need the wide column.
const manyRuns = data.runs.length > 2;

function sampleView(sample, place, order, redraw) {
  const stage = { edit: editStage, boxes: boxStage }[data.kind] ?? imageStage;
  return [
    sampleHead(sample, place, order),
    el("div", { class: `sample-grid ${data.kind}` },
      el("div", { class: "wide" }, stage(sample, redraw), data.kind === "description" ? repliesBesideReference(sample) : null, manyRuns ? [scores(sample), notes(sample)] : null),
      el("div", { class: "narrow" }, asked(sample), manyRuns ? null : [scores(sample), notes(sample)])),
    promptCard(sample),
    data.kind === "description" ? null : replies(sample),
    judgements(sample),
  ].flat().filter(Boolean);
}

function sampleHead(sample, place, order) {
  const step = (to, label, text) => el("a", order[to] === undefined
    ? { class: "button", role: "link", "aria-disabled": "true", "aria-label": label, text }
    : { class: "button", href: hashOfSample(order[to]), "data-sample": order[to], "aria-label": label, text });
  const key = sample.key && sample.key !== String(sample.index) ? sample.key : "";
  const labels = data.groupings.map((name, at) => [name, sample.groups[at]]).filter(([, group]) => group);
  return el("div", { class: "sample-head" },
    el("nav", { class: "steps", "aria-label": "Samples" },
      el("a", { class: "button", href: hashOf({ ...state, sample: "" }) || "#", "data-sample": "", text: "← List" }),
      el("span", { class: "spacer" }),
      el("span", { class: "small muted", text: place < 0 ? "not in the filtered list" : `${place + 1} of ${order.length}` }),
      step(place - 1, "Previous sample", "‹ Previous"), step(place + 1, "Next sample", "Next ›")),
    el("h2", { id: "sample-title", tabindex: "-1" }, el("span", { text: `Sample ${sample.index}` }), key ? el("span", { class: "muted key", text: key }) : null),
    el("p", { class: "tags" },
      labels.map(([name, group]) => el("span", { class: "tag", title: plainName(name), text: group })),
      statuses(sample),
      [...new Set(sample.runs.flatMap((made) => made?.flags ?? []))].map((flag) => tag(plainName(flag), "care"))));
}

/** The status of every run; one tag where all are the same. */
function statuses(sample) {
  const found = sample.runs.map((made) => made?.status || "absent");
  if (new Set(found).size === 1) return statusTag(found[0]);
  return found.map((status, at) => el("span", { class: "run-status" }, el("span", { class: "small muted", text: data.runs[at] }), statusTag(status)));
}

function imageStage(sample) {
  if (!sample.images.length) return null;
  return el("section", { class: "card stage", "aria-label": "Pictures" },
    el("div", { class: sample.images.length > 1 ? "pictures large" : "single" }, sample.images.map((it) => figure(it, it.role))));
}

/** What was asked, by kind. */
function asked(sample) {
  const { about } = sample;
  const parts = [];
  const say = (name, text) => text && parts.push(el("h3", { text: name }), textBlock(text, name));
  say("Instruction", about.instruction);
  say("Change in words, as the judge is told", about.description);
  say("Question", about.question);
  if (data.kind === "choice") parts.push(options(sample));
  if (data.kind === "boxes") parts.push(el("h3", { text: "Boxes" }), coordinates(boxesOf(sample)));
  say("Problem", about.problem);
  return parts.length ? el("section", { class: "card" }, parts) : null;
}

/** The options, marked with the right answer and what was read from each reply. */
function options(sample) {
  const { about } = sample;
  const letters = Object.keys(about.options ?? {});
  const shown = letters.length ? letters : [...new Set([about.answer, ...sample.runs.flatMap((made) => LETTERS.map(([name]) => made?.reading?.[name]))].filter(Boolean))].sort();
  return el("ol", { class: "options" }, shown.map((letter) => {
    const marks = letter === about.answer ? [tag("right answer", "good")] : [];
    sample.runs.forEach((made, place) => {
      const by = LETTERS.filter(([name]) => made?.reading?.[name] === letter).map(([, text]) => text);
      if (by.length) marks.push(tag(`${several ? `${data.runs[place]}: ` : ""}${by.join(", ")}`, letter === about.answer ? "accent" : "bad"));
    });
    return el("li", { class: letter === about.answer ? "right" : "" },
      el("span", { class: "letter", text: letter }), el("span", { class: "option", dir: "auto", text: about.options?.[letter] ?? "" }), el("span", { class: "marks" }, marks));
  }));
}

function scores(sample) {
  const lines = data.metrics.map((metric, at) => [metric, sample.runs.map((made) => scoreParts(made?.scores?.[at]))])
    .filter(([metric, found]) => found.some(Boolean) && hasValues[metricOf(metric.name)]);
  const blank = data.metrics.filter((_, at) => !hasValues[at]).map((it) => it.name);
  if (!lines.length) return null;
  return el("section", { class: "card flush" }, el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Scores" },
    el("table", { class: "plain scores" },
      el("thead", {}, el("tr", {}, el("th", { scope: "col", text: "Score" }), data.runs.map((name) => el("th", { scope: "col", class: "number", text: several ? name : "Value" })))),
      el("tbody", {}, lines.map(([metric, found]) => el("tr", {},
        el("th", { scope: "row", title: metric.source, text: metric.label }), found.map((it) => scoreCell(it, metric))))))),
    scoreNotes(sample, lines),
    blank.length ? el("p", { class: "small muted blank", text: `Without a value in any sample: ${blank.join(", ")}` }) : null);
}

function scoreCell(score, metric) {
  if (!score) return el("td", { class: "number muted", text: "–" });
  const [value, status, , fault] = score;
  if (value === null) return el("td", { class: "number" }, fault ? statusTag(status) : tag(plainName(status), "care"));
  return el("td", { class: "number" }, el("span", { text: shownNumber(value, metric.unit) }), status === "answer" ? null : [" ", statusTag(status)]);
}

/** Why scores are as they are, each reason once with the scores that it is about. */
function scoreNotes(sample, lines) {
  const found = new Map();
  for (const [metric, scoresOf] of lines) scoresOf.forEach((score, run) => {
    const note = score?.[2];
    // The list of notes has what the model said instead of an image.
    if (!note || note === sample.runs[run].edited?.says) return;
    const who = several ? `${data.runs[run]}: ` : "";
    found.set(`${who}${note}`, [...(found.get(`${who}${note}`) ?? []), metric.name]);
  });
  return found.size ? el("ul", { class: "small muted blank score-notes" },
    [...found].map(([note, names]) => el("li", { dir: "auto", text: `${names.join(", ")}: ${note}` }))) : null;
}

const shownFact = (value) => {
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : shownNumber(value);
  if (Array.isArray(value)) return value.map(shownFact).join(", ");
  return value !== null && typeof value === "object" ? JSON.stringify(value) : String(value);
};

/** What one run says of a sample beside its scores, by name. */
function runFacts({ reading = {}, edited = {} }) {
  const boxes = reading.official_boxes?.length ?? 0;
  return {
    note: edited.says,
    seed: edited.seed,
    settings: edited.settings,
    "letter by": reading.letter_by,
    conclusion: reading.conclusion,
    "boxes read officially": boxes > 1 ? `${boxes}, the first is scored` : undefined,
    mask: reading.mask && [reading.mask.status, reading.mask.note].filter(Boolean).join(": "),
    ...Object.fromEntries(Object.entries(reading.diagnostics ?? {}).map(([name, value]) => [plainName(name), value])),
  };
}

const TOLD_ELSEWHERE = new Set(["instruction", "description", "question", "options", "truth", "size_wh", "target",
  "reference_box", "reference_image", "reference", "problem", "answer"]);

/** Notes, readings and diagnostics that have no place of their own. */
function notes(sample) {
  const own = Object.entries(sample.about)
    .filter(([name, value]) => !TOLD_ELSEWHERE.has(name) && !data.groupings.includes(name) && value !== null && value !== "")
    .map(([name, value]) => [el("dt", { text: plainName(name) }), el("dd", { dir: "auto", text: shownFact(value) })]);
  const facts = sample.runs.map((made) => (made ? runFacts(made) : { note: "has no such sample" }));
  const told = [...new Set(facts.flatMap((it) => Object.keys(it)))]
    .filter((name) => facts.some((it) => it[name] !== undefined && it[name] !== ""));
  if (!own.length && !told.length) return null;
  return el("details", { class: "card", open: data.kind !== "edit" || facts.some((it) => it.note) },
    el("summary", { text: "Notes and measurements" }), el("dl", { class: "facts" }, own),
    told.length ? el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Notes and measurements" }, el("table", { class: "plain scores" },
      several ? el("thead", {}, el("tr", {}, el("th", {}), data.runs.map((name) => el("th", { scope: "col", text: name })))) : null,
      el("tbody", {}, told.map((name) => el("tr", {}, el("th", { scope: "row", text: name }),
        facts.map((it) => el("td", { class: "fact", dir: "auto", text: it[name] === undefined ? "–" : shownFact(it[name]) }))))))) : null);
}

function promptCard(sample) {
  const own = sample.runs.map((made, place) => [data.runs[place], made?.prompt]).filter(([, prompt]) => prompt);
  const blocks = [];
  if (sample.prompt) blocks.push(promptParts(sample.prompt, sample.images));
  for (const [name, prompt] of own) blocks.push(el("h3", { text: `As ${name} was asked` }), promptParts(prompt, sample.images));
  if (!blocks.length) blocks.push(el("p", { class: "muted", text: sample.prompt_note || "Not known: evaluate the run again to see prompts." }));
  else if (sample.prompt_note) blocks.push(el("p", { class: "small muted", text: sample.prompt_note }));
  return el("details", { class: "card", open: true }, el("summary", { text: "Prompt" }), blocks);
}

const promptParts = (parts, images) => el("div", { class: "prompt" }, parts.map((part) => {
  if (part.text !== undefined) return textBlock(part.text);
  const reference = images[part.image];
  return el("figure", { class: "thumb" }, image(reference, reference?.role ?? `image ${part.image}`, { loading: "lazy" }), el("figcaption", { class: "small muted", text: reference?.role ?? `image ${part.image}` }));
}));

function replies(sample) {
  return el("section", { class: "card" }, el("h3", { class: "first", text: several ? "Replies" : "Reply" }),
    sample.runs.map((made, place) => made ? el("div", { class: "reply" },
      several ? el("p", { class: "eyebrow" }, el("span", { text: data.runs[place] }), " ", statusTag(made.status)) : null,
      made.reply === undefined && !("reply" in made) ? el("p", { class: "muted small", text: "not stored" }) : textBlock(made.reply, "Reply")) : null));
}

function repliesBesideReference(sample) {
  return el("section", { class: "card beside" },
    sample.runs.map((made, place) => el("div", {}, el("h3", {}, el("span", { text: several ? data.runs[place] : "Reply" }), " ", made?.status ? statusTag(made.status) : null),
      made?.reading?.conclusion ? el("p", { class: "small muted", text: `conclusion read: ${made.reading.conclusion}` }) : null,
      textBlock(made?.reply ?? null, "Reply"))),
    el("div", {}, el("h3", { text: "Reference" }),
      sample.about.reference_conclusion ? el("p", { class: "small muted", text: `conclusion: ${sample.about.reference_conclusion}` }) : null,
      textBlock(sample.about.reference ?? null, "Reference")));
}

/** Verdicts and, below each, every reply of the judge. */
function judgements(sample) {
  const blocks = sample.runs.flatMap((made, place) => {
    if (!made?.judge && !made?.replies) return [];
    return [several ? el("h3", { text: data.runs[place] }) : null, verdicts(made), (made.replies ?? []).map(judgeReply)];
  });
  return blocks.length ? el("details", { class: "card judge", open: true }, el("summary", { text: "Judge" }), blocks) : null;
}

const verdicts = (made) => el("ul", { class: "verdicts" }, Object.entries(made.judge ?? {}).map(([dimension, it]) => el("li", {},
  el("strong", { text: dimension ? plainName(dimension) : "verdict" }), " ", statusTag(it.status ?? "missing"),
  it.reading ? el("span", { text: Object.entries(it.reading).map(([name, value]) => `${plainName(name)} ${value}`).join(" · ") }) : null,
  it.note ? el("span", { class: "muted", text: it.note }) : null,
  it.call_id ? el("span", { class: "small muted" }, "call ", el("code", { text: it.call_id })) : null)));

const judgeReply = (it) => el("div", { class: "reply" },
  el("p", { class: "eyebrow" }, statusTag(it.status ?? "missing"), " ", el("span", { text: [
    it.dimension ? plainName(it.dimension) : null,
    it.repeat ? `round ${it.repeat + 1}` : null,
    it.attempt ? `attempt ${it.attempt}` : null,
    it.model_returned, it.call_id ? `call ${it.call_id.slice(0, 8)}…` : null, it.note].filter(Boolean).join(" · ") })),
  textBlock(it.reply ?? it.refusal ?? null, "Reply of the judge"));
