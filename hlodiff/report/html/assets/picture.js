// One program: its largest instructions, and a drawing of each computation that is worth one.
const PART_KINDS = { collective: "collective", host: "on the host, or in its memory", fusion: "fusion", body: "loop, branch or call", copy: "copy", argument: "argument" };

function drawnPart(node, onGo) {
  const { x, y, w, h } = node;
  const group = draw("g", { class: `part ${node.kind}${node.root ? " result" : ""}`, transform: `translate(${x} ${y})`, "data-key": node.key, tabindex: 0, role: "button",
    "aria-label": [node.op, node.shape, ...node.lines, node.opens >= 0 ? "opens" : ""].filter((word) => word).join(", "),
    onclick: () => onGo(node), onkeydown: (event) => { if (event.key === "Enter") { event.stopPropagation(); onGo(node, true); } },
    ondblclick: () => onGo(node, true) }, draw("title", {}, [node.text, node.scope, node.where].filter((word) => word).join("\n")));
  group.append(draw("rect", { class: "shape", width: w, height: h, rx: node.kind === "fusion" || node.kind === "body" ? 10 : 5 }));
  if (node.share > 0.001) group.append(draw("rect", { class: "heat", x: 6, y: h - 7, width: Math.max((w - 12) * Math.min(node.share, 1), 1.5), height: 4, rx: 2 }));
  const line = (n, name, words) => draw("text", { class: name, x: w / 2, y: 17 + 15 * n, "text-anchor": "middle" }, words);
  group.append(line(0, "op", node.op), line(1, "said", node.shape), ...node.lines.map((words, n) => line(n + 2, n < node.places ? "place" : "cost", words)));
  if (node.opens >= 0) group.append(draw("text", { class: "opens", x: w - 9, y: 15, "text-anchor": "end" }, "\u2922"));
  return group;
}

function drawnLevel(level, onGo) {
  const far = new Set(level.only);
  return draw("g", {}, arrowHead("picture"),
    level.edges.map((points, n) => draw("path", { class: far.has(n) ? "edge far" : "edge", d: curve(points), "marker-end": "url(#arrow-picture)" })),
    level.nodes.map((node) => drawnPart(node, onGo)));
}

class Picture {
  constructor() {
    this.percent = make("output", { class: "quiet", "aria-label": "zoom" });
    this.camera = new Camera((percent) => { this.percent.textContent = `${percent} %`; this.mapped(); });
    this.trail = make("nav", { class: "trail", "aria-label": "Computations" });
    this.scene = make("div", { class: "graphs" });
    this.chosenPlace = make("div", { id: "chosen", "aria-live": "polite" });
    this.words = make("input", { id: "find", type: "search", placeholder: "Find, Enter for the next", autocomplete: "off", spellcheck: "false", "aria-describedby": "found",
      oninput: () => this.search(), onkeydown: (event) => this.findKey(event) });
    this.found = make("span", { id: "found", class: "quiet", role: "status" });
    this.hits = [];
    const sample = (kind, words) => make("span", {}, draw("svg", { width: 30, height: 20, viewBox: "-2 -2 30 20", "aria-hidden": "true" },
      draw("g", { class: `part ${kind}` }, draw("rect", { class: "shape", width: 26, height: 16, rx: 4 }))), words);
    const help = make("p", { class: "legend" }, Object.entries(PART_KINDS).map(([kind, words]) => sample(kind, words)),
      make("span", { class: "quiet" }, "The bar is the share of the whole program. Dashed edges lead through what is not drawn. \u2922 opens with a second click or Enter."));
    empty(byId("picture"), make("p", { class: "toolbar" }, this.trail, zoomButtons(this.camera, this.percent),
      make("button", { type: "button", title: "saves this drawing as a file", onclick: () => this.export() }, "Save SVG"),
      make("label", { class: "grow" }, make("span", { class: "skip" }, "Find an instruction"), this.words), this.found), this.scene, this.chosenPlace, help);
    byId("programs-pick").addEventListener("change", (event) => { location.hash = `#${encodeURI(event.target.selectedOptions[0].dataset.address)}`; });
    new ResizeObserver(() => { if (this.view && this.scene.clientWidth !== this.width) this.start(); }).observe(this.scene);
  }

