// The map of the images: points on a canvas; the nearest one under the pointer, or under the arrow keys, is shown.
page.hues = (count) =>
  Array.from({ length: count }, (_, k) => `hsl(${Math.round((360 * k) / count)} 55% ${k % 2 ? 56 : 42}%)`);

page.mapPoints = () => {
  const { map, canvas } = page;
  const box = canvas.getBoundingClientRect();
  const margin = 14;
  const scale = (Math.min(box.width, box.height) - 2 * margin) / 1000;
  // a wide canvas stretches the map a little; nothing is read off its distances
  const stretch = Math.min(1.9, (box.width - 2 * margin) / (1000 * scale));
  return map.x.map((x, k) => [box.width / 2 + (x - 500) * scale * stretch, box.height / 2 + (map.y[k] - 500) * scale]);
};

page.drawMap = () => {
  const { map, canvas } = page;
  if (!map || !canvas) return;
  const box = canvas.getBoundingClientRect();
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(box.width * ratio);
  canvas.height = Math.round(box.height * ratio);
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  const style = getComputedStyle(document.documentElement);
  const ink = style.getPropertyValue("--ink");
  const fine = style.getPropertyValue("--fine");
  page.points = page.mapPoints();
  const labels = map[document.querySelector("[name=shade]:checked").value];
  const radius = box.width < 600 ? 2 : map.x.length > 1500 ? 2.6 : 3.4;
  const only = page.byId("only-suspects").checked;
  page.points.forEach(([x, y], k) => {
    if (only && map.suspect[k] < 0) return;
    pen.fillStyle = labels[k] < 0 ? fine : page.colors[labels[k]];
    pen.beginPath();
    pen.arc(x, y, radius, 0, 7);
    pen.fill();
  });
  pen.strokeStyle = ink;
  pen.lineWidth = radius / 3;
  page.points.forEach(([x, y], k) => {
    if (map.suspect[k] < 0) return;
    pen.beginPath();
    pen.arc(x, y, radius + 2.4, 0, 7);
    pen.stroke();
  });
  if (page.point !== undefined) {
    const [x, y] = page.points[page.point];
    pen.lineWidth = 2.5;
    pen.strokeStyle = style.getPropertyValue("--accent");
    pen.beginPath();
    pen.arc(x, y, radius + 5, 0, 7);
    pen.stroke();
  }
};

page.visiblePoint = (k) => page.map.suspect[k] >= 0 || !page.byId("only-suspects").checked;

// The nearest point to (x, y) within reach; `ahead` says which ones count.
page.nearest = (x, y, reach, ahead = () => true) => {
  let best = -1;
  let least = reach * reach;
  page.points.forEach(([px, py], k) => {
    const distance = (px - x) ** 2 + (py - y) ** 2;
    if (distance < least && page.visiblePoint(k) && ahead(px - x, py - y, k)) {
      least = distance;
      best = k;
    }
  });
  return best;
};

page.showPoint = (k) => {
  if (k < 0) {
    page.byId("tip").hidden = true;
    return;
  }
  const { map } = page;
  page.point = k;
  page.drawMap();
  const [x, y] = page.points[k];
  const given = page.isolated(page.className(map.given[k]));
  const predicted = page.isolated(page.className(map.predicted[k]));
  const words = `given ${given}, predicted ${predicted}${map.suspect[k] >= 0 ? ", suspect" : ""}`;
  page.byId("tip-label").textContent = words;
  page.byId("tip-file").textContent = map.file[k];
  page.byId("map-status").textContent = `${page.isolated(map.file[k])}: ${words}`;
  const tip = page.byId("tip");
  tip.hidden = false;
  const width = page.canvas.clientWidth;
  tip.style.left = `${Math.max(0, Math.min(x + 14, width - tip.offsetWidth))}px`;
  tip.style.top = `${y + 14 + tip.offsetHeight > page.canvas.clientHeight ? y - tip.offsetHeight - 14 : y + 14}px`;
  page.drawTip(k);
};

page.drawTip = (k) => {
  const { map } = page;
  const sheet = new Image();
  sheet.addEventListener("load", () => {
    if (page.point !== k) return;
    const edge = sheet.naturalHeight;
    const picture = page.byId("tip-picture");
    const pen = picture.getContext("2d");
    pen.imageSmoothingEnabled = false;
    pen.drawImage(sheet, (k % map.sheet) * edge, 0, edge, edge, 0, 0, picture.width, picture.height);
  });
  sheet.src = page.address(map.sheets[Math.floor(k / map.sheet)]);
};

page.openPoint = (k) => {
  const suspect = page.map.suspect[k];
  if (suspect < 0) return;
  let place = page.deck.view.indexOf(suspect);
  if (place < 0) {
    page.byId("filters").reset();
    page.filter();
    place = page.deck.view.indexOf(suspect);
  }
  page.openDetail(place);
};

page.mapKeys = (event) => {
  const ways = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
  if (event.key === "Enter" && page.point !== undefined) page.openPoint(page.point);
  if (event.key === "Escape") page.showPoint(-1);
  if (!(event.key in ways)) return;
  event.preventDefault();
  if (page.point === undefined) {
    page.showPoint(page.points.findIndex((_, k) => page.visiblePoint(k)));
    return;
  }
  const [dx, dy] = ways[event.key];
  const [x, y] = page.points[page.point];
  // ahead means more forwards than sideways
  const ahead = (px, py, k) =>
    k !== page.point && px * dx + py * dy > Math.abs(px * dy + py * dx) && px * dx + py * dy > 0;
  const next = page.nearest(x, y, 1e6, ahead);
  if (next >= 0) page.showPoint(next);
};

page.startMap = () => {
  page.map = JSON.parse(page.byId("map-data").textContent);
  if (!page.map) return;
  page.byId("no-map").hidden = true;
  page.byId("map-panel").hidden = false;
  page.canvas = page.byId("canvas");
  page.colors = page.hues(page.data.classes.length);
  const { canvas } = page;
  canvas.addEventListener("pointermove", (event) => {
    const k = page.nearest(event.offsetX, event.offsetY, 24);
    if (k !== page.point || page.byId("tip").hidden) page.showPoint(k);
  });
  canvas.addEventListener("pointerleave", () => page.showPoint(-1));
  canvas.addEventListener("blur", () => page.showPoint(-1));
  canvas.addEventListener("click", (event) => {
    const k = page.nearest(event.offsetX, event.offsetY, 24);
    if (k >= 0) page.openPoint(k);
  });
  canvas.addEventListener("keydown", page.mapKeys);
  for (const tool of document.querySelectorAll(".maptools input")) tool.addEventListener("change", page.drawMap);
  new ResizeObserver(page.debounced(50, page.drawMap)).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", page.drawMap);
  if (page.data.classes.length <= 30) {
    page.data.classes.forEach((name, k) => {
      const dot = page.element("i");
      dot.style.background = page.colors[k];
      page.byId("legend").append(page.element("li", {}, dot, page.element("bdi", { title: name }, name)));
    });
  }
  page.drawMap();
};
