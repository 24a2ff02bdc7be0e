// The picture in full size: wheel, buttons, + − 0 and a double click zoom; dragging, scrolling and arrows move it.
import { byId, className, picture, shut } from "./dom.js";
import { data } from "./store.js";

const STEP = 1.5;
const LARGEST = 8; // times the size that fits, or the size in the file
const dialog = byId("zoom");
const box = byId("zoomed");
let image = null;
let scale = 1;
let fitted = 1;

export function openZoom(at) {
  const { suspects } = data;
  image = picture(suspects.row[at], "full", `Picture given as ${className(suspects.given[at])}`);
  image.addEventListener("load", fit);
  byId("zoom-name").textContent = suspects.file[at];
  box.replaceChildren(image);
  dialog.showModal();
  box.focus();
}

function fit() {
  fitted = Math.min(box.clientWidth / image.naturalWidth, box.clientHeight / image.naturalHeight);
  set(fitted);
}

// Keep the spot under (x, y), in pixels of the box, where it is.
function set(wanted, x = box.clientWidth / 2, y = box.clientHeight / 2) {
  const before = image.getBoundingClientRect();
  const frame = box.getBoundingClientRect();
  const [left, top] = [frame.left + x - before.left, frame.top + y - before.top];
  const grown = Math.min(Math.max(wanted, Math.min(fitted, 1)), LARGEST * Math.max(fitted, 1)) / scale;
  scale *= grown;
  image.style.width = `${image.naturalWidth * scale}px`;
  const after = image.getBoundingClientRect();
  box.scrollLeft += after.left + left * grown - (frame.left + x);
  box.scrollTop += after.top + top * grown - (frame.top + y);
  byId("zoom-scale").textContent = `${Math.round(100 * scale)} %`;
}

const acts = { in: () => set(scale * STEP), out: () => set(scale / STEP), fit, close: () => shut(dialog) };

for (const button of dialog.querySelectorAll("[data-zoom]")) {
  button.addEventListener("click", () => acts[button.dataset.zoom]());
}

dialog.addEventListener("keydown", (event) => {
  const act = { "+": "in", "=": "in", "-": "out", "0": "fit", f: "close" }[event.key];
  if (act && !event.ctrlKey && !event.metaKey) {
    acts[act]();
    event.preventDefault();
  }
});

box.addEventListener("wheel", (event) => {
  event.preventDefault();
  const frame = box.getBoundingClientRect();
  set(scale * Math.exp(-event.deltaY / 400), event.clientX - frame.left, event.clientY - frame.top);
}, { passive: false });

box.addEventListener("dblclick", (event) => {
  const frame = box.getBoundingClientRect();
  set(scale > fitted * 1.01 ? fitted : fitted * 3, event.clientX - frame.left, event.clientY - frame.top);
});

box.addEventListener("pointerdown", (down) => {
  if (down.pointerType !== "mouse" || down.button !== 0) return;
  const [left, top] = [box.scrollLeft, box.scrollTop];
  const drag = (move) => {
    box.scrollLeft = left - (move.clientX - down.clientX);
    box.scrollTop = top - (move.clientY - down.clientY);
  };
  box.setPointerCapture(down.pointerId);
  box.addEventListener("pointermove", drag);
  box.addEventListener("pointerup", () => box.removeEventListener("pointermove", drag), { once: true });
});
