"use strict";
(() => {
  const body = document.body;
  const samples = [...document.querySelectorAll(".sample")];
  const items = [...document.querySelectorAll(".item")];
  const place = `medbench-human ${body.dataset.sheet} ${body.dataset.rater}`;
  const header = JSON.parse(body.dataset.header);
  const notice = document.getElementById("notice");
  const find = (id) => document.getElementById(id);
  let current = 0;
  let kept = {};

  function say(text) {
    notice.textContent = text;
    notice.hidden = !text;
  }

  function scales(item) {
    return [...item.querySelectorAll(".scale")];
  }

  function chosen(scale) {
    const radio = scale.querySelector("input:checked");
    return radio ? radio.value : "";
  }

  function field(item, name) {
    return item.querySelector(`[data-field="${name}"]`);
  }

  function entered(item) {
    const cannot = field(item, "cannot_judge").checked;
    const entry = { cannot_judge: cannot ? "x" : "", comment: field(item, "comment").value };
    for (const scale of scales(item)) {
      entry[scale.dataset.dimension] = cannot ? "" : chosen(scale);
    }
    return entry;
  }

  function isDone(item) {
    return field(item, "cannot_judge").checked || scales(item).every((it) => chosen(it) !== "");
  }

  function keep() {
    try {
      localStorage.setItem(place, JSON.stringify(kept));
    } catch (error) {
      say("This browser keeps nothing for this page: download the CSV before you close it.");
    }
  }

  function restore() {
    let found = {};
    try {
      found = JSON.parse(localStorage.getItem(place) || "{}") || {};
    } catch (error) {
      say("What was kept in this browser cannot be read; you start from an empty sheet.");
    }
    for (const item of items) {
      const entry = found[item.dataset.item];
      if (!entry) continue;
      kept[item.dataset.item] = entry;
      field(item, "cannot_judge").checked = entry.cannot_judge === "x";
      field(item, "comment").value = entry.comment || "";
      for (const scale of scales(item)) {
        for (const radio of scale.querySelectorAll("input")) {
          radio.checked = radio.value === entry[scale.dataset.dimension];
        }
      }
    }
  }

  function show(item) {
    const cannot = field(item, "cannot_judge").checked;
    for (const scale of scales(item)) scale.disabled = cannot;
    const open = scales(item).filter((it) => chosen(it) === "").length;
    const done = isDone(item);
    item.classList.toggle("done", done);
    const words = cannot ? "cannot judge" : done ? "rated" : `${open} of ${scales(item).length} open`;
    item.querySelector(".state").textContent = words;
  }

  function count() {
    const done = items.filter(isDone).length;
    find("progress").value = done;
    find("where").textContent =
      `Sample ${current + 1} of ${samples.length}, ${done} of ${items.length} items rated`;
    find("previous").disabled = current === 0;
    find("next").disabled = current === samples.length - 1;
    find("open").disabled = done === items.length;
  }

  function turn(to, withFocus = true) {
    current = Math.max(0, Math.min(samples.length - 1, to));
    samples.forEach((sample, number) => { sample.hidden = number !== current; });
    count();
    if (!withFocus) return;
    find("help").open = false;
    window.scrollTo({ top: 0, behavior: "instant" });
    samples[current].querySelector("h2").focus({ preventScroll: true });
  }

  function turnToOpen() {
    const isOpen = (sample) => [...sample.querySelectorAll(".item")].some((it) => !isDone(it));
    for (let step = 1; step <= samples.length; step += 1) {
      const to = (current + step) % samples.length;
      if (isOpen(samples[to])) return turn(to);
    }
    return undefined;
  }

  function cell(text) {
    const guarded = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",;\r\n]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
  }

  function table() {
    const lines = items.map((item) => {
      const cells = JSON.parse(item.dataset.cells);
      const entry = entered(item);
      const filled = header.slice(cells.length).map((name) => entry[name] || "");
      return [...cells, ...filled].map(cell).join(",");
    });
    return "\ufeff" + [header.map(cell).join(","), ...lines].join("\r\n") + "\r\n";
  }

  function download() {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([table()], { type: "text/csv;charset=utf-8" }));
    link.download = `${body.dataset.sheet}_rater_${body.dataset.rater}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    const open = items.filter((item) => !isDone(item)).length;
    say(open ? `Downloaded; ${open} items are still open.` : "Downloaded, and all items are rated.");
  }

  let lastDigit = { key: "", scale: null, at: 0 };
  function choose(scale, digit, at) {
    const isTen = digit === "0" && lastDigit.key === "1" && lastDigit.scale === scale
      && at - lastDigit.at < 1000 && scale.querySelector('input[value="10"]');
    const radio = scale.querySelector(`input[value="${isTen ? "10" : digit}"]`);
    lastDigit = { key: digit, scale, at };
    if (!radio) return;
    radio.checked = true;
    radio.focus();
    radio.dispatchEvent(new Event("change", { bubbles: true }));
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("textarea")) return;
    const scale = event.target.closest(".scale");
    if (scale && /^[0-9]$/.test(event.key)) choose(scale, event.key, event.timeStamp);
    else if (event.key === "n") turn(current + 1);
    else if (event.key === "p") turn(current - 1);
    else if (event.key === "o") turnToOpen();
    else return;
    event.preventDefault();
  });

  for (const item of items) {
    const changed = () => {
      kept[item.dataset.item] = entered(item);
      show(item);
      count();
      keep();
    };
    item.addEventListener("change", changed);
    item.addEventListener("input", changed);
    item.querySelector("[data-clear]").addEventListener("click", () => {
      for (const radio of item.querySelectorAll("input")) radio.checked = false;
      changed();
    });
  }
  find("previous").addEventListener("click", () => turn(current - 1));
  find("next").addEventListener("click", () => turn(current + 1));
  find("open").addEventListener("click", turnToOpen);
  find("download").addEventListener("click", download);

  restore();
  items.forEach(show);
  const firstOpen = samples.findIndex((it) => [...it.querySelectorAll(".item")].some((i) => !isDone(i)));
  find("help").open = Object.keys(kept).length === 0;
  turn(Math.max(0, firstOpen), false);
})();