  async open(option) {
    const { name, target, stage, address } = option.dataset;
    if (this.address === address) return;
    this.address = address;
    byId("programs-pick").value = option.value;
    this.value = await unpacked(byId(`body-${option.value}`));
    byId("program-name").textContent = name;
    empty(byId("program-of"), [target, stage].map((word) => word ? make("span", { class: "badge" }, word) : null));
    empty(byId("facts"), this.value.facts.map(([label, words]) => make("li", {}, make("span", { class: "quiet" }, label), " ", make("b", {}, words))));
    empty(byId("program-notes"), this.value.notes.map((note) => make("p", { class: "note" }, note)));
    this.list();
    this.words.value = "";
    this.hits = [];
    this.found.textContent = "";
    this.show(this.value.levels.length ? 0 : -1);
  }

  list() {
    const rows = this.value.largest;
    const by = this.value.by;
    empty(byId("changes"), make("section", {}, make("h2", {}, `Largest by ${by}`, make("span", { class: "quiet" }, ` ${many(rows.length, "instruction")} of ${number(this.value.size || 0)}`)),
      make("ol", { class: "changes" }, rows.map(([what, inside, level, key, runs, one, all, share, place, where, kind], n) => make("li", {}, make("div", { class: "change-head" },
        make("button", { class: "change", tabindex: n ? -1 : 0, onclick: () => this.go(level, key), onkeydown: (event) => this.move(event, n) },
          make("span", { class: `dot part-${kind}`, title: PART_KINDS[kind] || "", "aria-hidden": "true" }), make("span", { class: "what" }, what), make("b", { class: "times" }, all),
          make("span", { class: "under" }, [share, runs === "once" ? "" : `${one} \u00d7 ${runs}`, place, where, level > 0 ? `in %${inside}` : ""].filter((word) => word).join(" \u00b7 ")))))))));
  }

