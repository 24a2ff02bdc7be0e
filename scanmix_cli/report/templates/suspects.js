// The suspects: filters, order, and a list of which only the visible part exists.
page.deck = { view: [], columns: 1, rowHeight: 1, cards: new Map(), active: 0, onPaper: false };

page.card = (place) => {
  const { deck } = page;
  const at = deck.view[place];
  const { p, action, file, rank, history, near, given, suggested } = page.data.suspects;
  const [picture, strip] = page.lines(at);
  const label =
    `Rank ${rank[at]}: given ${page.className(given[at])}, suggested ${page.className(suggested[at])}, ` +
    `${page.percent(p[at])} wrong, ${action[at]}`;
  // the button lies over the card, so what is cut short there is told in full by the button
  const title = `${page.isolated(page.className(given[at]))} → ${page.isolated(page.className(suggested[at]))}`;
  const open = page.element("button", { type: "button", class: "open", "aria-label": label, title, tabindex: "-1" });
  open.addEventListener("click", () => page.openDetail(place));
  open.addEventListener("focus", () => page.activate(place));
  const words = page.element(
    "div",
    { class: "words" },
    page.element(
      "div",
      { class: "top" },
      `#${rank[at]}`,
      page.element("span", { class: `tag${action[at] === "review" ? "" : " hot"}` }, action[at]),
    ),
    page.change("h3", at),
    page.element("div", { class: "sure" }, page.element("b", {}, page.percent(p[at])), " wrong"),
    page.meter(p[at]),
  );
  if (history[at].length)
    words.append(page.spark(history[at], 30), page.element("div", { class: "belief" }, page.historyWords(at)));
  const card = page.element(
    "div",
    { class: "card", role: "listitem", "aria-posinset": place + 1, "aria-setsize": deck.view.length },
    page.element("div", { class: "picture" }, picture ? page.image(picture, "") : "no picture"),
    words,
  );
  if (near[at].length && strip) {
    card.append(
      page.element(
        "div",
        { class: "why" },
        page.near(at, strip),
        page.element("span", { class: "cap" }, page.votes(at)),
      ),
    );
  }
  card.append(page.element("bdi", { class: "file", title: file[at] }, file[at]), open);
  return card;
};

page.meter = (share) => {
  const bar = page.element("i");
  bar.style.width = `${100 * share}%`;
  return page.element("div", { class: "meter", "aria-hidden": "true" }, bar);
};

// Sizes that depend on the window; the height of a card is the style's.
page.measure = () => {
  const { deck } = page;
  const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
  const width = page.byId("list").clientWidth;
  deck.gap = rem * 0.9;
  deck.columns = Math.max(1, Math.floor((width + deck.gap) / (21 * rem)));
  deck.cardHeight = rem * parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--card-height"));
  deck.rowHeight = deck.cardHeight + deck.gap;
  page.byId("list").style.height = `${Math.ceil(deck.view.length / deck.columns) * deck.rowHeight}px`;
};

page.place = (card, place) => {
  const { columns, gap, rowHeight } = page.deck;
  const share = `(100% + ${gap}px) / ${columns}`;
  card.style.top = `${Math.floor(place / columns) * rowHeight}px`;
  card.style.left = `calc(${place % columns} * ${share})`;
  card.style.width = `calc(${share} - ${gap}px)`;
};

// Make the cards in and around the visible part, and drop the others but the one that has the focus.
page.draw = () => {
  const { deck } = page;
  if (deck.onPaper) return page.keep(0, Math.min(PRINTED, deck.view.length));
  const box = page.byId("deck");
  const spare = 2 * deck.rowHeight;
  const first = Math.max(0, Math.floor((box.scrollTop - spare) / deck.rowHeight)) * deck.columns;
  const last = Math.min(
    deck.view.length,
    Math.ceil((box.scrollTop + box.clientHeight + spare) / deck.rowHeight) * deck.columns,
  );
  page.keep(first, last);
};

page.keep = (first, last) => {
  const { deck } = page;
  for (const [place, card] of deck.cards) {
    if ((place < first || place >= last) && !card.contains(document.activeElement)) {
      card.remove();
      deck.cards.delete(place);
    }
  }
  const fresh = document.createDocumentFragment();
  for (let place = first; place < last; place += 1) {
    if (deck.cards.has(place)) continue;
    const card = page.card(place);
    page.place(card, place);
    deck.cards.set(place, card);
    fresh.append(card);
  }
  page.byId("list").append(fresh);
  page.markActive();
};

// One card of the list is in the order of the tab key; the arrow keys change which.
page.markActive = () => {
  const { deck } = page;
  if (!deck.cards.has(deck.active)) deck.active = Math.min(...deck.cards.keys(), deck.view.length);
  for (const [place, card] of deck.cards) card.lastChild.tabIndex = place === deck.active ? 0 : -1;
};

page.activate = (place) => {
  page.deck.active = place;
  page.markActive();
};

page.goTo = (place) => {
  const { deck } = page;
  const box = page.byId("deck");
  const top = Math.floor(place / deck.columns) * deck.rowHeight;
  if (top < box.scrollTop) box.scrollTop = top;
  else if (top + deck.rowHeight > box.scrollTop + box.clientHeight)
    box.scrollTop = top + deck.rowHeight - box.clientHeight + deck.gap;
  deck.active = place;
  page.draw();
  deck.cards.get(place).lastChild.focus({ preventScroll: true });
};

page.redraw = () => {
  const { deck } = page;
  for (const card of deck.cards.values()) card.remove();
  deck.cards.clear();
  page.measure();
  page.draw();
};

