// The suspects, what was decided about them, and the talk with the server. Nothing counts as decided before the server
// has answered that it is on disk.
const WAIT = 15_000; // milliseconds for an answer
const LISTEN = 1_500; // milliseconds between two looks for decisions of other tabs
const SILENT =
  "The review server does not answer. What is marked as decided is saved; " +
  "start scanmix review again and open the address it prints.";
const STACK = "scanmix-undo";

export const data = {};
export const decisions = new Map(); // row -> decision as the server describes it
const listeners = [];
const tasks = { last: Promise.resolve(), generation: 0 };
let position = 0;

export class Unsaved extends Error {}

export async function load() {
  Object.assign(data, await ask("suspects"));
  data.number = data.suspects.row.length;
  data.at = new Map(data.suspects.row.map((row, at) => [row, at]));
  take(await ask("decisions?after=0"));
  listen();
}

export const onChange = (listener) => listeners.push(listener);

// What the user does, one after the other: a key pressed while an answer is awaited is about the next picture. After a
// failure the keys already pressed are forgotten, since they were meant for pictures that did not come.
export function inTurn(work) {
  const { generation } = tasks;
  tasks.last = tasks.last.then(async () => {
    if (generation !== tasks.generation) return;
    try {
      await work();
    } catch (error) {
      tasks.generation += 1;
      if (!(error instanceof Unsaved)) console.error(error);
    }
  });
  return tasks.last;
}

export async function decide(choices) {
  const answer = await ask("decisions", { after: position, choices });
  take(answer);
  remember(answer.made.map((id, k) => [choices[k].row, id]));
  return answer;
}

// The decisions to take back: the last ones of this tab; in a tab that made none, the one that is on the screen.
export async function undo(shown) {
  const stack = remembered();
  const decided = decisions.get(shown);
  const entries = stack.length ? stack[stack.length - 1] : decided ? [[shown, decided.id]] : [];
  if (!entries.length) return null;
  const answer = await ask("undo", { after: position, entries });
  if (stack.length) keep(stack.slice(0, -1));
  take(answer);
  return answer;
}

export async function takeIn(file) {
  const answer = await ask("import", file);
  take(await ask(`decisions?after=${position}`));
  return answer;
}

async function ask(path, body) {
  const sent = body instanceof Blob ? body : JSON.stringify(body);
  const options = { signal: AbortSignal.timeout(WAIT), ...(body === undefined ? {} : { method: "POST", body: sent }) };
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    return fail(SILENT);
  }
  if (!answer.ok) return fail(`Not saved: ${(await answer.text()).trim()}`);
  tell({ trouble: null });
  return answer.json();
}

function fail(sentence) {
  tell({ trouble: sentence });
  throw new Unsaved(sentence);
}

function take(answer) {
  position = Math.max(position, answer.position);
  const rows = Object.keys(answer.rows).map(Number);
  for (const row of rows) {
    if (answer.rows[row] === null) decisions.delete(row);
    else decisions.set(row, answer.rows[row]);
  }
  if (rows.length) tell({ rows });
}

function tell(news) {
  for (const listener of listeners) listener(news);
}

async function listen() {
  try {
    if (!document.hidden) await inTurn(async () => take(await ask(`decisions?after=${position}`)));
  } finally {
    setTimeout(listen, LISTEN);
  }
}

function remembered() {
  return JSON.parse(sessionStorage.getItem(STACK) ?? "{}")[data.run] ?? [];
}

function remember(entries) {
  keep([...remembered(), entries]);
}

function keep(stack) {
  sessionStorage.setItem(STACK, JSON.stringify({ [data.run]: stack.slice(-1000) }));
}
