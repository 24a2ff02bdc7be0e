// One suspect: the picture, what speaks for and against its label, and the buttons.
import { byId, className, element, isolated, longSide, name, percent, picture, spark } from "./dom.js";
import { data } from "./store.js";
import { current, decisionOf, suggestionWords, words, work } from "./suspects.js";

const AHEAD = 4;
const TIMES = 12; // larger than in the file, at most, for tiny pictures
const waiting = []; // pictures under way for the next suspects
let drawn = -1;

export function drawSingle() {
  const at = current();
  const { suspects } = data;
  if (at !== drawn) {
    drawn = at;
    const given = className(suspects.given[at]);
    const shown = picture(suspects.row[at], "view", `Suspect, given label ${given}`);
    // a picture of a few pixels is easier to recognise when it does not fill the screen
    shown.addEventListener("load", () => {
      if (!shown.classList.contains("tiny")) return;
      shown.style.maxWidth = `${TIMES * longSide(shown)}px`;
      shown.style.maxHeight = shown.style.maxWidth;
    });
    byId("enlarge").replaceChildren(shown);
    byId("file-name").textContent = suspects.file[at];
    byId("file-name").title = suspects.file[at];
    byId("rank").textContent = suspects.rank[at] === null ? "not ranked" : `Rank ${suspects.rank[at]}`;
    drawChange(at);
    drawReasons(at);
    fetchAhead();
  }
  const decision = decisionOf(at);
  const badge = byId("decided");
  badge.hidden = !decision;
  if (decision) badge.textContent = `decided: ${words(decision)}${decision.who ? `, ${decision.who}` : ""}`;
}

function drawChange(at) {
  const { suspects } = data;
  const proposal = suggestionWords(at);
  const arrow = element("span", { class: "arrow", role: "img", "aria-label": "suggested:", text: "→" });
  byId("change").replaceChildren(name(suspects.given[at], "was"), arrow, isolated(proposal, "is"));
  const known = suspects.p[at] !== null;
  const wrong = known ? [element("b", { text: percent(suspects.p[at]) }), " that the given label is wrong"] : [];
  byId("sure").replaceChildren(...wrong);
  byId("accept-words").replaceChildren("Accept ", isolated(proposal));
  byId("keep-words").replaceChildren("Keep ", ...(suspects.given[at] < 0 ? [] : [name(suspects.given[at])]));
}

function drawReasons(at) {
  const { suspects } = data;
  byId("likely").replaceChildren(...suspects.likely[at].map(([id, share], k) =>
    element("button", { type: "button", "data-class": id, "aria-label": `Take ${className(id)}, ${percent(share)}` },
      element("kbd", { text: k + 1 }), name(id), element("span", { class: "share", text: percent(share) }))));
  byId("likely-part").hidden = !suspects.likely[at].length;
  byId("near").replaceChildren(...suspects.near_rows[at].map((row, k) => {
    const id = suspects.near[at][k];
    const agrees = id === suspects.given[at] ? "given" : id === suspects.suggested[at] ? "agrees" : "";
    return element("li", { class: agrees }, element("span", { class: "frame" }, picture(row, "small", "")), name(id));
  }));
  byId("near-part").hidden = !suspects.near_rows[at].length;
  const history = suspects.history[at];
  byId("history-part").hidden = !history.length;
  if (history.length) {
    const end = history[history.length - 1];
    const course = `from ${history[0]} % in epoch ${data.suspects.epochs[0]} to ${end} % at the end`;
    byId("history").replaceChildren(spark(history, course), element("p", { class: "hint", text: course }));
  }
}

function fetchAhead() {
  waiting.length = 0;
  for (const at of work.list.slice(work.at + 1, work.at + 1 + AHEAD)) {
    const sizes = [[data.suspects.row[at], "view"], ...data.suspects.near_rows[at].map((row) => [row, "small"])];
    for (const [row, size] of sizes) {
      const image = new Image();
      image.src = `picture/${row}/${size}`;
      waiting.push(image);
    }
  }
}