const ORDERS = {
  rank: null,
  sure: (s) => (a, b) => s.p_suggested[b] - s.p_suggested[a],
  unsure: (s) => (a, b) => (s.p_suggested[a] ?? 2) - (s.p_suggested[b] ?? 2),
  agreement: (s) => (a, b) => (s.agreement[a] ?? 2) - (s.agreement[b] ?? 2),
  loss: (s) => (a, b) => s.loss[b] - s.loss[a],
  fit: (s) => (a, b) => (s.fit[a] ?? 2) - (s.fit[b] ?? 2),
  given: (s) => (a, b) => s.given[a] - s.given[b],
  suggested: (s) => (a, b) => s.suggested[a] - s.suggested[b],
  file: (s) => (a, b) => (s.file[a] < s.file[b] ? -1 : Number(s.file[a] > s.file[b])),
};

page.filter = () => {
  const { deck, data } = page;
  const s = data.suspects;
  const wanted = (id) => (page.byId(id).value === "" ? null : Number(page.byId(id).value));
  const given = wanted("given");
  const suggested = wanted("suggested");
  const least = Number(page.byId("least").value) / 100;
  const actions = new Set([...document.querySelectorAll("[name=action]:checked")].map((box) => box.value));
  const words = page.byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  page.byId("least-out").value = `${page.byId("least").value} %`;
  const view = [];
  for (let at = 0; at < s.file.length; at += 1) {
    if (given !== null && s.given[at] !== given) continue;
    if (suggested !== null && s.suggested[at] !== suggested) continue;
    if (!actions.has(s.action[at]) || s.p[at] < least) continue;
    if (words.length && !words.every((word) => page.haystack(at).includes(word))) continue;
    view.push(at);
  }
  const order = ORDERS[page.byId("sort").value];
  if (order) view.sort(order(s)); // the sort is stable, so ties stay in rank order
  deck.view = view;
  deck.active = 0;
  page.byId("deck").scrollTop = 0;
  page.byId("empty").hidden = view.length > 0;
  page.byId("status").textContent =
    view.length === s.file.length
      ? `${page.number(view.length)} suspects`
      : `${page.number(view.length)} of ${page.number(s.file.length)} suspects`;
  page.redraw();
};

page.haystack = (at) => {
  const s = page.data.suspects;
  page.texts[at] ??= `${s.file[at]} ${page.className(s.given[at])} ${page.className(s.suggested[at])}`.toLowerCase();
  return page.texts[at];
};

page.showOnly = (given, suggested) => {
  page.byId("filters").reset();
  page.byId("given").value = given ?? "";
  page.byId("suggested").value = suggested ?? "";
  page.filter();
  page.byId("suspects").scrollIntoView();
  page.byId("given").focus({ preventScroll: true });
};

page.listKeys = (event) => {
  const { deck } = page;
  if (!deck.view.length || event.altKey || event.ctrlKey || event.metaKey) return;
  const rows = Math.max(1, Math.floor(page.byId("deck").clientHeight / deck.rowHeight));
  const steps = {
    ArrowRight: 1,
    ArrowLeft: -1,
    ArrowDown: deck.columns,
    ArrowUp: -deck.columns,
    PageDown: rows * deck.columns,
    PageUp: -rows * deck.columns,
    Home: -deck.view.length,
    End: deck.view.length,
  };
  if (!(event.key in steps)) return;
  event.preventDefault();
  page.goTo(Math.min(deck.view.length - 1, Math.max(0, deck.active + steps[event.key])));
};

// On paper there is no scrolling: the first cards of the choice, in the flow of the page.
// The narrower paper also counts as a change of size, and draws again in between.
const PRINTED = 60;
page.print = () => {
  const { deck } = page;
  const count = Math.min(PRINTED, deck.view.length);
  page.byId("paper").textContent = `On paper: the first ${count} of ${page.number(deck.view.length)} chosen suspects.`;
  deck.onPaper = true;
  page.draw();
};

page.afterPrint = () => {
  page.deck.onPaper = false;
  page.redraw();
};

page.startSuspects = () => {
  const { data } = page;
  if (!data.suspects.file.length) return;
  page.texts = [];
  for (const id of ["given", "suggested"]) {
    const counts = new Map();
    for (const label of data.suspects[id]) counts.set(label, (counts.get(label) ?? 0) + 1);
    for (const label of [...counts.keys()].sort((a, b) => a - b)) {
      page.byId(id).append(page.element("option", { value: label }, `${page.isolated(page.className(label))} (${counts.get(label)})`));
    }
  }
  for (const count of document.querySelectorAll("[data-count]")) {
    const found = data.suspects.action.filter((action) => action === count.dataset.count).length;
    count.textContent = page.number(found);
    count.parentElement.hidden = found === 0;
    if (found === 0) count.parentElement.style.display = "none";
  }
  const form = page.byId("filters");
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", page.debounced(80, page.filter));
  form.addEventListener("reset", () => setTimeout(page.filter));
  let waiting = false;
  page.byId("deck").addEventListener(
    "scroll",
    () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        page.draw();
      });
    },
    { passive: true },
  );
  page.byId("list").addEventListener("keydown", page.listKeys);
  new ResizeObserver(page.debounced(100, page.redraw)).observe(page.byId("deck"));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.closest("input, select, dialog")) return;
    event.preventDefault();
    page.byId("search").focus();
  });
  window.addEventListener("beforeprint", page.print);
  window.addEventListener("afterprint", page.afterPrint);
  page.filter();
};
