// Which suspects are worked on, in which order, where we are, and what a decision about one of them is.
import { className, inText } from "./dom.js";
import { data, decisions } from "./store.js";

export const work = { list: [], at: 0, view: "single" };
const WORDS = { keep: "keep", drop: "drop", unsure: "unsure" };

export const current = () => (work.list.length ? work.list[work.at] : -1);
export const rowOf = (at) => data.suspects.row[at];
export const decisionOf = (at) => decisions.get(rowOf(at));

export function choose({ given, show, order }) {
  const { suspects } = data;
  const before = current();
  const fits = (at) => {
    const kind = decisionOf(at)?.decision;
    const shown = { all: true, open: !kind, decided: Boolean(kind), unsure: kind === "unsure" }[show];
    return shown && (given === "" || suspects.given[at] === Number(given));
  };
  work.list = [...suspects.row.keys()].filter(fits);
  if (order === "class") work.list.sort((a, b) => suspects.given[a] - suspects.given[b] || a - b);
  work.at = Math.max(work.list.indexOf(before), 0);
}

// The next suspect without a decision after this place, from the start again at the end; null where there is none.
export function nextOpen(from) {
  for (let step = 1; step <= work.list.length; step += 1) {
    const at = (from + step) % work.list.length;
    if (!decisionOf(work.list[at])) return at;
  }
  return null;
}

export function decidedCount() {
  return data.suspects.row.reduce((sum, row) => sum + decisions.has(row), 0);
}

export function suggestion(at) {
  const { action, given, suggested } = data.suspects;
  if (action[at] === "drop") return { decision: "drop" };
  return suggested[at] < 0 ? { decision: "unsure" } : labelled(at, suggested[at]);
}

export function suggestionWords(at) {
  const { decision, label } = suggestion(at);
  return decision === "relabel" ? className(label) : decision;
}

export function labelled(at, id) {
  return id === data.suspects.given[at] ? { decision: "keep" } : { decision: "relabel", label: id };
}

export function choiceOf(at, act) {
  const found = act === "accept" ? suggestion(at) : typeof act === "number" ? labelled(at, act) : { decision: act };
  return { row: rowOf(at), ...found };
}

export function words(decision) {
  const { decision: kind, name, label } = decision;
  return kind === "relabel" ? inText(name || className(label)) : WORDS[kind];
}
