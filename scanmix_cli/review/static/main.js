// Puts the page together: filters, the two views, decisions, undo, CSV, theme.
import { chooseClass } from "./chooser.js";
import { byId, className, element, inText, number, say, shut, toast } from "./dom.js";
import { PAGE, columns, drawGrid, focusCard, focused, page, selection, sureOnes, toggle } from "./grid.js";
import { bindKeys } from "./keys.js";
import { drawSingle } from "./single.js";
import { data, decide, decisions, inTurn, load, onChange, takeIn, undo } from "./store.js";
import { choiceOf, choose, current, decidedCount, nextOpen, rowOf, suggestionWords, words, work } from "./suspects.js";
import { openZoom } from "./zoom.js";

const filters = () => ({ given: byId("given").value, show: byId("show").value, order: byId("order").value });

function draw() {
  const decided = decidedCount();
  byId("progress").max = Math.max(data.number, 1);
  byId("progress").value = decided;
  byId("progress-words").textContent = `${number(decided)} of ${number(data.number)} decided`;
  const empty = !work.list.length;
  byId("single").hidden = empty || work.view !== "single";
  byId("grid").hidden = empty || work.view !== "grid";
  byId("empty").hidden = !empty;
  byId("empty").textContent = data.number ? "No suspect fits this choice." : "No label of this run looks wrong.";
  byId("to-single").setAttribute("aria-pressed", String(work.view === "single"));
  byId("to-grid").setAttribute("aria-pressed", String(work.view === "grid"));
  byId("place").textContent = placeWords();
  if (empty) return;
  if (work.view === "single") drawSingle();
  else drawGrid((at) => show("single", at));
}

function placeWords() {
  const all = number(work.list.length);
  if (!work.list.length) return "none";
  if (work.view === "single") return `${number(work.at + 1)} of ${all}`;
  const first = Math.floor(work.at / PAGE) * PAGE;
  return `${number(first + 1)} to ${number(Math.min(first + PAGE, work.list.length))} of ${all}`;
}

function show(view, at = current()) {
  work.view = view;
  work.at = Math.max(work.list.indexOf(at), 0);
  draw();
  if (view === "grid") focusCard(current());
  else scrollTo(0, 0);
}

function go(to) {
  if (!work.list.length) return;
  work.at = Math.min(Math.max(to, 0), work.list.length - 1);
  draw();
}

const turn = (pages) => go((Math.floor(work.at / PAGE) + pages) * PAGE);

// What the next decision is about: the selection, the card with the focus, or the picture on the screen.
function targets() {
  if (!work.list.length) return [];
  if (work.view === "single") return [current()];
  return selection.size ? [...selection] : [focused()].filter((at) => at >= 0);
}

async function act(what, chosen = targets()) {
  if (!chosen.length) return;
  const answer = await decide(chosen.map((at) => choiceOf(at, what)));
  selection.clear();
  const done = chosen.length === 1 ? words(decisions.get(rowOf(chosen[0]))) : `${number(chosen.length)} decided`;
  if (work.view === "single") advance(done);
  else {
    if (chosen.length === 1) work.at = Math.min(work.list.indexOf(chosen[0]) + 1, work.list.length - 1);
    draw();
    if (chosen.length === 1) focusCard(current());
    if (chosen.length > 1) toast(`${done}; Z takes them back.`);
  }
  const old = answer.overtaken[0];
  if (old) toast(`“${words(old)}” by ${old.who || "another tab"} stood there; yours counts now, Z brings it back.`);
}

function advance(done) {
  const next = nextOpen(work.at);
  if (next === null) {
    draw();
    toast(`${done}. Every suspect of this choice is decided.`);
    return;
  }
  go(next);
  const given = className(data.suspects.given[current()]);
  say(`${done}. Next: given ${given}, suggested ${suggestionWords(current())}.`);
}

async function pick() {
  const chosen = targets();
  if (!chosen.length) return;
  const id = await chooseClass(data.suspects.likely[chosen[0]]);
  if (id !== null) await act(id, chosen);
}

async function takeBack() {
  const answer = await undo(work.list.length ? rowOf(current()) : -1);
  if (answer === null) {
    toast("Nothing to undo: this tab has made no decision, and none stands on this picture.");
    return;
  }
  const at = data.at.get(answer.undone[0]);
  if (at !== undefined && work.list.includes(at)) go(work.list.indexOf(at));
  else draw();
  if (work.view === "grid") focusCard(current());
  const left = answer.later.length ? ` ${number(answer.later.length)} decided again since and left as it is.` : "";
  toast(`${number(answer.undone.length)} taken back.${left}`);
}

function acceptSure() {
  const chosen = sureOnes();
  byId("sure-question").textContent = `Accept ${number(chosen.length)} suggestions?`;
  byId("sure-dialog").showModal();
  byId("sure-yes").onclick = () => {
    shut(byId("sure-dialog"));
    inTurn(() => act("accept", chosen));
  };
}

// The suspect that a key is about: in the grid the one with the focus.
const meant = () => (work.view === "grid" && focused() >= 0 ? focused() : current());

