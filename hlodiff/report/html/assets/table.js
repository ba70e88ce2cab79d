// The table of programs: its filters, and moving in it by keys.
function startTable() {
  const body = byId("programs");
  if (!body) return { next() {}, focusFilter() {} };
  const rows = [...body.rows];
  const inputs = [...document.querySelectorAll("[data-filter]")];
  const shown = byId("shown");

  const fits = (row, input) => {
    const wanted = input.value.trim().toLowerCase();
    if (!wanted) return true;
    const has = (row.dataset[input.dataset.filter] || "").toLowerCase();
    if (input.dataset.filter === "text") return wanted.split(/\s+/).every((word) => has.includes(word));
    return has.split("|").includes(wanted);
  };

  const apply = () => {
    let count = 0;
    for (const row of rows) {
      const keep = inputs.every((input) => fits(row, input));
      row.hidden = !keep;
      count += keep;
    }
    shown.textContent = count === rows.length ? many(count, "program") : `${number(count)} of ${many(rows.length, "program")}`;
    byId("none").hidden = count > 0;
    const active = inputs.some((input) => input.value);
    byId("clear").hidden = !active;
    for (const key of document.querySelectorAll(".tile")) {
      key.setAttribute("aria-pressed", String(byId("filter-status").value === key.dataset.status));
    }
    const chosen = new URLSearchParams(inputs.filter((input) => input.value.trim()).map((input) => [input.dataset.filter, input.value.trim()]));
    const query = String(chosen) && `?${chosen}`;
    if (query !== location.search) history.replaceState(null, "", `${location.pathname}${query}${location.hash}`);
  };

  // The address keeps the filters; a value that this page does not offer is ignored.
  for (const input of inputs) input.value = new URLSearchParams(location.search).get(input.dataset.filter) || "";
  for (const input of inputs) if (input.selectedIndex === -1) input.value = "";

  const clear = () => { for (const input of inputs) input.value = ""; apply(); };
  for (const input of inputs) {
    input.addEventListener(input.tagName === "SELECT" ? "change" : "input", apply);
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      if (input.value) { input.value = ""; apply(); event.stopPropagation(); } else input.blur();
    });
  }
  byId("clear").addEventListener("click", () => { clear(); byId("filter-text").focus(); });
  for (const key of document.querySelectorAll(".tile")) {
    key.addEventListener("click", () => {
      const select = byId("filter-status");
      select.value = select.value === key.dataset.status ? "" : key.dataset.status;
      apply();
    });
  }
  body.addEventListener("click", (event) => {
    const link = event.target.closest("tr")?.querySelector("a.main");
    if (link && !event.target.closest("a") && !String(getSelection())) link.click();
  });
  apply();

  return {
    clear,
    focusFilter() { byId("filter-text").focus(); byId("filter-text").select(); },
    next(step) {
      const links = rows.filter((row) => !row.hidden).map((row) => row.querySelector("a.main")).filter((link) => link);
      const at = links.indexOf(document.activeElement);
      const link = links[Math.min(Math.max(at < 0 ? (step > 0 ? 0 : links.length - 1) : at + step, 0), links.length - 1)];
      if (link) { link.focus(); link.scrollIntoView({ block: "nearest" }); }
    },
  };
}
