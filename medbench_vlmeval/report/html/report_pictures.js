// One picture with its caption, or the reason why there is none.

const UNKNOWN_FORMATS = /\.(tiff?|dcm|dicom|nii(\.gz)?|jp2|heic)$/i;

function reasonNotShown(src) {
  const name = decodeURIComponent(src.split("/").pop());
  return UNKNOWN_FORMATS.test(name)
    ? `${name}: browsers cannot show this format; medbench report --bundle converts it`
    : `${name} cannot be shown; was it moved since this page was made?`;
}

const missingBox = (role, why) => el("div", { class: "missing", role: "img", "aria-label": `${role}: ${why}` },
  el("strong", { text: role }), el("span", { text: why }));

/** An `<img>` that turns into a missing box when the file cannot be loaded. */
function image(reference, alt, attributes = {}) {
  if (!reference?.src) return missingBox(reference?.role ?? alt, reference?.missing ?? "not there");
  const node = el("img", { src: reference.src, alt, decoding: "async", draggable: "false", ...attributes });
  node.addEventListener("error", () => {
    const box = missingBox(alt, reasonNotShown(reference.src));
    (node.closest(".frame") ?? node).replaceWith(box);
  });
  return node;
}

/** A box of the picture's own shape, to lay things over it. */
function frame(reference, alt, ...over) {
  if (!reference?.src) return image(reference, alt);
  const node = image(reference, alt, { class: "base" });
  const box = el("div", { class: "frame" }, node, over);
  shape(box, reference, node);
  return box;
}

/** Give a frame the size of a picture, at once where it is known, else when it is loaded. */
function shape(box, reference, node) {
  const set = (width, height) => {
    box.style.setProperty("--w", width);
    box.style.setProperty("--h", height);
  };
  if (reference.size_wh) set(...reference.size_wh);
  const measure = () => node.naturalWidth && set(node.naturalWidth, node.naturalHeight);
  if (node.complete) measure();
  node.addEventListener("load", measure);
}

/** A picture with caption and a link to the file. */
function figure(reference, caption, { over = [], extra = [], alt = caption } = {}) {
  const open = reference?.src
    ? el("a", { href: reference.src, target: "_blank", rel: "noopener", class: "small", "aria-label": `open ${alt}`, text: "open" })
    : null;
  return el("figure", { class: "picture" },
    frame(reference, alt, over),
    el("figcaption", {}, el("span", { class: "caption", text: caption }), open,
      reference?.note ? el("span", { class: "small muted", text: reference.note }) : null, extra));
}

/** The region of interest, to lie over a picture; null where it is off or absent. */
function roiLayer(roi) {
  if (state.roi === "off" || !roi?.src) return null;
  return el("img", { class: `roi ${state.roi}`, src: roi.src, alt: "", "aria-hidden": "true" });
}
