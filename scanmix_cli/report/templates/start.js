document.addEventListener("DOMContentLoaded", () => {
  document.documentElement.classList.add("scripted");
  page.data = JSON.parse(page.byId("data").textContent);
  page.sources = [...document.querySelectorAll("script.pictures")];
  page.blocks = [];
  page.startTheme();
  page.startLook();
  page.startSuspects();
  page.startDetail();
  page.startLinks();
  page.startMap();
});
