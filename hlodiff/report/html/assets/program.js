// One program: its changes, both sides line by line, drawings and numbers.
class ProgramView {
  constructor() {
    this.tabs = [...document.querySelectorAll("[role=tab]")];
    for (const tab of this.tabs) {
      tab.addEventListener("click", () => this.tab(tab.dataset.tab));
      tab.addEventListener("keydown", (event) => this.tabKey(event, tab));
    }
    byId("find").addEventListener("keydown", (event) => this.findKey(event));
    byId("find").addEventListener("input", () => this.search());
    byId("everything").addEventListener("click", () => this.toggleEverything());
    byId("previous").addEventListener("click", () => this.step(-1));
    byId("next").addEventListener("click", () => this.step(1));
  }

  // What there is to show of a program, and the link that leads to it; null where there is nothing.
  async load(link) {
    const body = byId(`body-${link.dataset.body}`);
    return body ? { link, value: await unpacked(body) } : null;
  }

  open({ link, value }) {
    this.value = value;
    this.link = link;
    this.head(link, value);
    const found = value.changes || {};
    this.listing = null;
    const all = Object.values(found).flatMap((channel) => channel.list);
    if (value.listing) this.listing = new Listing(byId("sides"), value.listing, all, (change) => this.chosen(change));
    this.changes = new Changes(byId("changes"), found, this.listing, link.getAttribute("href"), (change) => this.draw(change));
    if (this.listing) this.search();
    byId("everything").setAttribute("aria-pressed", String(Boolean(this.listing && this.listing.everything)));
    empty(byId("chosen"));
    empty(byId("numbers"), numbersOf(value.tables), value.log ? make("section", { class: "card" }, make("h3", {}, "Log"), make("pre", { class: "text" }, value.log)) : null);
    this.available(value, all);
  }

  head(link, value) {
    const { name, target, status, kind, headline, reason, verdict } = link.dataset;
    byId("program-name").textContent = name;
    empty(byId("program-of"), [[target, ""], [status, kind]].map(([word, badge]) => word ? make("span", { class: `badge ${badge}` }, word) : null));
    empty(byId("program-stages"), [...link.closest("tr").querySelectorAll("a.open")].map((one) =>
      make("a", { href: one.getAttribute("href"), "aria-current": one === link ? "page" : null, title: one.dataset.status }, one.dataset.stage)));
    const numbers = link.closest("tr").querySelector(".key-numbers");
    empty(byId("program-says"), verdict && verdict !== "same" && numbers ? make("p", { class: "key-numbers" }, make("b", { class: `verdict ${verdict}` }, `${MARKS[verdict]} ${verdict}`),
      ...[...numbers.cloneNode(true).children]) : null, [headline, reason].filter((word) => word).map((word) => make("p", {}, word)));
    empty(byId("program-notes"), (value.limits || []).map((note) => make("p", { class: "note" }, note)),
      value.left_out.map((note) => make("p", { class: "note" }, note)));
    byId("cut").textContent = (value.cut || []).join(", ");
    const links = [...document.querySelectorAll("a.main")].filter((one) => one.closest("tr").dataset.kind !== "identical");
    const at = links.indexOf(link.closest("tr").querySelector("a.main"));
    for (const [id, near] of [["earlier", links[at - 1]], ["later", at < 0 ? null : links[at + 1]]]) {
      byId(id).hidden = !near;
      if (near) byId(id).href = near.getAttribute("href");
    }
  }

  available(value, all) {
    byId("work").classList.toggle("alone", !all.length);
    byId("changes").hidden = !all.length;
    const has = { listing: this.listing, drawing: (value.drawings || []).length, numbers: true };
    for (const tab of this.tabs) tab.hidden = !has[tab.dataset.tab];
    this.drawings = has.drawing ? new Drawings(byId("drawings"), value.drawings, this.link.dataset.address.replaceAll("/", " "), (side, line) => this.listing.text(side, line), (name, node) => this.fromDrawing(name, node)) : null;
    this.tab(this.tabs.find((tab) => !tab.hidden).dataset.tab);
  }

