// One suspect, large: picture, neighbours, opinion over the epochs, every score.
page.openDetail = (place) => {
  page.detailPlace = place;
  page.fillDetail();
  const dialog = page.byId("detail");
  if (!dialog.open) dialog.showModal();
};

page.fillDetail = () => {
  const { deck, data, detailPlace } = page;
  const at = deck.view[detailPlace];
  const s = data.suspects;
  const [picture, strip] = page.lines(at);
  page.byId("detail-title").textContent = `#${s.rank[at]} · ${s.action[at]}`;
  page.byId("detail-before").disabled = detailPlace === 0;
  page.byId("detail-after").disabled = detailPlace === deck.view.length - 1;
  const left = page.element(
    "div",
    {},
    page.element("div", { class: "picture" }, picture ? page.image(picture, s.file[at]) : "no picture"),
  );
  left.append(page.pathLine(s.file[at]));
  const right = page.element(
    "div",
    { class: "why-large" },
    page.change("p", at),
    page.element(
      "p",
      { class: "sure" },
      page.element("b", {}, page.percent(s.p[at])),
      " probability that the given label is wrong",
    ),
    page.meter(s.p[at]),
  );
  if (s.near[at].length && strip) right.append(page.element("h3", {}, page.votes(at)), page.near(at, strip));
  if (s.history[at].length) {
    right.append(
      page.element("h3", {}, `The networks’ ${page.historyWords(at)}`),
      page.element("div", { class: "ends", "aria-hidden": "true" }, page.element("span", {}, "100 %")),
      page.spark(s.history[at], 100),
      page.element(
        "div",
        { class: "ends", "aria-hidden": "true" },
        page.element("span", {}, `epoch ${data.suspects.epochs[0]}`),
        page.element("span", {}, `epoch ${data.suspects.epochs.at(-1)}`),
      ),
    );
  }
  page.byId("detail-body").replaceChildren(left, right, page.scores(at));
};

page.scores = (at) => {
  const s = page.data.suspects;
  const fixed = (value) => (value === null ? "–" : value.toFixed(3));
  const rows = [
    ["Suggestion is right", page.percent(s.p_suggested[at])],
    ["Classifier says", page.className(s.predicted[at])],
    ["Neighbours with the given label", page.percent(s.agreement[at], 0)],
    ["Same said of the mirror image", page.percent(s.views[at], 0)],
    ["Mean loss of the given label", fixed(s.loss[at])],
    ["Clean, says the loss mixture", page.percent(s.clean[at])],
    ["Fits a class (0 to 1)", fixed(s.fit[at]) + (s.outlier[at] ? ", outlier" : "")],
    ["Row of the input", page.number(s.row[at])],
  ];
  const list = page.element("dl");
  for (const [name, value] of rows)
    list.append(page.element("dt", {}, name), page.element("dd", {}, page.element("bdi", {}, value)));
  return list;
};

page.pathLine = (file) => {
  const copy = page.element("button", { type: "button", class: "quiet" }, "Copy");
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(file);
    copy.textContent = "Copied";
  });
  const line = page.element(
    "div",
    { class: "path" },
    page.element("code", {}, page.element("bdi", { class: "break" }, file)),
  );
  if (navigator.clipboard) line.append(copy);
  return line;
};

page.stepDetail = (step) => {
  const next = page.detailPlace + step;
  if (next < 0 || next >= page.deck.view.length) return;
  page.openDetail(next);
};

page.startDetail = () => {
  const dialog = page.byId("detail");
  page.byId("detail-before").addEventListener("click", () => page.stepDetail(-1));
  page.byId("detail-after").addEventListener("click", () => page.stepDetail(1));
  page.byId("detail-close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) page.stepDetail(step);
  });
  dialog.addEventListener("close", () => page.goTo(page.detailPlace));
};
