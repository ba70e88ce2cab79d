// Which view is shown stands in the address behind `#`, so that a browser's own Back works.
const table = startTable();
const view = new ProgramView();

let turn = 0;

function addressed() {
  try { return decodeURIComponent(location.hash.slice(1)); } catch { return location.hash.slice(1); }
}

// The link to a program by its address: name, target and stage, or fewer of them; `program-3` is its number.
function linkTo(address) {
  const links = [...document.querySelectorAll("a.open")];
  const whole = links.find((link) => link.dataset.address === address || `program-${link.dataset.program}` === address);
  if (whole || !address) return whole;
  const row = [...document.querySelectorAll("#programs tr")].find(({ dataset, cells }) => cells[0].querySelector("a.main")
    && [dataset.target ? `${dataset.name}/${dataset.target}` : dataset.name, dataset.name].includes(address));
  const main = row && row.querySelector("a.main").getAttribute("href");
  return links.find((link) => link.getAttribute("href") === main);
}

async function route() {
  const mine = ++turn;
  const address = addressed();
  const [, program, edit] = /^(.*?)(?:\/(edit-[0-9a-f]+(?:-\d+)?))?$/s.exec(address);
  const link = linkTo(address) || linkTo(program);
  const loaded = link ? await view.load(link) : null;
  if (mine !== turn) return; // somebody went on meanwhile
  const open = loaded !== null;
  if (open) view.open(loaded);
  byId("overview").hidden = open;
  byId("program").hidden = !open;
  document.body.classList.toggle("in-program", open);
  if (open) {
    view.tab(view.now);
    view.start();
    byId("program-name").focus();
    if (edit && link.dataset.address !== address) view.showEdit(edit);
  } else if (view.link) view.link.closest("tr").querySelector("a.main").focus();
  if (!open) view.link = null;
  if (!open || !edit) window.scrollTo(0, 0);
  byId("lost").hidden = open || !address || Boolean(document.getElementById(address));
}

function key(event) {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  const inside = !byId("program").hidden;
  if (event.key === "Escape") {
    if (!byId("keys").hidden) byId("keys").hidden = true;
    else if (inside && !view.escape()) location.hash = "";
    return;
  }
  if (typing) return;
  if (event.key === "/") { event.preventDefault(); (inside ? view : table).focusFilter(); }
  else if (event.key === "j" || event.key === "k") (inside ? view.step(event.key === "j" ? 1 : -1) : table.next(event.key === "j" ? 1 : -1));
  else if (event.key === "?") byId("keys").hidden = !byId("keys").hidden;
}

byId("theme").addEventListener("click", () => nextTheme());
byId("help").addEventListener("click", () => { byId("keys").hidden = !byId("keys").hidden; });
addEventListener("keydown", key);
addEventListener("hashchange", route);
route().then(() => document.documentElement.classList.add("ready"));
