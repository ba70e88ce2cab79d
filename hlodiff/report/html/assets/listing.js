// Both programs side by side. Only rows that can be seen are in the document, however long the programs are.
const ROW = 20, BEYOND = 12;

class Listing extends Folds {
  constructor(place, value, changes, onSelect) {
    super(value, changes);
    this.onSelect = onSelect;
    this.lead = 0;
    this.shift = 0;
    this.chosen = [-1, -1];
    this.side = 0;
    this.build(place);
    this.fold();
  }

  build(place) {
    this.panes = SIDES.map((name, side) => {
      const canvas = make("div", { class: "canvas" });
      const pane = make("div", {
        class: `pane ${name}`, tabindex: 0, role: "treegrid", "aria-label": `${name} program`, "aria-readonly": "true",
        onscroll: () => this.scrolled(side),
        onkeydown: (event) => this.key(event, side),
        onclick: (event) => this.click(event, side),
      }, canvas);
      for (const name of ["wheel", "pointerdown", "touchstart", "focusin"]) {
        pane.addEventListener(name, () => { this.lead = side; }, { passive: true });
      }
      return { pane, canvas, from: -1, to: -1 };
    });
    const { size } = this.value;
    empty(place, SIDES.map((name, side) => make("div", { class: "side" },
      make("div", { class: "side-head" }, make("b", {}, name), make("span", { class: "quiet" }, many(size[side], "instruction"))),
      this.panes[side].pane)));
    new ResizeObserver(() => this.render()).observe(place);
  }

  fold() {
    super.fold();
    for (const { pane, canvas } of this.panes) {
      canvas.style.height = `${this.items.length * ROW}px`;
      pane.setAttribute("aria-rowcount", this.items.length);
    }
    this.render(true);
  }

  showEverything(everything) {
    super.showEverything(everything);
    if (this.any) this.select(this.side, this.chosen[this.side]);
    else this.start();
  }

  // The first edit is in view before anybody has chosen anything.
  start() {
    const row = this.stops[0];
    if (row === undefined) return;
    this.reveal(row);
    const top = this.itemOf.get(row) * ROW;
    for (const { pane } of this.panes) {
      if (top > pane.clientHeight - 4 * ROW) pane.scrollTop = top - pane.clientHeight / 3;
    }
    this.render(true);
  }

