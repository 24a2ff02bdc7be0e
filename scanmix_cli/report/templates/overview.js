// The curve of expected errors, the theme, and the numbers that lead to their suspects.
page.errorsAt = (k) => {
  const { k: knots, errors } = page.data.curve;
  let high = knots.findIndex((knot) => knot >= k);
  if (high < 0) high = knots.length - 1;
  if (high === 0 || knots[high] === k) return errors[high];
  const share = (k - knots[high - 1]) / (knots[high] - knots[high - 1]);
  return errors[high - 1] + share * (errors[high] - errors[high - 1]);
};

page.startLook = () => {
  const slider = page.byId("look");
  if (!slider) return;
  const count = Number(slider.max);
  const show = () => {
    const k = Number(slider.value);
    const errors = page.errorsAt(k);
    page.byId("look-k").textContent = page.number(k);
    page.byId("look-errors").textContent = page.number(Math.round(errors));
    page.byId("look-mark").setAttribute("d", `M${((1000 * k) / count).toFixed(1)},0 V300`);
    slider.setAttribute("aria-valuetext", `first ${k}: about ${Math.round(errors)} wrong labels`);
  };
  slider.addEventListener("input", show);
  show();
};

// Kept where the browser allows it; a page opened from disk may have no storage.
page.startTheme = () => {
  const button = page.byId("theme");
  const order = ["system", "light", "dark"];
  const kept = () => {
    try {
      return localStorage.getItem("scanmix-theme");
    } catch {
      return null;
    }
  };
  const set = (theme) => {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    button.textContent = `Theme: ${theme}`;
    button.dataset.now = theme;
    page.drawMap?.();
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    const next = order[(order.indexOf(button.dataset.now) + 1) % order.length];
    set(next);
    try {
      localStorage.setItem("scanmix-theme", next);
    } catch {
      // the choice then lasts as long as the page
    }
  });
  set(order.includes(kept()) ? kept() : "system");
};

page.startLinks = () => {
  document.querySelectorAll("button[data-given]").forEach((button) => {
    button.addEventListener("click", () => page.showOnly(button.dataset.given, button.dataset.suggested));
  });
};