  tab(name) {
    for (const tab of this.tabs) {
      const chosen = tab.dataset.tab === name;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
      byId(`panel-${tab.dataset.tab}`).hidden = !chosen;
    }
    this.now = name;
    document.body.classList.toggle("in-graph", name === "drawing");
    if (name === "listing" && this.listing) this.listing.render(true);
  }

  // Opens the change that an address names, and its line; says so where the page does not have it.
  showEdit(id) {
    const item = this.changes.items.find((one, at) => one.change.id === id || `edit-${at + 1}` === id);
    if (!item) {
      byId("program-notes").append(make("p", { class: "note", role: "status" }, "The change that this link names is no longer in this program."));
      return;
    }
    this.changes.show(item.change);
    this.changes.visit(item.change, 0);
    item.button.scrollIntoView({ block: "nearest" });
    item.button.focus({ preventScroll: true });
  }

  start() {
    if (this.listing && this.now === "listing") this.listing.start();
  }

  tabKey(event, tab) {
    const shown = this.tabs.filter((one) => !one.hidden);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = shown[(shown.indexOf(tab) + step + shown.length) % shown.length];
    this.tab(next.dataset.tab);
    next.focus();
  }

  chosen(change) {
    if (change) this.changes.show(change);
    const { listing } = this;
    const other = listing.chosen.every((line) => line >= 0);
    empty(byId("chosen"), [0, 1].map((side) => {
      const line = listing.chosen[side];
      if (line < 0) return null;
      const [scope, where] = listing.note(side, line);
      return make("div", { class: `chosen-line ${SIDES[side]}` }, make("b", {}, SIDES[side]),
        make("code", {}, shownLine(listing.text(side, line), other ? listing.text(1 - side, listing.chosen[1 - side]) : undefined)),
        make("span", { class: "quiet" }, [scope, where].filter((word) => word).join(" \u00b7 ")));
    }), listing.any && !other ? make("p", { class: "quiet" }, `It has no match in the ${SIDES[listing.chosen[0] < 0 ? 0 : 1]} program.`) : null);
  }

  draw(change) {
    const number = ((this.value.changes || {}).edits || { list: [] }).list.indexOf(change);
    if (this.drawings) this.drawings.showChange(number);
  }

  fromDrawing(name, node) {
    if (!this.listing || node.line < 0) return;
    this.tab("listing");
    this.listing.select(SIDES.indexOf(name), node.line, true);
    this.listing.panes[SIDES.indexOf(name)].pane.focus({ preventScroll: true });
  }

  step(by) {
    if (this.listing && this.listing.stops.length && this.now === "listing") {
      this.listing.step(by);
      byId("sides").scrollIntoView({ block: "nearest" });
    } else this.changes.step(by);
  }

  toggleEverything() {
    if (!this.listing) return;
    this.listing.showEverything(!this.listing.everything);
    byId("everything").setAttribute("aria-pressed", String(this.listing.everything));
  }

  findKey(event) {
    if (event.key === "Enter" && event.target.value && this.listing) {
      this.search();
      this.found(this.listing.find(event.shiftKey ? -1 : 1));
    } else if (event.key === "Escape") {
      event.stopPropagation();
      event.target.value = "";
      this.search();
      event.target.blur();
    }
  }

  search() {
    if (!this.listing) return;
    this.listing.search(byId("find").value);
    this.found(0);
  }

  // `2 of 7`, or how many there are where none is chosen yet.
  found(at) {
    const { hits, wanted } = this.listing;
    byId("found").textContent = !wanted ? "" : at ? `${number(at)} of ${number(hits.length)}` : hits.length ? many(hits.length, "line") : "not found";
    byId("find").setAttribute("aria-invalid", String(Boolean(wanted && !hits.length)));
  }

  focusFilter() {
    if (!this.listing) return;
    this.tab("listing");
    byId("find").focus();
    byId("find").select();
  }

  // Takes back one step: a choice, then an open change; false where there is nothing left.
  escape() {
    if (this.listing && this.listing.any) { this.listing.clear(); return true; }
    if (this.changes.items.some((item) => !item.more.hidden)) { this.changes.show(null); return true; }
    return false;
  }
}
