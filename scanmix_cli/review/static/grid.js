// Many suspects on pages, to be decided by the dozen.
import { byId, className, element, isolated, name, number, percent, picture } from "./dom.js";
import { data } from "./store.js";
import { decisionOf, rowOf, suggestion, suggestionWords, words, work } from "./suspects.js";

export const PAGE = 60;
export const selection = new Set(); // places among the suspects
let drawn = "";

export const page = () => work.list.slice(start(), start() + PAGE);
const start = () => Math.floor(work.at / PAGE) * PAGE;

export function drawGrid(open) {
  const shown = page();
  const key = shown.join();
  if (key !== drawn) {
    drawn = key;
    selection.clear();
    byId("cards").replaceChildren(...shown.map((at) => card(at, open)));
  }
  for (const at of shown) update(at);
  const all = shown.length > 0 && shown.every((at) => selection.has(at));
  byId("select-page").checked = all;
  byId("select-page").indeterminate = !all && selection.size > 0;
  byId("selected").textContent = `${number(selection.size)} selected`;
  byId("for-selected").hidden = !selection.size;
  byId("for-all").hidden = selection.size > 0;
  const sure = sureOnes().length;
  byId("accept-sure").textContent = `Accept ${number(sure)} ${sure === 1 ? "suggestion" : "suggestions"}`;
  byId("accept-sure").disabled = !sure;
}

export function sureOnes() {
  const least = Number(byId("least").value) / 100;
  const { p_suggested: p } = data.suspects;
  const isSure = (at) => p[at] !== null && p[at] >= least;
  return work.list.filter((at) => !decisionOf(at) && suggestion(at).decision === "relabel" && isSure(at));
}

export const cardOf = (at) => byId("cards").querySelector(`[data-at="${at}"]`);
export const focusCard = (at) => cardOf(at)?.querySelector(".open").focus();

// The place of the card that has the focus, -1 without one.
export function focused() {
  const found = document.activeElement?.closest?.("[data-at]");
  return found ? Number(found.dataset.at) : -1;
}

export function toggle(at) {
  if (!selection.delete(at)) selection.add(at);
}

export function columns() {
  return getComputedStyle(byId("cards")).gridTemplateColumns.split(" ").length;
}

function card(at, open) {
  const { suspects } = data;
  const given = className(suspects.given[at]);
  const button = element("button", { type: "button", class: "open frame" }, picture(rowOf(at), "card", ""));
  button.addEventListener("click", () => open(at));
  const box = element("input", { type: "checkbox", "aria-label": `Select ${suspects.file[at]}` });
  button.setAttribute("aria-label", `${suspects.file[at]}: ${given}, suggested ${suggestionWords(at)}`);
  return element("li", { class: "card", "data-at": at },
    button, box,
    element("p", { class: "change small" },
      name(suspects.given[at], "was"),
      element("span", { "aria-hidden": "true", text: "→" }),
      isolated(suggestionWords(at), "is")),
    element("p", { class: "top" },
      element("span", { text: `wrong ${percent(suspects.p[at])}` }),
      element("span", { class: "badge", hidden: "" })));
}

function update(at) {
  const shown = cardOf(at);
  const decision = decisionOf(at);
  shown.classList.toggle("done", Boolean(decision));
  shown.classList.toggle("chosen", selection.has(at));
  shown.querySelector("input").checked = selection.has(at);
  const badge = shown.querySelector(".badge");
  badge.hidden = !decision;
  badge.textContent = decision ? words(decision) : "";
}
