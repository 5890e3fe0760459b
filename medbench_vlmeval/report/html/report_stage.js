// Edits: side by side, under a slider, or as a difference.

const VIEWS = [["side", "Side by side"], ["slider", "Slider"], ["difference", "Difference"]];
const ROI_FORMS = [["off", "ROI off"], ["outline", "Outline"], ["filled", "Filled"]];
let gain = 4;
let dividerAt = 50;

/** Every picture of an edit: `{id, label, reference, scores}`; replicas follow their run. */
function editPictures(sample) {
  const of = Object.fromEntries(sample.images.map((it) => [it.role, it]));
  const pictures = [{ id: "previous", label: "previous", reference: of.previous }];
  sample.runs.forEach((made, place) => {
    const who = several ? data.runs[place] : "edited";
    if (!made) return;
    const others = made.replicas ?? [];
    const seeds = others.length ? others : [made.edited];
    seeds.forEach((edit, number) => pictures.push({
      id: number ? `run${place}.${number}` : `run${place}`,
      label: others.length ? `${who}, seed ${edit.seed ?? number}` : who,
      reference: edit, run: place, first: number === 0,
    }));
  });
  pictures.push({ id: "reference", label: "reference", reference: of.reference });
  return { pictures: pictures.filter((it) => it.reference), roi: of.roi, others: sample.images.filter((it) => it.role.startsWith("demonstration")) };
}

function editStage(sample, redraw) {
  const { pictures, roi, others } = editPictures(sample);
  const usable = pictures.filter((it) => it.reference.src);
  const at = (id, fallback) => usable.find((it) => it.id === id) ?? fallback;
  const left = at(state.left, at("previous", usable[0]));
  const right = at(state.right, at("run0", usable.find((it) => it !== left)));
  const set = (values) => { change(values); redraw(); };
  const pairable = left && right && left !== right;
  const view = pairable ? state.view : "side";
  const options = usable.map((it) => [it.id, it.label]);
  return el("section", { class: "card stage", "aria-label": "Pictures" },
    el("div", { class: "toolbar" },
      pairable ? switches("View", VIEWS, view, (it) => set({ view: it })) : null,
      view === "side" ? null : choice("Left", options, left.id, (it) => set({ left: it })),
      view === "side" ? null : choice("Right", options, right.id, (it) => set({ right: it })),
      view === "difference" ? gainControl() : null,
      roi?.src ? switches("Region of interest", ROI_FORMS, state.roi, (it) => set({ roi: it })) : null),
    view === "side" ? sideBySide(sample, pictures, roi) : null,
    view === "slider" ? slider(left, right, roi) : null,
    view === "difference" ? difference(left, right, roi) : null,
    others.length ? demonstrations(others) : null);
}

function sideBySide(sample, pictures, roi) {
  const figures = pictures.map((it) => figure(it.reference, it.label, {
    over: roiLayer(roi), extra: it.run === undefined ? [] : editNotes(sample, it),
  }));
  if (roi) figures.push(figure(roi, "region of interest"));
  return el("div", { class: "pictures" }, figures);
}

function editNotes(sample, picture) {
  const { reference } = picture;
  const told = picture.first && several
    ? data.metrics.map((metric, place) => [metric, scoreValue(sample.runs[picture.run].scores?.[place])])
      .filter(([metric, value]) => value !== null && metric.protocol === "official")
      .map(([metric, value]) => `${metric.name} ${shownNumber(value, metric.unit)}`)
    : [];
  if (reference.CP !== undefined) told.push(`CP ${shownNumber(reference.CP)}`);
  if (reference.CP_strict !== undefined) told.push(`CP strict ${shownNumber(reference.CP_strict)}`);
  return told.length ? [el("span", { class: "small muted", text: told.join(" · ") })] : [];
}

const demonstrations = (images) => el("div", {},
  el("h3", { text: "Shown before the task" }),
  el("div", { class: "pictures" }, images.map((it) => figure(it, it.role))));

function slider(left, right, roi) {
  const box = frame(left.reference, left.label);
  const over = image(right.reference, right.label, { class: "over clipped" });
  const range = el("input", {
    type: "range", min: 0, max: 100, step: 0.5, value: dividerAt, class: "divider", "data-value": "divider",
    "aria-label": `Divider between ${left.label} and ${right.label}`,
    oninput: () => {
      dividerAt = Number(range.value);
      box.style.setProperty("--at", `${dividerAt}%`);
    },
  });
  box.style.setProperty("--at", `${dividerAt}%`);
  box.classList.add("slider");
  box.append(over, ...[roiLayer(roi) ?? []].flat(), range, el("span", { class: "handle", "aria-hidden": "true" }),
    el("span", { class: "corner left", text: left.label }), el("span", { class: "corner right", text: right.label }));
  return el("div", { class: "single" }, box);
}

function difference(left, right, roi) {
  const base = image(left.reference, left.label, { class: "base" });
  const over = image(right.reference, right.label, { class: "over differing" });
  const box = el("div", { class: "frame difference", style: `--gain:${gain}` },
    el("div", { class: "blend" }, base, over), roiLayer(roi));
  shape(box, left.reference, base);
  return el("div", {}, el("div", { class: "single" }, box),
    el("p", { class: "small muted", text: `Black where ${left.label} and ${right.label} agree; elsewhere their difference, times the gain. The right picture is stretched to the size of the left one.` }));
}

function gainControl() {
  const shown = el("output", { text: `× ${gain}` });
  const range = el("input", {
    type: "range", min: 1, max: 16, step: 1, value: gain, "aria-label": "Gain of the difference",
    oninput: () => {
      gain = Number(range.value);
      shown.textContent = `× ${gain}`;
      $(".frame.difference")?.style.setProperty("--gain", gain);
    },
  });
  return el("label", { class: "field" }, el("span", {}, "Gain ", shown), range);
}