function step(key) {
  if (work.view === "single") {
    if (key === "left" || key === "right") go(work.at + (key === "right" ? 1 : -1));
    return key === "left" || key === "right";
  }
  if (key === "page-up" || key === "page-down") turn(key === "page-down" ? 1 : -1);
  else {
    const by = { left: -1, right: 1, up: -columns(), down: columns() }[key];
    if (focused() >= 0) go(work.list.indexOf(focused()) + by);
  }
  focusCard(current());
  return true;
}

function onKey(what) {
  if (typeof what === "number") {
    const id = work.list.length ? data.suspects.likely[current()][what]?.[0] : undefined;
    if (id !== undefined && work.view === "single") inTurn(() => act(data.suspects.likely[current()][what][0]));
    return id !== undefined;
  }
  if (what === "keys") byId("keys").showModal();
  else if (what === "view") inTurn(async () => show(work.view === "single" ? "grid" : "single", meant()));
  else if (what === "zoom") inTurn(async () => work.list.length && openZoom(meant()));
  else if (what === "select") {
    if (work.view !== "grid" || focused() < 0) return false;
    toggle(focused());
    draw();
  } else if (/^(left|right|up|down|page-.*)$/.test(what)) {
    if (work.view === "single" && !/^(left|right)$/.test(what)) return false;
    inTurn(async () => step(what));
  } else run(what);
  return true;
}

function run(what) {
  if (what === "undo") inTurn(takeBack);
  else if (what === "choose") inTurn(pick);
  else inTurn(() => act(what));
}

function bind() {
  bindKeys(onKey);
  byId("actions").addEventListener("click", (event) => {
    const button = event.target.closest("[data-act]");
    if (button) run(button.dataset.act);
  });
  byId("likely").addEventListener("click", (event) => {
    const button = event.target.closest("[data-class]");
    if (button) inTurn(() => act(Number(button.dataset.class)));
  });
  byId("bulk").addEventListener("click", (event) => {
    const button = event.target.closest("[data-bulk]");
    if (button) inTurn(() => act(button.dataset.bulk));
  });
  byId("cards").addEventListener("change", (event) => {
    toggle(Number(event.target.closest("[data-at]").dataset.at));
    draw();
  });
  byId("select-page").addEventListener("change", (event) => {
    selection.clear();
    if (event.target.checked) for (const at of page()) selection.add(at);
    draw();
  });
  byId("filters").addEventListener("change", () => {
    choose(filters());
    draw();
  });
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("previous").addEventListener("click", () => (work.view === "grid" ? turn(-1) : go(work.at - 1)));
  byId("next").addEventListener("click", () => (work.view === "grid" ? turn(1) : go(work.at + 1)));
  byId("to-single").addEventListener("click", () => show("single"));
  byId("to-grid").addEventListener("click", () => show("grid"));
  byId("enlarge").addEventListener("click", () => openZoom(current()));
  byId("least").addEventListener("input", draw);
  byId("accept-sure").addEventListener("click", acceptSure);
  byId("sure-no").addEventListener("click", () => shut(byId("sure-dialog")));
  byId("keys-close").addEventListener("click", () => shut(byId("keys")));
  bindMenu();
}

function bindMenu() {
  const close = () => (byId("menu").open = false);
  byId("download").addEventListener("click", close);
  byId("show-keys").addEventListener("click", () => {
    close();
    byId("keys").showModal();
  });
  byId("take-in").addEventListener("click", () => {
    close();
    byId("file").click();
  });
  byId("file").addEventListener("change", () => {
    const [file] = byId("file").files;
    byId("file").value = "";
    if (file) inTurn(async () => {
      const { new: added, known, left, foreign, repeated } = await takeIn(file);
      const kept = left ? `, ${number(left)} left as people decided` : "";
      const others = `${number(known)} known already${kept}, ${number(foreign)} about no image of this run`;
      const several = repeated ? `, ${number(repeated)} about several (add the column row)` : "";
      toast(`${number(added)} new decisions, ${others}${several}.`);
    });
  });
  document.addEventListener("click", (event) => event.target.closest("#menu") || close());
  const themes = ["system", "light", "dark"];
  const apply = (theme) => {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    byId("theme").textContent = `Theme: ${theme}`;
    localStorage.setItem("scanmix-theme", theme);
  };
  const chosen = () => localStorage.getItem("scanmix-theme") ?? "system";
  byId("theme").addEventListener("click", () => apply(themes[(themes.indexOf(chosen()) + 1) % themes.length]));
  apply(chosen());
}

function onNews({ trouble, rows }) {
  if (trouble !== undefined) {
    byId("banner").hidden = trouble === null;
    byId("banner").textContent = trouble ?? "";
  }
  if (rows && document.body.dataset.ready) draw();
}

function fillClasses() {
  const counts = new Map();
  for (const id of data.suspects.given) counts.set(id, (counts.get(id) ?? 0) + 1);
  const ids = [...counts.keys()].sort((a, b) => a - b);
  const option = (id) => element("option", { value: id, text: `${inText(className(id))} (${number(counts.get(id))})` });
  byId("given").append(...ids.map(option));
}

onChange(onNews);
bind();
await load();
document.title = `${data.name}: review`;
byId("name").textContent = data.name;
fillClasses();
choose(filters());
if (work.list.length) work.at = nextOpen(-1) ?? 0;
document.body.dataset.ready = "yes";
draw();
