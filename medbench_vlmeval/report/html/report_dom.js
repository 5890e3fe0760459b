// Elements and texts. Whatever a model wrote reaches the page here, as text and never as markup.

const $ = (selector, root = document) => root.querySelector(selector);

/** A new element; `attributes` are set as they are, but `text` and, by `on…` names, listeners. */
function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "text") node.textContent = visible(value);
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((it) => it !== null && it !== undefined && it !== ""));
  return node;
}

// Control characters get their pictures; marks that turn the reading direction are spelled out.
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
const DIRECTIONS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

function visible(text) {
  return String(text)
    .replace(/\r\n?/g, "\n")
    .replace(CONTROLS, (it) => (it < " " ? String.fromCharCode(0x2400 + it.charCodeAt(0)) : "\u2421"))
    .replace(DIRECTIONS, (it) => `[U+${it.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}]`);
}

/** A block of someone else's text, with its line breaks, in its own reading direction. */
function textBlock(text, label = "") {
  if (text === null || text === undefined) return el("p", { class: "muted small", text: "none" });
  if (text === "") return el("p", { class: "muted small", text: "empty" });
  const attributes = { class: "text", dir: "auto", text };
  return el("pre", label ? { ...attributes, "aria-label": label } : attributes);
}

const tag = (text, kind = "") => el("span", { class: `tag ${kind}`, text });

const STATUS_KINDS = { answer: "good", partial: "care", data_error: "care" };
const statusTag = (status) => tag(status.replaceAll("_", " "), STATUS_KINDS[status] ?? "bad");

const plainName = (name) => name.replaceAll("_", " ");

/** A number as the tables above print it. */
function shownNumber(value, unit = "") {
  if (value === null || value === undefined) return "–";
  return value.toFixed(Math.abs(value) < 10 && unit !== "dB" ? 3 : 2).replace("-", "−");
}

/** `[value, status, note, whether the model is to blame]` of a score as the page's data holds it; null where there is no such. */
function scoreParts(score) {
  if (score === null || score === undefined) return null;
  return Array.isArray(score) ? score : [score, "answer", "", false];
}

const scoreValue = (score) => scoreParts(score)?.[0] ?? null;

/** A labelled choice; `options` are `[value, text]`. */
function choice(label, options, value, onchange) {
  const select = el("select", { "data-value": label, onchange: () => onchange(select.value) },
    options.map(([key, text]) => el("option", { value: key, text })));
  select.value = value;
  return el("label", { class: "field" }, el("span", { text: label }), select);
}

/** Buttons of which one is pressed. */
function switches(label, options, value, onchange) {
  return el("div", { class: "switches", role: "group", "aria-label": label },
    options.map(([key, text]) => el("button", {
      type: "button", text, "data-value": key, "aria-pressed": String(key === value), onclick: () => onchange(key),
    })));
}