  scrolled(side) {
    if (this.lead === side) {
      const other = this.panes[1 - side].pane;
      other.scrollTop = this.panes[side].pane.scrollTop + (side === 0 ? this.shift : -this.shift);
    }
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => { this.waiting = 0; this.render(); });
  }

  render(fresh) {
    for (const [side, view] of this.panes.entries()) {
      const first = Math.floor(view.pane.scrollTop / ROW);
      const from = Math.max(first - BEYOND, 0);
      const to = Math.min(first + Math.ceil(view.pane.clientHeight / ROW) + BEYOND, this.items.length);
      if (!fresh && from === view.from && to === view.to) continue;
      view.from = from;
      view.to = to;
      const rows = [];
      for (let at = from; at < to; at++) rows.push(this.shown(side, at));
      view.canvas.replaceChildren(...rows);
      const active = this.active(side);
      if (active >= from && active < to) view.pane.setAttribute("aria-activedescendant", `${SIDES[side]}-${active}`);
      else view.pane.removeAttribute("aria-activedescendant");
    }
  }

  active(side) {
    if (this.cursor !== undefined && this.cursorSide === side) return this.cursor;
    const line = this.chosen[side];
    return line < 0 ? -1 : this.itemOf.get(this.rowOf[side][line]) ?? -1;
  }

  shown(side, at) {
    const item = this.items[at];
    const node = make("div", { class: "row", role: "row", id: `${SIDES[side]}-${at}`, "aria-rowindex": at + 1 });
    node.style.top = `${at * ROW}px`;
    const cell = make("span", { role: "gridcell" });
    node.append(cell);
    if (this.cursor === at && this.cursorSide === side) node.classList.add("cursor");
    if (item.head !== undefined) this.shownHead(node, cell, side, item);
    else if (item.blocks) {
      node.classList.add("fold", "several");
      cell.append(`\u25b8 ${many(item.blocks.length, "computation")} without a change`);
    } else if (item.fold !== undefined) {
      node.classList.add("fold");
      cell.append(`\u22ef ${many(item.until - item.fold, "row")} without a change`);
    } else this.shownRow(node, cell, side, item.row);
    return node;
  }

  shownHead(node, cell, side, item) {
    const block = this.value.blocks[item.head];
    const name = block.n[side];
    node.classList.add("head");
    node.setAttribute("aria-expanded", String(item.open));
    if (name === null) { node.classList.add("none"); cell.append("\u00a0"); return; }
    const alone = block.n[1 - side] !== null ? "" : block.again ? ` \u00b7 called once more in the ${SIDES[side]} program`
      : ` \u00b7 only in the ${SIDES[side]} program`;
    cell.append(item.open ? "\u25be " : "\u25b8 ", make("b", {}, `${block.entry ? "ENTRY " : ""}%${name}`),
      make("span", { class: "quiet" }, ` ${many(block.size[side], "instruction")}${block.equal ? " \u00b7 no change inside" : alone}`
        + (side === 0 && block.sorted.length ? " \u00b7 in the order of the new program" : "")));
  }

  shownRow(node, cell, side, row) {
    const line = this.rows[side][row];
    if (line < 0) {
      node.classList.add(line === -2 ? "fold" : "none");
      cell.append(line === -2 ? `\u22ef ${many(this.gaps.get(row), "row")} left out of this page` : "\u00a0");
      return;
    }
    const mark = this.marks[side].get(line);
    const other = this.partner[side][line];
    if (mark) node.classList.add("edited", mark.kind, ...(mark.follows ? ["follows"] : []));
    if (this.chosen[side] === line) { node.classList.add("chosen"); node.setAttribute("aria-selected", "true"); }
    node.dataset.line = line;
    const gutter = this.number[side][line] || "";
    const elsewhere = other >= 0 && this.rowOf[1 - side][other] !== row;
    const signs = mark ? SIGNS[mark.kind] : elsewhere ? "\u21c5" : "";
    const says = mark ? mark.kind : elsewhere ? "the same, elsewhere in the other program" : "";
    node.prepend(make("span", { class: "gutter", "aria-hidden": "true" }, gutter),
      make("span", { class: "sign", ...(signs ? { role: "rowheader", "aria-label": says, title: says } : { "aria-hidden": "true" }) }, signs));
    const compared = mark && (mark.kind === "changed" || mark.kind === "moved") && other >= 0;
    const text = this.text(side, line);
    // What no one reads until it changes; the line that is chosen is shown whole below.
    if (compared) cell.append(...shownLine(text, this.text(1 - side, other)));
    else cell.append(...shownLine(text.replace(/, backend_config=\{[^]{24,}$/, ", backend_config={\u2026}")));
    if (this.wanted) markHits(cell, this.wanted);
  }

  click(event, side) {
    const node = event.target.closest(".row");
    if (!node || String(getSelection())) return;
    const at = Number(node.id.split("-")[1]);
    this.go(side, at, true);
  }

  // To an item of the list: an instruction is chosen, a head or fold is opened where `act` says so.
  go(side, at, act) {
    const item = this.items[at];
    if (!item) return;
    this.lead = side;
    this.cursorSide = side;
    this.cursor = at;
    const line = item.row === undefined ? -1 : this.rows[side][item.row];
    if (line >= 0) { this.select(side, line); return; }
    if (act && item.row === undefined) this.toggle(item);
    else this.render(true);
    this.into(side, at);
  }

  key(event, side) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const page = Math.max(Math.floor(this.panes[side].pane.clientHeight / ROW) - 2, 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    const now = this.cursorSide === side && this.cursor !== undefined ? this.cursor : this.active(side);
    if (event.key in steps) {
      event.preventDefault();
      const first = Math.floor(this.panes[side].pane.scrollTop / ROW) - 1;
      const to = Math.min(Math.max((now < 0 ? first : now) + steps[event.key], 0), this.items.length - 1);
      this.go(side, to, false);
    } else if (event.key === "Enter" && now >= 0) {
      event.preventDefault();
      const item = this.items[now];
      if (item.row === undefined) this.go(side, now, true);
      else if (this.chosen[1 - side] >= 0) {
        this.cursorSide = 1 - side;
        this.cursor = this.itemOf.get(this.rowOf[1 - side][this.chosen[1 - side]]);
        this.lead = this.side = 1 - side;
        this.panes[1 - side].pane.focus({ preventScroll: true });
        this.render(true);
      }
    }
  }

  into(side, at) {
    const { pane } = this.panes[side];
    const top = at * ROW, last = pane.scrollTop + pane.clientHeight - 2 * ROW;
    if (top < pane.scrollTop + ROW) pane.scrollTop = Math.max(top - ROW, 0);
    else if (top > last) pane.scrollTop = top - pane.clientHeight + 2 * ROW;
  }

  // Chooses an instruction; the other side goes to its match and puts it at the same height.
  select(side, line, center) {
    const other = this.partner[side][line];
    this.side = this.lead = side;
    this.chosen = [-1, -1];
    this.chosen[side] = line;
    this.chosen[1 - side] = other;
    this.reveal(this.rowOf[side][line]);
    if (other >= 0) this.reveal(this.rowOf[1 - side][other]);
    const here = this.itemOf.get(this.rowOf[side][line]);
    this.cursorSide = side;
    this.cursor = here;
    const { pane } = this.panes[side];
    if (center) pane.scrollTop = Math.max(here * ROW - pane.clientHeight / 3, 0);
    else this.into(side, here);
    const there = other < 0 ? here : this.itemOf.get(this.rowOf[1 - side][other]);
    this.panes[1 - side].pane.scrollTop = pane.scrollTop + (there - here) * ROW;
    this.shift = (side === 0 ? 1 : -1) * (there - here) * ROW;
    this.render(true);
    const mark = this.marks[side].get(line) || (other >= 0 ? this.marks[1 - side].get(other) : undefined);
    this.onSelect(mark ? mark.change : null);
  }

  clear() {
    this.chosen = [-1, -1];
    this.cursor = undefined;
    this.shift = 0;
    this.render(true);
    this.onSelect(null);
  }

  get any() { return this.chosen[0] >= 0 || this.chosen[1] >= 0; }

  // The next row with an edit, or the one before.
  step(by) {
    const line = this.chosen[this.side];
    const now = line < 0 ? (by > 0 ? -1 : Infinity) : this.rowOf[this.side][line];
    const row = by > 0 ? this.stops.find((stop) => stop > now) : this.stops.findLast((stop) => stop < now);
    if (row === undefined) return false;
    const marked = [1, 0].find((side) => this.marks[side].has(this.rows[side][row]) && !this.marks[side].get(this.rows[side][row]).follows);
    this.select(marked, this.rows[marked][row], true);
    return true;
  }

  // Marks these words wherever they stand; the rows that hold them, on either side, are what `find` walks through.
  search(words) {
    const wanted = words.trim().toLowerCase();
    if (wanted === this.wanted) return;
    this.wanted = wanted;
    this.hits = [];
    for (let row = 0; wanted && row < this.rows[0].length; row++) {
      const side = [1, 0].find((one) => this.rows[one][row] >= 0 && this.text(one, this.rows[one][row]).toLowerCase().includes(wanted));
      if (side !== undefined) this.hits.push([row, side]);
    }
    this.render(true);
  }

  // To the next hit, or the one before; its number, from 1, and 0 for none.
  find(by) {
    if (!this.hits.length) return 0;
    const line = this.chosen[this.side];
    const now = line < 0 ? (by > 0 ? -1 : Infinity) : this.rowOf[this.side][line];
    let at = by > 0 ? this.hits.findIndex(([row]) => row > now) : this.hits.findLastIndex(([row]) => row < now);
    if (at < 0) at = by > 0 ? 0 : this.hits.length - 1;
    const [row, side] = this.hits[at];
    this.select(side, this.rows[side][row], true);
    return at + 1;
  }
}
