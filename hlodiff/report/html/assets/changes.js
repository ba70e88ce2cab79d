// The list of changes of a program: root causes first, each with all there is to know about it on demand.
class Changes {
  constructor(place, found, listing, address, onDraw) {
    this.address = address;
    this.listing = listing;
    this.onDraw = onDraw;
    this.items = [];
    this.at = new Map();
    const titles = { edits: "Changes", schedule: "In another order", tuning: "Tuned otherwise" };
    empty(place, Object.entries(found).map(([channel, { list, more }]) => list.length ? make("section", {},
      make("h2", {}, titles[channel], make("span", { class: "quiet" }, ` ${many(list.length + more, channel === "edits" ? "pattern" : "group")}`)),
      make("ol", { class: "changes" }, list.map((change) => this.item(change))),
      more ? make("p", { class: "quiet" }, `${number(more)} more are left out of this page; JSON has all.`) : null) : null));
  }

  item(change) {
    const id = `change-${this.items.length}`;
    const button = make("button", { class: "change", "aria-expanded": "false", "aria-controls": id, tabindex: this.items.length ? -1 : 0,
      onclick: () => this.toggle(change, true), onfocus: () => this.rove(change), onkeydown: (event) => this.move(event, change) },
      sign(change.kind),
      make("span", { class: "what" }, change.what),
      change.count > 1 ? make("b", { class: "times", title: `${number(change.count)} instructions` }, `\u00d7 ${number(change.count)}`) : null,
      make("span", { class: "under" }, [change.where, change.cost].filter((word) => word).join(" \u00b7 ")));
    const link = make("a", { class: "permalink quiet", tabindex: -1, href: `${this.address}/${change.id}`, title: "Link to this change", "aria-label": `Link to change ${this.items.length + 1}` }, `#${this.items.length + 1}`);
    const more = make("div", { class: "more", id, hidden: true });
    const node = make("li", {}, make("div", { class: "change-head" }, button, link), more);
    this.items.push({ change, button, more, node });
    this.at.set(change, this.items.length - 1);
    return node;
  }

  // `Tab` leads to one of the changes, and on to the listing; the arrow keys lead to the others.
  rove(change) {
    for (const item of this.items) item.button.tabIndex = item.change === change ? 0 : -1;
  }

  move(event, change) {
    const step = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity }[event.key];
    if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    this.items[Math.min(Math.max(this.at.get(change) + step, 0), this.items.length - 1)].button.focus();
  }

  toggle(change, go) {
    const item = this.items[this.at.get(change)];
    const open = item.more.hidden;
    this.show(open ? change : null);
    if (open && go) this.visit(change, 0);
  }

  // Opens one change and closes the others.
  show(change) {
    for (const item of this.items) {
      const open = item.change === change;
      if (open && item.more.hidden) empty(item.more, this.details(change));
      item.more.hidden = !open;
      item.button.setAttribute("aria-expanded", String(open));
      item.node.classList.toggle("open", open);
      if (open) this.into(item.node);
    }
    history.replaceState(null, "", change ? `${this.address}/${change.id}` : this.address);
    if (!change) return;
    this.rove(change);
    this.onDraw(change);
  }

  // Scrolls the list and nothing around it.
  into(node) {
    const list = byId("changes"), head = 40;
    const top = node.offsetTop - list.offsetTop, bottom = top + Math.min(node.offsetHeight, list.clientHeight - head);
    if (top - head < list.scrollTop) list.scrollTop = top - head;
    else if (bottom > list.scrollTop + list.clientHeight) list.scrollTop = bottom - list.clientHeight;
  }

  visit(change, step) {
    const { sites } = change;
    if (!this.listing || !sites.length) return;
    this.site = ((step ? this.site + step : 0) + sites.length) % sites.length;
    const [old, now] = sites[this.site];
    this.listing.select(now >= 0 ? 1 : 0, now >= 0 ? now : old, true);
    const counter = this.items[this.at.get(change)].more.querySelector(".site");
    if (counter) counter.textContent = `${number(this.site + 1)} of ${number(sites.length)}`;
  }

  details(change) {
    return [
      this.places(change),
      change.fields.length ? make("table", { class: "fields" }, make("thead", {}, make("tr", {}, ["field", "old", "new"].map((word) => make("th", { scope: "col" }, word)))),
        make("tbody", {}, change.fields.map(([field, old, now]) => make("tr", {}, make("th", { scope: "row", colspan: old || now ? null : 3 }, field),
          old || now ? [make("td", {}, make("code", {}, old)), make("td", {}, make("code", {}, now))] : null)))) : null,
      this.listing && change.sites.length ? null : change.texts.map((text, side) => text ? make("pre", { class: "text" }, `${SIDES[side]}  `, shownLine(text)) : null),
      change.scope ? make("p", { class: "fact" }, make("span", { class: "quiet" }, "scope "), make("code", {}, change.scope)) : null,
      this.source(change),
      change.stack.length > 1 ? make("details", {}, make("summary", {}, `Call stack, ${many(change.stack.length, "frame")}, innermost first`),
        make("ol", { class: "stack" }, change.stack.map((frame) => make("li", {}, make("code", {}, frame))))) : null,
      this.followers(change),
    ];
  }

  places(change) {
    if (!this.listing || change.sites.length < 2) return null;
    const go = (step, words, word) => make("button", { class: "small", "aria-label": `${word} place`, onclick: () => this.visit(change, step) }, words);
    return make("p", { class: "sites" }, make("span", { class: "site", "aria-live": "polite" }, `1 of ${number(change.sites.length)}`), " places ", go(-1, "\u2039", "previous"), go(1, "\u203a", "next"));
  }

  // The lines of Python around it: old and new side by side where there is room, one where both are the same.
  source({ sources }) {
    const titles = { old: "old", new: "new", both: "old and new", now: "as it is now" };
    if (!sources.length) return null;
    return make("div", { class: "sources" }, sources.map((source) => make("figure", { class: `source ${source.side}` },
      make("figcaption", {}, make("b", {}, titles[source.side]), ` ${source.file}`),
      make("pre", { tabindex: 0, "aria-label": `${source.file}, ${titles[source.side]}` }, source.lines.map((line, n) => make("span", { class: source.first + n === source.line ? "line here" : "line" },
        make("span", { class: "gutter" }, `${source.first + n}${source.first + n === source.line ? " \u25b8" : "  "}`), `${line}\n`))))));
  }

  followers(change) {
    if (!change.followers.length) return null;
    return make("details", { class: "followers" }, make("summary", {}, change.follows),
      make("ul", {}, change.followers.map((one) => make("li", {},
        make("button", { class: "follower", disabled: !(this.listing && one.sites.length), onclick: () => this.listing.select(one.sites[0][1] >= 0 ? 1 : 0, one.sites[0][1] >= 0 ? one.sites[0][1] : one.sites[0][0], true) },
          sign(one.kind), make("span", { class: "what" }, one.what), one.count > 1 ? make("b", { class: "times" }, `\u00d7 ${number(one.count)}`) : null)))),
      change.more ? make("p", { class: "quiet" }, `${number(change.more)} more follow; JSON has all.`) : null);
  }

  // Where there are no lines to step through, `j` and `k` step through the changes.
  step(by) {
    const now = this.items.findIndex((item) => !item.more.hidden);
    const item = this.items[Math.min(Math.max(now + by, 0), this.items.length - 1)];
    if (item) { this.show(item.change); item.button.focus(); }
  }
}
