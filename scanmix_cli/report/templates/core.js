"use strict";
// What the other parts share: the data of the page, and small helpers. Every text goes in as text, never as HTML.
const page = {};

page.byId = (id) => document.getElementById(id);

page.element = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") made.className = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
};

page.svg = (tag, attributes = {}, ...children) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};

page.percent = (share, digits = 1) => {
  if (share === null) return "–";
  // nothing is certain
  return share > 0.9995 && share < 1 ? "> 99.9 %" : `${(100 * share).toFixed(digits)} %`;
};
page.number = (value) => value.toLocaleString("en-US");
page.className = (id) => (id < 0 ? "no label" : page.data.classes[id]);
// A name within a text: one that is read from right to left turns nothing around it.
page.isolated = (name) => `\u2068${name}\u2069`;
page.quoted = (id) => `“${page.isolated(page.className(id))}”`;

page.debounced = (milliseconds, work) => {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(work, milliseconds);
  };
};

// Pictures stay text until a card wants them: one line a suspect, "picture neighbours", many lines a block.
page.lines = (at) => {
  const chunk = Math.floor(at / page.data.chunk);
  if (page.blocks[chunk] === undefined) {
    page.blocks[chunk] = page.sources[chunk].textContent.split("\n");
  }
  return page.blocks[chunk][at % page.data.chunk].split(" ");
};

page.address = (base64) => `data:image/webp;base64,${base64}`;

page.image = (base64, description) => {
  const image = page.element("img", { alt: description, decoding: "async" });
  image.addEventListener("load", () => image.classList.toggle("tiny", image.naturalWidth <= 64));
  image.src = page.address(base64);
  return image;
};

// The networks' belief in the given label, 0 to 1 upwards, over the epochs that were kept.
page.spark = (history, height) => {
  const step = 100 / Math.max(history.length - 1, 1);
  const y = (value) => (height - (value / 100) * height).toFixed(1);
  const line = history.map((value, k) => `${(k * step).toFixed(1)},${y(value)}`).join(" L");
  return page.svg(
    "svg",
    {
      viewBox: `0 0 100 ${height}`,
      preserveAspectRatio: "none",
      class: "spark",
      "aria-hidden": "true",
      focusable: "false",
    },
    page.svg("path", { class: "base", d: `M0,${height} H100 M0,0 H100` }),
    page.svg("path", { class: "line", d: history.length > 1 ? `M${line}` : `M0,${y(history[0])} H100` }),
  );
};

page.historyWords = (at) => {
  const { history, given } = page.data.suspects;
  const values = history[at];
  return `belief in ${page.quoted(given[at])}: ${values[0]} → ${values.at(-1)} %`;
};

page.change = (tag, at) => {
  const { given, suggested } = page.data.suspects;
  return page.element(
    tag,
    { class: "change" },
    page.element("bdi", { class: "was", title: page.className(given[at]) }, page.className(given[at])),
    page.element("span", { "aria-label": "should be", role: "img" }, "→"),
    page.element("bdi", { class: "is", title: page.className(suggested[at]) }, page.className(suggested[at])),
  );
};

// How many of the neighbours back the suggestion.
page.votes = (at) => {
  const { near, suggested } = page.data.suspects;
  const agree = near[at].filter((id) => id === suggested[at]).length;
  return `${agree} of ${near[at].length} nearest are ${page.quoted(suggested[at])}`;
};

page.near = (at, strip) => {
  const { near, suggested } = page.data.suspects;
  const names = near[at].map(page.className);
  const shown = page.element("span", { class: "near" });
  // the strip has always as many places as there are neighbours
  shown.append(page.image(strip, `Nearest images, labelled ${names.join(", ")}`));
  const labels = page.element("span", { class: "names", "aria-hidden": "true" });
  near[at].forEach((id, k) => {
    labels.append(page.element("bdi", { class: id === suggested[at] ? "agrees" : "", title: names[k] }, names[k]));
  });
  shown.append(labels);
  shown.style.maxWidth = `${3.1 * names.length}rem`;
  return shown;
};