  move(event, now) {
    const step = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity }[event.key];
    if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const buttons = [...document.querySelectorAll("button.change")];
    const next = buttons[Math.min(Math.max(now + step, 0), buttons.length - 1)];
    for (const button of buttons) button.tabIndex = button === next ? 0 : -1;
    next.focus();
  }

  show(index) {
    this.index = index;
    this.level = this.value.levels[index];
    empty(this.chosenPlace);
    if (!this.level) { this.view = null; empty(this.scene); empty(this.trail); return; }
    const { level } = this;
    const title = `${level.entry ? "ENTRY " : ""}%${level.name}`;
    this.view = canvasOf(drawnLevel(level, (node, open) => this.chosen(node, open)), `${title}, ${many(level.nodes.length, "instruction")} drawn`);
    const drawn = level.nodes.length < level.size ? `${number(level.nodes.length)} of ${many(level.size, "instruction")} drawn: those with the most ${this.value.by}` : many(level.size, "instruction");
    const says = [drawn, level.entry ? "" : `runs ${level.runs}`, level.fused && this.value.by === "bytes" ? "" : level.total].filter((word) => word).join(" \u00b7 ");
    empty(this.scene, make("figure", { class: "graph" }, make("figcaption", {}, make("b", {}, title), make("span", { class: "quiet" }, ` ${says}`)), this.view.canvas));
    empty(this.trail, index ? make("button", { type: "button", onclick: () => this.show(0) }, "ENTRY") : make("b", {}, "ENTRY"),
      level.callers.filter(([at]) => at && at !== index).map(([at, name]) => [" \u2190 ", make("button", { type: "button", onclick: () => this.show(at) }, `%${name}`)]), index ? [" \u203a ", make("b", {}, `%${level.name}`)] : null);
    this.mark();
    this.start();
  }

  // What is drawn of this program and has all these words: in its text, its scope or its line.
  search() {
    const wanted = this.words.value.trim().toLowerCase().split(/\s+/).filter((word) => word);
    const has = ({ text, scope, where }) => { const all = [text, scope, where].join("\n").toLowerCase(); return wanted.every((word) => all.includes(word)); };
    this.hits = wanted.length ? this.value.levels.flatMap(({ nodes }, level) => nodes.filter(has).map(({ key }) => [level, key])) : [];
    this.at = -1;
    this.found.textContent = !wanted.length ? "" : this.hits.length ? `${number(this.hits.length)} drawn` : "none drawn";
    this.words.setAttribute("aria-invalid", String(Boolean(wanted.length && !this.hits.length)));
    this.mark();
  }

  findKey(event) {
    if (event.key === "Enter" && this.hits.length) {
      event.preventDefault();
      this.at = event.shiftKey ? (this.at <= 0 ? this.hits.length : this.at) - 1 : (this.at + 1) % this.hits.length;
      this.go(...this.hits[this.at]);
      this.found.textContent = `${number(this.at + 1)} of ${number(this.hits.length)}`;
    } else if (event.key === "Escape") {
      if (this.words.value) { this.words.value = ""; this.search(); } else this.words.blur();
      event.stopPropagation();
    }
  }

  mark() {
    if (!this.view) return;
    const keys = new Set(this.hits.filter(([level]) => level === this.index).map(([, key]) => String(key)));
    for (const part of this.view.group.querySelectorAll(".part")) part.classList.toggle("hit", keys.has(part.dataset.key));
  }

  // All of it where that can be read; else the largest instruction, with a map of the rest.
  start() {
    const { w, h, nodes } = this.level;
    this.width = this.scene.clientWidth;
    const box = ({ x, y, w, h, kind }) => draw("rect", { class: `mapped part-${kind}`, x, y, width: w, height: h, rx: 12 });
    this.window = draw("rect", { class: "window" });
    if (this.map) this.map.remove();
    this.map = draw("svg", { class: "map", viewBox: `-20 -20 ${w + 40} ${h + 40}`, "aria-hidden": "true", onpointerdown: (event) => this.jump(event), onclick: (event) => event.stopPropagation() }, nodes.map(box), this.window);
    this.view.canvas.append(this.map);
    this.camera.hold([this.view], w, h);
    if (this.camera.scale >= READABLE || !nodes.length) return;
    this.camera.scale = 0.85;
    this.camera.centre(nodes.reduce((most, node) => (node.share > most.share ? node : most)));
  }

  // What part of the drawing is in view.
  mapped() {
    const { camera } = this;
    const [width, height] = camera.room;
    this.map.classList.toggle("idle", camera.scale <= camera.whole * 1.02);
    for (const [name, value] of Object.entries({ x: -camera.x / camera.scale, y: -camera.y / camera.scale, width: width / camera.scale, height: height / camera.scale })) this.window.setAttribute(name, value.toFixed(0));
  }

  jump(event) {
    event.preventDefault();
    event.stopPropagation();
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.map.getScreenCTM().inverse());
    this.camera.centre({ x: at.x, y: at.y, w: 0, h: 0 });
  }

  // A row of the list: its drawing, with it in the middle where it is drawn.
  go(level, key) {
    if (level < 0) return;
    if (level !== this.index) this.show(level);
    const node = this.level.nodes.find((one) => one.key === key);
    if (!node) { empty(this.chosenPlace, make("p", { class: "quiet" }, "This one is not drawn: others here cost more.")); return; }
    this.chosen(node);
    this.camera.centre(node);
  }

  chosen(node, open) {
    const again = this.view.group.querySelector(`[data-key="${node.key}"]`);
    if (node.opens >= 0 && (open || again.classList.contains("twin"))) { this.show(node.opens); return; }
    for (const one of this.view.group.querySelectorAll(".twin")) one.classList.remove("twin");
    again.classList.add("twin");
    const opens = node.opens >= 0 ? make("button", { type: "button", class: "small", onclick: () => this.show(node.opens) }, `Open %${this.value.levels[node.opens].name}`) : null;
    empty(this.chosenPlace, make("p", {}, make("code", {}, shownLine(node.text))), make("p", { class: "quiet" }, [node.scope, node.where].filter((word) => word).join(" \u00b7 ")), opens);
  }

  export() {
    if (this.view) save(`${this.address.replaceAll("/", " ")} ${this.level.name}`, svgFile([{ title: `${this.address} %${this.level.name}`, group: this.view.group }], this.level.w, this.level.h));
  }
}

const picture = new Picture();

async function routePicture() {
  let address = location.hash.slice(1);
  try { address = decodeURIComponent(address); } catch { /* as it is */ }
  const options = [...byId("programs-pick").options];
  const found = options.find(({ dataset }) => dataset.address === address) || options.find(({ dataset }) => dataset.address.startsWith(`${address}/`));
  if (options.length) await picture.open(found || options[0]);
}

byId("theme").addEventListener("click", () => nextTheme());
addEventListener("hashchange", routePicture);
addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.altKey || event.ctrlKey || event.metaKey || /^(INPUT|SELECT)$/.test(event.target.tagName)) return;
  event.preventDefault();
  picture.words.focus();
  picture.words.select();
});
routePicture().then(() => document.documentElement.classList.add("ready"));
