// A dialog to choose a class from: the likeliest first, the others by name; typing narrows the list down.
import { byId, element, name, percent, shut } from "./dom.js";
import { data } from "./store.js";

const dialog = byId("chooser");
const text = byId("chooser-text");
const list = byId("chooser-list");
let offered = []; // [class number, share or null]
let active = 0;
let answer = null;

// Resolves to a class number, or to null when the user leaves.
export function chooseClass(likely) {
  const first = new Set(likely.map(([id]) => id));
  const rest = data.classes.map((_, id) => [id, null]).filter(([id]) => !first.has(id));
  const all = [...likely, ...rest];
  answer = null;
  text.value = "";
  const draw = () => {
    const wanted = text.value.toLocaleLowerCase();
    offered = all.filter(([id]) => data.classes[id].toLocaleLowerCase().includes(wanted));
    list.replaceChildren(...offered.map(([id, share], k) => option(id, share, k)));
    move(0);
  };
  text.oninput = draw;
  draw();
  dialog.showModal();
  text.focus();
  return new Promise((resolve) => dialog.addEventListener("close", () => resolve(answer), { once: true }));
}

function option(id, share, k) {
  const made = element("li", { role: "option", id: `class-${k}` }, name(id));
  if (share !== null) made.append(element("span", { class: "share", text: percent(share) }));
  made.addEventListener("click", () => finish(id));
  return made;
}

function move(to) {
  active = Math.min(Math.max(to, 0), offered.length - 1);
  for (const [k, item] of [...list.children].entries()) item.setAttribute("aria-selected", String(k === active));
  if (active >= 0) {
    text.setAttribute("aria-activedescendant", `class-${active}`);
    list.children[active].scrollIntoView({ block: "nearest" });
  } else text.removeAttribute("aria-activedescendant");
}

function finish(id) {
  answer = id;
  shut(dialog);
}

text.addEventListener("keydown", (event) => {
  const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 };
  if (event.key in steps) move(active + steps[event.key]);
  else if (event.key === "Enter" && active >= 0) finish(offered[active][0]);
  else return;
  event.preventDefault();
});
