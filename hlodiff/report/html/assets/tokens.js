// One instruction as it is shown: its parts apart, and where old and new differ.
const LINE = /^(ROOT )?(%\S+) = (.*?) ([A-Za-z][\w.-]*)\(([\s\S]*)$/;
const WORDS = /%[^\s,(){}]+|[\w.-]+|\s+|[^\w\s]/g;

function piece(kind, text, differs) {
  const classes = [kind && `t-${kind}`, differs && "differs"].filter((c) => c).join(" ");
  return classes ? make(differs ? "mark" : "span", { class: classes }, text) : document.createTextNode(text);
}

// [kind, text] pieces of a line.
function parts(text) {
  const found = LINE.exec(text);
  if (!found) return [["", text]];
  const [, root, name, shape, opcode, rest] = found;
  const pieces = root ? [["root", root]] : [];
  pieces.push(["name", name], ["", " = "], ["shape", shape], ["", " "], ["op", opcode], ["", "("]);
  let at = 0;
  for (const match of rest.matchAll(/%[^\s,(){}]+/g)) {
    if (match.index > at) pieces.push(["", rest.slice(at, match.index)]);
    pieces.push(["name", match[0]]);
    at = match.index + match[0].length;
  }
  pieces.push(["", rest.slice(at)]);
  return pieces;
}

// For each word of a line whether the other line has it too, in the same order. Names of instructions do not count.
function common(one, other) {
  const a = one.match(WORDS) || [], b = other.match(WORDS) || [];
  const same = (i, j) => a[i] === b[j] || (a[i][0] === "%" && b[j][0] === "%");
  if (a.length * b.length > 250000) return null;
  const wide = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * wide);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const down = lengths[(i + 1) * wide + j], right = lengths[i * wide + j + 1];
      lengths[i * wide + j] = same(i, j) ? lengths[(i + 1) * wide + j + 1] + 1 : Math.max(down, right);
    }
  }
  const kept = [];
  for (let i = 0, j = 0; i < a.length; ) {
    if (j < b.length && same(i, j)) { kept.push(true); i++; j++; }
    else if (j < b.length && lengths[i * wide + j + 1] >= lengths[(i + 1) * wide + j]) j++;
    else { kept.push(false); i++; }
  }
  return { words: a, kept };
}

// Nodes for a line; what `other` does not have is marked.
function shownLine(text, other) {
  const found = other === undefined || other === text ? null : common(text, other);
  const nodes = [];
  let word = 0, used = 0;
  for (const [kind, part] of parts(text)) {
    if (!found) { nodes.push(piece(kind, part)); continue; }
    let run = "", differs = false;
    for (const char of part) {
      while (word < found.words.length && used >= found.words[word].length) { word++; used = 0; }
      const here = word < found.words.length && !found.kept[word] && found.words[word].trim() !== "";
      if (here !== differs && run) { nodes.push(piece(kind, run, differs)); run = ""; }
      differs = here;
      run += char;
      used += char.length;
    }
    if (run) nodes.push(piece(kind, run, differs));
  }
  return nodes;
}

// Marks what was searched for in a line that is shown; a hit may reach over several of its pieces.
function markHits(cell, wanted) {
  const text = cell.textContent.toLowerCase();
  const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (walker.nextNode()) nodes.push(walker.currentNode);
  const found = [];
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) found.push([at, at + wanted.length]);
  let start = 0;
  for (const node of nodes) {
    const end = start + node.data.length;
    const inside = found.filter(([from, to]) => from < end && to > start).map(([from, to]) => [Math.max(from - start, 0), Math.min(to, end) - start]);
    start = end;
    if (!inside.length) continue;
    const pieces = [];
    let last = 0;
    for (const [from, to] of inside) {
      pieces.push(node.data.slice(last, from), make("mark", { class: "hit" }, node.data.slice(from, to)));
      last = to;
    }
    node.replaceWith(...pieces, node.data.slice(last));
  }
}
