// Small helpers. Every text goes in as text, never as HTML.
import { data } from "./store.js";

export const byId = (id) => document.getElementById(id);

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") made.className = value;
    else if (name === "text") made.textContent = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

function svg(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const TINY = 96; // pixels
export const longSide = (image) => Math.max(image.naturalWidth, image.naturalHeight);
export const percent = (share) => (share === null ? "–" : `${(100 * share).toFixed(share > 0.999 ? 0 : 1)} %`);
export const number = (value) => value.toLocaleString("en-US");
export const className = (id) => (id < 0 ? "no label" : data.classes[id]);
// A name within a text: one that is read from right to left turns nothing around it.
export const inText = (text) => `\u2068${text}\u2069`;
export const isolated = (text, css = "") => element("bdi", { class: css, title: text, text });
export const name = (id, css = "") => isolated(className(id), css);

// A picture by row number; where there is none, the reason stands in its place.
export function picture(row, size, description) {
  const address = `picture/${row}/${size}`;
  const image = element("img", { alt: description, decoding: "async", draggable: "false" });
  if (size !== "view" && size !== "full") image.loading = "lazy";
  image.addEventListener("load", () => image.classList.toggle("tiny", longSide(image) <= TINY));
  image.addEventListener("error", async () => {
    const reason = await fetch(address).then((answer) => answer.text(), () => "the server does not answer");
    image.replaceWith(element("span", { class: "missing", text: `no picture: ${reason.trim()}` }));
  });
  image.src = address;
  return image;
}

// The networks' belief in the given label, 0 to 1 upwards, over the epochs that were kept.
export function spark(history, description) {
  const height = 32;
  const step = 100 / Math.max(history.length - 1, 1);
  const y = (value) => (height - (value / 100) * height).toFixed(1);
  const line = history.map((value, k) => `${(k * step).toFixed(1)},${y(value)}`).join(" L");
  const shape = { viewBox: `0 0 100 ${height}`, preserveAspectRatio: "none" };
  return svg(
    "svg",
    { ...shape, class: "spark", role: "img", "aria-label": description },
    svg("path", { class: "base", d: `M0,${height} H100 M0,0 H100` }),
    svg("path", { class: "line", d: history.length > 1 ? `M${line}` : `M0,${y(history[0])} H100` }),
  );
}

// Close a dialog so that the very next key is the page's: the browser leaves the focus in it for a moment.
export function shut(dialog) {
  dialog.close();
  if (dialog.contains(document.activeElement)) document.activeElement.blur();
}

export function say(sentence) {
  byId("said").textContent = sentence;
}

let gone = 0;
export function toast(sentence) {
  const box = byId("toast");
  box.textContent = sentence;
  box.hidden = false;
  say(sentence);
  clearTimeout(gone);
  gone = setTimeout(() => (box.hidden = true), 6000);
}
