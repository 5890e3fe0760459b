// Boxes over the image that they lie in, in its own pixels.

const SVG = "http://www.w3.org/2000/svg";
const hidden = new Set();

/** All boxes of a sample by the position of their image: `{kind, label, box, size}`. */
function boxesOf(sample) {
  const { about } = sample;
  const target = about.target ?? sample.images.length - 1;
  const found = [];
  const add = (position, kind, label, box, size) => box && found.push({ position, kind, label, box, size });
  add(target, "truth", "truth", about.truth, about.size_wh);
  sample.runs.forEach((made, place) => {
    const who = several ? `${data.runs[place]} ` : "";
    add(target, "official", `${who}official`, made?.reading?.official_boxes?.[0], about.size_wh);
    add(target, "strict", `${who}strict`, made?.reading?.strict_box, about.size_wh);
  });
  const size = sample.images[about.reference_image]?.size_wh ?? about.size_wh;
  add(about.reference_image, "given", "given in the question", about.reference_box, size);
  return found;
}

function boxStage(sample, redraw) {
  const boxes = boxesOf(sample);
  const kinds = [...new Set(boxes.map((it) => it.kind))];
  const target = sample.about.target;
  const toggles = kinds.map((kind) => el("label", { class: `box-key ${kind}` },
    el("input", { type: "checkbox", "data-value": kind, checked: !hidden.has(kind), onchange: (event) => {
      if (event.target.checked) hidden.delete(kind); else hidden.add(kind);
      redraw();
    } }), el("span", { class: "swatch", "aria-hidden": "true" }), el("span", { text: kind })));
  return el("section", { class: "card stage", "aria-label": "Pictures" },
    toggles.length ? el("fieldset", { class: "toolbar" }, el("legend", { class: "visually-hidden", text: "Boxes shown" }), toggles) : null,
    el("div", { class: sample.images.length > 1 ? "pictures large" : "single" }, sample.images.map((it, position) => figure(it,
      position === target && sample.images.length > 1 ? `${it.role}, where the answer lies` : it.role,
      { over: boxLayer(boxes.filter((one) => one.position === position && !hidden.has(one.kind)), it) }))),
    sample.images.length ? null : coordinates(boxes));
}

/** Rectangles in image pixels, with labels at their corners. */
function boxLayer(boxes, reference) {
  if (!boxes.length) return [];
  const [width, height] = boxes[0].size ?? reference.size_wh ?? [];
  if (!width) return [];
  const drawing = document.createElementNS(SVG, "svg");
  for (const [name, value] of Object.entries({
    class: "box-layer", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img",
    "aria-label": boxes.map((it) => `${it.label}: ${it.box.map(Math.round).join(", ")}`).join("; "),
  })) drawing.setAttribute(name, value);
  drawing.append(...boxes.flatMap(rectangles));
  return [drawing, boxLabels(boxes, width, height)];
}

/** Names in a pile beside the first box, on the side with more room; equal boxes share a name. */
function boxLabels(boxes, width, height) {
  const [x1, y1, x2] = boxes[0].box;
  const onTheLeft = x2 > 0.6 * width;
  const byPlace = new Map();
  for (const it of boxes) {
    const place = it.box.join();
    byPlace.set(place, [...(byPlace.get(place) ?? []), it]);
  }
  const x = onTheLeft ? Math.min(x1, x2) : Math.max(x1, x2);
  return el("div", {
    class: `box-labels ${onTheLeft ? "to-the-left" : ""}`,
    style: `left:${percent(x / width)};top:${percent(Math.max(0, y1) / height)}`,
  }, [...byPlace.values()].map((same) => el("span", { class: `box-label ${same[0].kind}`, text: same.map((it) => it.label).join(" = ") })));
}

const percent = (share) => `${Math.min(100, Math.max(0, 100 * share))}%`;

/** A dark rectangle below a coloured one, so that it shows on any picture. */
const rectangles = ({ kind, box: [x1, y1, x2, y2] }) => ["under", kind].map((name) => {
  const node = document.createElementNS(SVG, "rect");
  for (const [attribute, value] of Object.entries({
    class: name, x: Math.min(x1, x2), y: Math.min(y1, y2), width: Math.abs(x2 - x1), height: Math.abs(y2 - y1),
  })) node.setAttribute(attribute, value);
  return node;
});

const coordinates = (boxes) => el("dl", { class: "facts" }, boxes.flatMap((it) => [
  el("dt", { text: it.label }), el("dd", { text: `${it.box.map((one) => Math.round(10 * one) / 10).join(", ")}${it.size ? ` in ${it.size.join(" × ")}` : ""}` })]));
