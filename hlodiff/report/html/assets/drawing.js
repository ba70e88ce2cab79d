// The neighbourhood of a change before and after. Places were worked out beforehand; what corresponds has the same
// place on both sides, so that they move and zoom as one.
const KINDS = { added: "added", removed: "removed", changed: "changed", moved: "moved" };
const AROUND_FOCUS = 9, READABLE = 0.7;

function drawnNode(node, kind, onGo) {
  const { x, y, w, h } = node;
  const more = [...node.places.map((word) => ["place", word]), ...(node.was ? [["was", node.was]] : [])];
  const says = [node.kind || "unchanged", node.op, node.shape, ...more.map(([, word]) => word)].join(", ");
  const go = onGo ? { tabindex: 0, role: "button", onclick: () => onGo(node),
    onkeydown: (event) => { if (event.key === "Enter") { event.stopPropagation(); onGo(node); } } } : { role: "img" };
  const group = draw("g", {
    class: ["node", kind, node.kind || "same", node.host ? "host" : node.places.length ? "near" : ""].filter((c) => c).join(" "),
    transform: `translate(${x} ${y})`, "data-key": node.key, "aria-label": says, ...go,
  }, draw("title", {}, node.text));
  group.append(draw("rect", { class: "shape", width: w, height: h, rx: kind === "box" ? 10 : 5 }));
  if (node.kind === "changed") group.append(draw("rect", { class: "again", x: 3, y: 3, width: w - 6, height: h - 6, rx: kind === "box" ? 8 : 3 }));
  if (kind === "box") {
    group.append(draw("text", { class: "op", x: 12, y: 16 }, node.op),
      draw("text", { class: "said", x: 12 + 6.9 * (node.op.length + 1), y: 16 }, [node.shape, ...more.map(([, word]) => word)].join("  ")));
  } else {
    const middle = (y, name, words) => draw("text", { class: name, x: w / 2, y, "text-anchor": "middle" }, words);
    group.append(middle(17, "op", node.op), middle(32, "said", node.shape), ...more.map(([name, word], n) => middle(47 + 15 * n, name, word)));
  }
  if (node.kind) {
    group.append(draw("g", { class: `mark ${node.kind}` },
      draw("circle", { r: 8.5 }), draw("text", { y: 4, "text-anchor": "middle" }, SIGNS[node.kind])));
  }
  return group;
}

// A line through its points, round at each of them.
function curve(points) {
  const [first, ...rest] = points;
  let path = `M${first[0]} ${first[1]}`, from = first;
  for (const to of rest) {
    const half = (from[1] + to[1]) / 2;
    path += `C${from[0]} ${half} ${to[0]} ${half} ${to[0]} ${to[1]}`;
    from = to;
  }
  return path;
}

// What the open change is about, shaded behind its instructions and the edges between them.
function drawnFocus(side, name) {
  const all = [...side.boxes, ...side.nodes].filter((node) => node.focus);
  const holds = ({ x, y, w, h }, [px, py]) => px >= x - 1 && px <= x + w + 1 && py >= y - 1 && py <= y + h + 1;
  const at = (point) => all.some((node) => holds(node, point));
  return draw("g", { class: `focus ${name}` },
    side.edges.filter((points) => at(points[0]) && at(points[points.length - 1])).map((points) => draw("path", { d: curve(points) })),
    all.map(({ x, y, w, h }) => draw("rect", { x: x - AROUND_FOCUS, y: y - AROUND_FOCUS, width: w + 2 * AROUND_FOCUS, height: h + 2 * AROUND_FOCUS, rx: 14 })));
}

