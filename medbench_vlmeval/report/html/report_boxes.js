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
    el("input", { type: "checkbox", checked: !hidden.has(kind), onchange: (event) => {
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
    class: "boxes", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img",
    "aria-label": boxes.map((it) => `${it.label}: ${it.box.map(Math.round).join(", ")}`).join("; "),
  })) drawing.setAttribute(name, value);
  drawing.append(...boxes.flatMap(rectangles));
  return [drawing, boxes.map((it, place) => el("span", {
    class: `box-label ${it.kind}`, text: it.label,
    style: `left:${(100 * Math.min(it.box[0], it.box[2])) / width}%;top:${(100 * (place % 2 ? Math.max(it.box[1], it.box[3]) : Math.min(it.box[1], it.box[3]))) / height}%`,
  }))];
}

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
