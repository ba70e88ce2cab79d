// What stands beside what: the rows of both programs, each line's match, and the change that each line belongs to.
const SIDES = ["old", "new"];

class Rows {
  constructor(value, changes) {
    this.value = value;
    this.spread();
    this.mark(changes);
  }

  // Every row of every block: which line stands there on either side, -1 for none, -2 for a gap.
  spread() {
    const { blocks, old, new: now, twins } = this.value;
    const rows = [[], []];
    this.partner = [new Int32Array(old.length).fill(-1), new Int32Array(now.length).fill(-1)];
    this.rowOf = [new Int32Array(old.length), new Int32Array(now.length)];
    this.number = [new Int32Array(old.length), new Int32Array(now.length)];
    this.blockOf = [];
    this.ends = [];
    this.gaps = new Map();
    blocks.forEach((block, index) => {
      const at = [...block.s];
      const left = [0, 0];
      for (const [kind, count] of block.r) {
        if (kind === "~") {
          this.gaps.set(rows[0].length, count);
          left[0] += count;
          left[1] += count;
        }
        for (let n = 0; n < (kind === "~" ? 1 : count); n++) {
          const row = rows[0].length;
          const here = [0, 1].map((side) => (kind === "~" ? -2 : kind === "+-"[side] ? -1 : at[side]++));
          for (const side of [0, 1]) {
            if (here[side] >= 0) {
              this.rowOf[side][here[side]] = row;
              this.number[side][here[side]] = side === 0 && block.sorted.length
                ? block.sorted[here[0] - block.s[0] + left[0]]
                : block.at[side] ? block.at[side] + here[side] - block.s[side] + left[side] : 0;
              if (here[1 - side] >= 0) this.partner[side][here[side]] = here[1 - side];
            }
            rows[side].push(here[side]);
          }
          this.blockOf.push(index);
        }
      }
      this.ends.push(rows[0].length);
    });
    for (const [one, other] of twins) { this.partner[0][one] = other; this.partner[1][other] = one; }
    this.rows = rows;
  }

  // Which change each line belongs to.
  mark(changes) {
    this.marks = [new Map(), new Map()];
    const note = (sites, mark) => {
      for (const site of sites) {
        for (const side of [0, 1]) {
          if (site[side] < 0) continue;
          const known = this.marks[side].get(site[side]);
          if (!known || (known.follows && !mark.follows)) this.marks[side].set(site[side], mark);
        }
        if (site[0] >= 0 && site[1] >= 0) {
          if (this.partner[0][site[0]] < 0) this.partner[0][site[0]] = site[1];
          if (this.partner[1][site[1]] < 0) this.partner[1][site[1]] = site[0];
        }
      }
    };
    for (const change of changes) {
      note(change.sites, { kind: change.kind, change, follows: false });
      for (const one of change.followers) note(one.sites, { kind: one.kind, change, follows: true });
    }
    this.stops = [];
    for (let row = 0; row < this.rows[0].length; row++) {
      const here = [0, 1].map((side) => this.marks[side].get(this.rows[side][row]));
      if (here.some((mark) => mark && !mark.follows)) this.stops.push(row);
    }
  }

  text(side, line) {
    const text = this.value[SIDES[side]][line];
    return text === 0 ? this.value.old[this.partner[1][line]] : text;
  }

  // Scope and line of Python of an instruction.
  note(side, line) {
    const { notes, scopes, wheres } = this.value;
    return [scopes[notes[side][2 * line]] || "", wheres[notes[side][2 * line + 1]] || ""];
  }
}
