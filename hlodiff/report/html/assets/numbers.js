// Tables of numbers before and after: what changed is open, the rest one click away.
function numbersOf(tables) {
  const row = ([name, old, now, before, after, by, mark]) => make("tr", { class: old === now ? "same" : "" },
    make("th", { scope: "row" }, name), make("td", {}, before), make("td", {}, after),
    make("td", { class: mark ? `by ${mark}` : "by" }, mark ? make("b", {}, `${MARKS[mark]} ${mark}`) : null, mark ? ` ${by}` : by));
  const table = (title, rows) => make("table", { class: "numbers" }, make("caption", {}, title),
    make("thead", {}, make("tr", {}, ["number", "old", "new", "change"].map((word) => make("th", { scope: "col" }, word)))),
    make("tbody", {}, rows.map(row)));
  const quiet = ({ rows }) => rows.every((one) => one[1] === one[2]);
  return [...tables.filter((one) => !quiet(one)), ...tables.filter(quiet)].map(({ title, rows }) => {
    const changed = rows.filter((one) => one[1] !== one[2]), same = rows.filter((one) => one[1] === one[2]);
    return make("section", { class: "card" },
      changed.length ? table(title, changed) : make("h3", {}, title, make("span", { class: "quiet" }, " nothing changed")),
      same.length ? make("details", {}, make("summary", {}, `${number(same.length)} unchanged`), table(`${title}, unchanged`, same)) : null);
  });
}