const arrowHead = (name) => draw("defs", {}, draw("marker", { id: `arrow-${name}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
  draw("path", { class: "arrow", d: "M0 1L7 4L0 7z" })));

function drawnEdges(side, name, kind) {
  const only = new Set(side.only);
  return side.edges.map((points, n) => draw("path", { class: only.has(n) ? `edge ${kind}` : "edge", d: curve(points), "marker-end": `url(#arrow-${name})` }));
}

function drawnSide(side, name, onGo) {
  return draw("g", { class: `side-${name}` }, arrowHead(name), drawnFocus(side, name), side.boxes.map((box) => drawnNode(box, "box", onGo)),
    drawnEdges(side, name, name === "old" ? "removed" : "added"), side.nodes.map((node) => drawnNode(node, "plain", onGo)));
}

// Both sides in one: what is only old, then all that is new.
function drawnBoth(old, now, onGo) {
  const at = ({ key, x, y }) => `${key} ${x} ${y}`; // a match that was fused or unfused lies elsewhere
  const places = new Set([...now.nodes, ...now.boxes].map(at));
  const gone = (node) => !places.has(at(node));
  const only = new Set(old.only);
  const alone = { nodes: old.nodes.filter(gone), boxes: old.boxes.filter(gone), edges: old.edges.filter((_, n) => only.has(n)) };
  const rest = { ...alone, only: alone.edges.map((_, n) => n) };
  const focus = drawnFocus({ ...old, nodes: alone.nodes, boxes: alone.boxes }, "old");
  return draw("g", { class: "side-both" }, arrowHead("both"), focus, drawnFocus(now, "new"),
    [...rest.boxes, ...now.boxes].map((box) => drawnNode(box, "box", (node) => onGo(now.boxes.includes(node) ? 1 : 0, node))),
    drawnEdges(rest, "both", "removed"), drawnEdges(now, "both", "added"),
    rest.nodes.map((node) => drawnNode(node, "plain", () => onGo(0, node))), now.nodes.map((node) => drawnNode(node, "plain", () => onGo(1, node))), replacedBy(old, now, gone));
}

// One arrow from what went to what came in its place: between the two that are nearest.
function replacedBy(old, now, gone) {
  const here = (side, wanted) => [...side.nodes, ...side.boxes].filter((node) => node.focus && node.kind === wanted);
  const middle = ({ x, y, w, h }) => [x + w / 2, y + h / 2];
  let best = null;
  for (const from of here(old, "removed").filter(gone)) {
    for (const to of here(now, "added")) {
      const [a, b] = [middle(from), middle(to)];
      const far = Math.hypot(a[0] - b[0], a[1] - b[1]);
      if (!best || far < best.far) best = { far, from, to, a, b };
    }
  }
  if (!best) return null;
  const right = best.a[0] < best.b[0];
  const x1 = best.a[0] + (right ? 1 : -1) * best.from.w / 2, x2 = best.b[0] - (right ? 1 : -1) * best.to.w / 2;
  const y = Math.abs(x1 - x2) < 90 ? Math.min(best.from.y, best.to.y) - 14 : (best.a[1] + best.b[1]) / 2 - 6;
  return draw("g", { class: "instead" }, draw("path", { d: `M${x1} ${best.a[1]}C${(x1 + x2) / 2} ${best.a[1]} ${(x1 + x2) / 2} ${best.b[1]} ${x2} ${best.b[1]}`, "marker-end": "url(#arrow-both)" }),
    draw("text", { x: (x1 + x2) / 2, y, "text-anchor": "middle" }, "replaced by"));
}

function legend(kinds) {
  const sample = (kind, words) => make("span", {}, draw("svg", { width: 30, height: 20, viewBox: "-9 -3 36 24", "aria-hidden": "true" },
    draw("g", { class: `node plain ${kind}` }, draw("rect", { class: "shape", width: 26, height: 16, rx: 4 }), kind === "changed" ? draw("rect", { class: "again", x: 3, y: 3, width: 20, height: 10, rx: 2 }) : null)), words);
  return make("p", { class: "legend" }, kinds ? [Object.keys(KINDS).map((kind) => sample(kind, `${SIGNS[kind]} ${kind}`)),
    make("span", {}, make("span", { class: "swatch" }), "the open change")] : null,
    sample("same near", "in another memory than the device's main one"), sample("same host", "on the host, or in its memory"),
    make("span", { class: "quiet" }, "Large boxes are fusions. An edge leads from operand to user."));
}

// Several canvases with one drawing each that move and zoom together.
class Camera {
  constructor(onZoom) {
    this.onZoom = onZoom;
    this.views = [];
  }

  // Canvases, each an element with an `svg` and in it the group that moves; all of one size.
  hold(views, width, height) {
    Object.assign(this, { views, width, height });
    for (const { canvas } of views) this.listen(canvas);
    this.fit();
  }

  listen(canvas) {
    canvas.addEventListener("wheel", (event) => {
      if (!this.free && !event.ctrlKey && !event.metaKey) return; // the page scrolls where all is in view
      event.preventDefault();
      const box = canvas.getBoundingClientRect();
      if (event.ctrlKey || event.metaKey) this.zoom(Math.exp(-event.deltaY / 300), event.clientX - box.left, event.clientY - box.top);
      else this.move(-event.deltaX, -event.deltaY);
    }, { passive: false });
    // Two fingers zoom the drawing and not the page, around the point between them, and move it.
    const pinched = ({ touches: [a, b] }) => ({ far: Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY), x: (a.clientX + b.clientX) / 2, y: (a.clientY + b.clientY) / 2 });
    const pinch = (event) => {
      if (event.touches.length !== 2) { this.fingers = null; return; }
      event.preventDefault();
      const before = this.fingers, now = this.fingers = pinched(event), box = canvas.getBoundingClientRect();
      this.held = null;
      if (!before || !before.far || !now.far) return;
      this.move(now.x - before.x, now.y - before.y);
      this.zoom(now.far / before.far, now.x - box.left, now.y - box.top);
    };
    for (const name of ["touchstart", "touchmove", "touchend", "touchcancel"]) canvas.addEventListener(name, pinch, { passive: false });
    canvas.addEventListener("pointerdown", (event) => { if (event.button === 0) this.held = { x: event.clientX, y: event.clientY, far: 0 }; });
    canvas.addEventListener("pointermove", (event) => {
      if (!this.held || !(event.buttons & 1)) { this.held = null; return; }
      const dx = event.clientX - this.held.x, dy = event.clientY - this.held.y;
      this.held = { x: event.clientX, y: event.clientY, far: this.held.far + Math.abs(dx) + Math.abs(dy) };
      this.dragged = this.held.far > 5;
      if (this.dragged && (event.pointerType === "mouse" || this.free)) this.move(dx, dy);
    });
    // A click that ends a drag is none.
    canvas.addEventListener("click", (event) => { if (this.dragged) { event.stopPropagation(); this.dragged = false; } }, { capture: true });
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("focusin", (event) => this.reveal(event.target));
  }

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const step = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
    if (step) this.move(...step);
    else if (event.key === "+" || event.key === "=") this.zoom(1.25);
    else if (event.key === "-") this.zoom(0.8);
    else if (event.key === "0") this.fit();
    else return;
    event.preventDefault();
  }

  // What takes the focus by a key comes into view.
  reveal(target) {
    const node = target.closest(".node, .part");
    if (!node || !node.matches(":focus-visible")) return;
    const canvas = node.closest(".canvas-2"), box = canvas.getBoundingClientRect(), own = node.getBoundingClientRect();
    const by = (low, high, least, most) => (low < least ? least - low + 20 : high > most ? most - high - 20 : 0);
    this.move(by(own.left, own.right, box.left, box.right), by(own.top, own.bottom, box.top, box.bottom));
  }

  get room() {
    const { canvas } = this.views[0];
    return [canvas.clientWidth, canvas.clientHeight];
  }

  scaleIn(width, height) { return Math.min(width / (this.width + 44), height / (this.height + 44), 1.15); }

  fit() {
    if (!this.views.length) return;
    const [width, height] = this.room;
    this.whole = this.scale = Math.max(this.scaleIn(width, height), 0.05);
    this.x = (width - this.width * this.scale) / 2;
    this.y = Math.max((height - this.height * this.scale) / 2, 0);
    this.free = false;
    this.apply();
  }

  zoom(factor, x, y) {
    const [width, height] = this.room;
    const scale = Math.min(Math.max(this.scale * factor, this.whole / 2, 0.02), 4);
    const at = [x ?? width / 2, y ?? height / 2];
    this.x = at[0] - (at[0] - this.x) * scale / this.scale;
    this.y = at[1] - (at[1] - this.y) * scale / this.scale;
    this.scale = scale;
    this.free = scale > this.whole;
    this.apply();
  }

  // Something that is drawn in the middle, large enough to be read.
  centre({ x, y, w, h }) {
    const [width, height] = this.room;
    this.scale = Math.max(this.scale, 0.8);
    this.x = width / 2 - (x + w / 2) * this.scale;
    this.y = height / 2 - (y + h / 2) * this.scale;
    this.free = this.scale > this.whole;
    this.apply();
  }

  move(dx, dy) {
    if (!dx && !dy) return;
    const [width, height] = this.room;
    const keep = (at, size, room) => Math.min(Math.max(at, 60 - size), room - 60);
    this.x = keep(this.x + dx, this.width * this.scale, width);
    this.y = keep(this.y + dy, this.height * this.scale, height);
    this.apply();
  }

  apply() {
    for (const { canvas, group } of this.views) {
      group.setAttribute("transform", `translate(${this.x.toFixed(1)} ${this.y.toFixed(1)}) scale(${this.scale.toFixed(4)})`);
      canvas.classList.toggle("free", this.free);
    }
    this.onZoom(Math.round(this.scale * 100));
  }
}

// A drawing that moves and zooms, with a name for those who cannot see it.
function canvasOf(group, label) {
  const svg = draw("svg", { role: "group", "aria-label": label }, group);
  return { canvas: make("div", { class: "canvas-2", tabindex: 0, role: "region", "aria-label": `${label}: arrows move it, plus and minus zoom, 0 shows all` }, svg), group };
}

const zoomButtons = (camera, shown) => make("span", { class: "zoom", role: "group", "aria-label": "Zoom" },
  make("button", { type: "button", "aria-label": "zoom out", title: "\u2212", onclick: () => camera.zoom(0.8) }, "\u2212"), shown,
  make("button", { type: "button", "aria-label": "zoom in", title: "+", onclick: () => camera.zoom(1.25) }, "+"),
  make("button", { type: "button", title: "0", onclick: () => camera.fit() }, "Fit"));

// --- a file of its own -------------------------------------------------------------------------------------------------

// Rules of the page for what is drawn, with today's colours in the place of their names.
function drawingStyle() {
  const now = getComputedStyle(document.documentElement);
  const rules = [...document.styleSheets[0].cssRules].filter((rule) => rule.selectorText && /^\.(node|part|edge|arrow|mark|focus|instead)\b/.test(rule.selectorText));
  return rules.map((rule) => rule.cssText.replace(/var\((--[\w-]+)\)/g, (_, name) => now.getPropertyValue(name).trim())).join("\n");
}

// Drawings with titles side by side as the text of an SVG file.
function svgFile(parts, width, height) {
  const now = getComputedStyle(document.documentElement), gap = 40, head = 34;
  const total = parts.length * (width + gap) + gap / 2;
  const svg = draw("svg", { xmlns: SVG, viewBox: `0 0 ${total} ${height + head + gap}`, width: total, height: height + head + gap, "font-family": "monospace" },
    draw("style", {}, drawingStyle()), draw("rect", { width: "100%", height: "100%", fill: now.getPropertyValue("--face").trim() }));
  parts.forEach(({ title, group }, n) => {
    const copy = group.cloneNode(true);
    copy.setAttribute("transform", `translate(0 ${head})`);
    for (const node of copy.querySelectorAll("[tabindex]")) { node.removeAttribute("tabindex"); node.setAttribute("role", "img"); }
    svg.append(draw("g", { transform: `translate(${gap / 2 + n * (width + gap)} 10)` },
      draw("text", { y: 10, "font-size": 13, "font-weight": "bold", fill: now.getPropertyValue("--ink").trim() }, title), copy));
  });
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(svg)}\n`;
}

function save(name, text) {
  const link = make("a", { href: URL.createObjectURL(new Blob([text], { type: "image/svg+xml" })), download: `${name.replace(/[^\w.-]+/g, "-").slice(0, 100)}.svg` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

class Drawings {
  constructor(place, list, name, textOf, onGo) {
    Object.assign(this, { place, list, name, textOf, onGo, together: null });
    this.pick = make("select", { id: "drawing-pick", onchange: () => { this.missing.hidden = true; this.show(Number(this.pick.value)); } },
      list.map((one, n) => make("option", { value: n }, `${one.change < 0 ? "\u25a2" : SIGNS[one.kind] || "\u00b7"}  ${one.what}`)));
    const on = (event) => this.light(event, true), off = (event) => this.light(event, false);
    this.scene = make("div", { class: "graphs", onpointerover: on, onfocusin: on, onpointerout: off, onfocusout: off });
    this.missing = make("p", { class: "quiet missing", role: "status", hidden: true }, "The open change is not drawn in this page. Below is another one.");
    this.percent = make("output", { class: "quiet", "aria-label": "zoom" });
    this.camera = new Camera((percent) => { this.percent.textContent = `${percent} %`; });
    this.merge = make("button", { type: "button", "aria-pressed": "false", title: "both sides in one drawing", onclick: () => this.toggle() }, "Together");
    empty(place, make("p", { class: "toolbar" }, make("label", { class: "grow" }, make("span", { class: "skip" }, "Which change"), this.pick),
      this.merge, zoomButtons(this.camera, this.percent), make("button", { type: "button", title: "saves this graph as a file", onclick: () => this.export() }, "Save SVG")),
      this.missing, this.scene, legend(true));
    this.observer = new ResizeObserver(() => this.arrange());
    this.observer.observe(this.scene);
    this.show(0);
  }

  toggle() {
    this.together = !this.merged;
    this.redraw();
  }

  // Where two drawings beside each other would be too small to read, one has both until somebody chooses.
  get merged() {
    const one = this.list[this.now];
    if (!one.old || !one.new || this.together !== null) return Boolean(one.old && one.new && this.together);
    return this.scene.clientWidth > 0 && Math.max(...this.scales()) < READABLE;
  }

  // How large both sides would be beside each other, and one above the other.
  scales() {
    const { w, h } = this.list[this.now];
    const width = this.scene.clientWidth, height = this.scene.clientHeight;
    return [[(width / 2) / (w + 44), height / (h + 44)], [width / (w + 44), (height / 2 - 28) / (h + 44)]].map((both) => Math.min(...both, 1.15));
  }

  show(index) {
    const one = this.list[index];
    if (!one || this.now === index) return;
    this.now = index;
    this.pick.value = String(index);
    for (const [side, name] of SIDES.entries()) {
      for (const node of one[name] ? [...one[name].nodes, ...one[name].boxes] : []) node.text ||= this.textOf(side, node.line);
    }
    this.redraw();
  }

  redraw() {
    const one = this.list[this.now];
    this.parts = [];
    const both = this.drawn = this.merged;
    this.merge.setAttribute("aria-pressed", String(both));
    this.merge.disabled = !(one.old && one.new);
    const figure = (name, side, view) => make("figure", { class: `graph ${name}` },
      make("figcaption", {}, make("b", {}, name === "both" ? "old and new" : name), " ", make("code", {}, side.in),
        side.left > 0 ? make("span", { class: "quiet" }, ` and ${many(side.left, "instruction")} of it not drawn`) : null), view.canvas);
    const part = (name, side, group) => {
      const view = canvasOf(group, `${name} graph, ${many(side.nodes.length + side.boxes.length, "instruction")} in ${side.in}`);
      this.parts.push({ title: `${name === "both" ? "old and new" : name}: ${side.in}`, ...view });
      return figure(name, side, view);
    };
    empty(this.scene, both ? part("both", one.new, drawnBoth(one.old, one.new, (side, node) => this.onGo(SIDES[side], node)))
      : SIDES.map((name) => one[name] ? part(name, one[name], drawnSide(one[name], name, (node) => this.onGo(name, node)))
        : make("figure", { class: "graph none" }, make("figcaption", {}, make("b", {}, name), make("span", { class: "quiet" }, " nothing of it is in this program")))));
    this.size = "";
    this.arrange();
  }

  // Side by side or one above the other, whichever shows more.
  arrange() {
    const { w, h } = this.list[this.now];
    const width = this.scene.clientWidth, height = this.scene.clientHeight;
    if (!width || this.size === `${width} ${height}`) return;
    if (this.merged !== this.drawn) { this.redraw(); return; }
    this.size = `${width} ${height}`;
    const [beside, above] = this.scales();
    this.scene.classList.toggle("beside", this.parts.length > 1 && beside >= above);
    this.camera.hold(this.parts, w, h);
  }

  export() {
    const { w, h, what } = this.list[this.now];
    save(`${this.name} ${what}`, svgFile(this.parts, w, h));
  }

  // An instruction and its match light up together.
  light(event, on) {
    const node = event.target.closest(".node");
    if (node) for (const twin of this.scene.querySelectorAll(".node")) if (twin.dataset.key === node.dataset.key) twin.classList.toggle("twin", on);
  }

  // Shows the drawing of a change; false where there is none.
  showChange(number) {
    const index = this.list.findIndex((one) => one.change === number);
    this.missing.hidden = index >= 0;
    if (index >= 0) this.show(index);
    return index >= 0;
  }
}
