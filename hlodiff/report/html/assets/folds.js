// What of the rows is listed: heads of computations, rows near a change, and folds for the rest.
const AROUND = 4, FEW = 300;

class Folds extends Rows {
  constructor(value, changes) {
    super(value, changes);
    this.opened = new Set();
    this.unfolded = new Set();
    this.listed = new Set();
    this.findQuiet();
    this.everything = this.rows[0].length <= FEW;
  }

  // Three and more computations without a change, one after the other, are folded together.
  findQuiet() {
    const { blocks } = this.value;
    this.quiet = new Map();
    for (let first = 0; first < blocks.length; ) {
      let end = first;
      while (end < blocks.length && blocks[end].equal) end++;
      for (let index = first; index < end; index++) this.quiet.set(index, end - first > 2);
      first = end + 1;
    }
  }

  // What is listed: heads of computations, rows, and folds that stand for several rows.
  fold() {
    const items = [];
    let start = 0;
    this.value.blocks.forEach((block, index) => {
      const end = this.ends[index];
      const last = items[items.length - 1];
      if (!this.everything && block.equal && this.quiet.get(index) && !this.listed.has(index)) {
        if (last && last.blocks) last.blocks.push(index); else items.push({ blocks: [index] });
        start = end;
        return;
      }
      const open = this.everything ? !this.opened.has(index) : this.opened.has(index) !== !block.equal;
      items.push({ head: index, open });
      if (open) this.foldRows(items, start, end);
      start = end;
    });
    this.items = items;
    this.itemOf = new Map();
    items.forEach((item, at) => { if (item.row !== undefined) this.itemOf.set(item.row, at); });
  }

  foldRows(items, start, end) {
    const near = (row) => [0, 1].some((side) => this.marks[side].has(this.rows[side][row]));
    const keep = new Uint8Array(end - start);
    for (let row = start; row < end; row++) {
      if (this.everything || this.unfolded.has(row)) { keep[row - start] = 1; continue; }
      if (!near(row)) continue;
      keep.fill(1, Math.max(row - AROUND, start) - start, Math.min(row + AROUND + 1, end) - start);
    }
    for (let row = start; row < end; ) {
      let last = row;
      while (last < end && !keep[last - start]) last++;
      if (last - row > 2) { items.push({ fold: row, until: last }); row = last; }
      else for (last = Math.max(last, row + 1); row < last; row++) items.push({ row });
    }
  }

  showEverything(everything) {
    this.everything = everything;
    this.opened.clear();
    this.unfolded.clear();
    this.listed.clear();
    this.fold();
  }

  reveal(row) {
    if (this.itemOf.has(row)) return;
    const block = this.blockOf[row];
    if (!this.everything && this.quiet.get(block) && !this.listed.has(block)) { this.listed.add(block); this.fold(); }
    const head = this.items.find((item) => item.head === block);
    if (!head.open) { if (this.opened.has(block)) this.opened.delete(block); else this.opened.add(block); }
    for (let near = row - AROUND; near <= row + AROUND; near++) this.unfolded.add(near);
    this.fold();
  }

  toggle(item) {
    if (item.head !== undefined) {
      if (this.opened.has(item.head)) this.opened.delete(item.head); else this.opened.add(item.head);
    } else if (item.blocks) for (const index of item.blocks) this.listed.add(index);
    else for (let row = item.fold; row < item.until; row++) this.unfolded.add(row);
    this.fold();
  }
}
