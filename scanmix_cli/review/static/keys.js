// One key, one act. Keys can be switched off, and never act while something is being typed.
import { byId, shut } from "./dom.js";

const KEYS = {
  a: "accept", k: "keep", c: "choose", d: "drop", u: "unsure", z: "undo", g: "view", f: "zoom", "?": "keys",
  ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down",
  PageUp: "page-up", PageDown: "page-down", " ": "select",
  1: 0, 2: 1, 3: 2, 4: 3, 5: 4,
};

// `act` returns whether the key meant something; if not, the browser may have it.
export function bindKeys(act) {
  document.addEventListener("keydown", (event) => {
    const dialog = event.target.closest("dialog");
    if (event.key === "Escape" && dialog) shut(dialog); // at once; the browser takes its time
    const typing = event.target.closest("select, input:not([type=checkbox]), textarea, dialog[open]");
    const named = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    const undo = (event.ctrlKey || event.metaKey) && named === "undo" && !event.shiftKey;
    if (typing || named === undefined || event.altKey || ((event.ctrlKey || event.metaKey) && !undo)) return;
    if (event.key.length === 1 && event.key !== "?" && !undo && !byId("keys-on").checked) return;
    const presses = event.target.closest("button, input, summary, a") && !event.target.closest(".card .open");
    if (event.key === " " && presses) return;
    if (act(named)) event.preventDefault();
  });
}
