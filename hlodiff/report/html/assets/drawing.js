// The neighbourhood of a change before and after, drawn from places that were worked out beforehand.
const KINDS = { added: "added", removed: "removed", changed: "changed", moved: "moved" };

function drawnNode(node, kind, onGo) {
  const { x, y, w, h } = node;
  const words = [node.op, node.shape, ...node.places];
  const says = [node.kind || "unchanged", ...words].join(", ");
  const group = draw("g", {
    class: ["node", kind, node.kind || "same", node.host ? "host" : node.places.length ? "near" : ""].filter((c) => c).join(" "),
    transform: `translate(${x} ${y})`, "data-key": node.key, tabindex: 0, role: "button", "aria-label": says,
    onclick: () => onGo(node), onkeydown: (event) => { if (event.key === "Enter") { event.stopPropagation(); onGo(node); } },
  }, draw("title", {}, node.text));
  group.append(draw("rect", { class: "shape", width: w, height: h, rx: kind === "box" ? 10 : 5 }));
  if (node.kind === "changed") group.append(draw("rect", { class: "again", x: 3, y: 3, width: w - 6, height: h - 6, rx: kind === "box" ? 8 : 3 }));
  if (kind === "box") {
    group.append(draw("text", { class: "op", x: 12, y: 16 }, node.op),
      draw("text", { class: "said", x: 12 + 6.9 * (node.op.length + 1), y: 16 }, [node.shape, ...node.places].join("  ")));
  } else {
    group.append(draw("text", { class: "op", x: w / 2, y: 17, "text-anchor": "middle" }, node.op),
      draw("text", { class: "said", x: w / 2, y: 32, "text-anchor": "middle" }, node.shape),
      ...node.places.map((place) => draw("text", { class: "place", x: w / 2, y: 47, "text-anchor": "middle" }, place)));
  }
  if (node.kind) {
    group.append(draw("g", { class: `mark ${node.kind}`, transform: "translate(0 0)" },
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

function drawnSide(name, side, onGo) {
  if (!side) return make("figure", { class: "graph none" }, make("figcaption", {}, make("b", {}, name), make("span", { class: "quiet" }, " nothing of it is in this program")));
  const pad = 14;
  const svg = draw("svg", { viewBox: `${-pad} ${-pad} ${side.w + 2 * pad} ${side.h + 2 * pad}`, width: side.w + 2 * pad, height: side.h + 2 * pad,
    role: "group", "aria-label": `${name}: ${many(side.nodes.length + side.boxes.length, "instruction")} in ${side.in}` });
  svg.append(draw("defs", {}, draw("marker", { id: `arrow-${name}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, draw("path", { class: "arrow", d: "M0 1L7 4L0 7z" }))));
  svg.append(...side.boxes.map((box) => drawnNode(box, "box", onGo)),
    ...side.edges.map((points) => draw("path", { class: "edge", d: curve(points), "marker-end": `url(#arrow-${name})` })),
    ...side.nodes.map((node) => drawnNode(node, "plain", onGo)));
  return make("figure", { class: `graph ${name}` },
    make("figcaption", {}, make("b", {}, name), " ", make("code", {}, side.in), side.left > 0 ? make("span", { class: "quiet" }, ` and ${many(side.left, "instruction")} of it not drawn`) : null),
    make("div", { class: "canvas-2", tabindex: 0, role: "region", "aria-label": `${name} graph` }, svg));
}

function legend() {
  const sample = (kind, words) => make("span", {}, draw("svg", { width: 30, height: 20, viewBox: "-9 -3 36 24", "aria-hidden": "true" },
    draw("g", { class: `node plain ${kind}` }, draw("rect", { class: "shape", width: 26, height: 16, rx: 4 }), kind === "changed" ? draw("rect", { class: "again", x: 3, y: 3, width: 20, height: 10, rx: 2 }) : null)), words);
  return make("p", { class: "legend" },
    Object.keys(KINDS).map((kind) => sample(kind, `${SIGNS[kind]} ${kind}`)),
    sample("same near", "in another memory than the device's main one"), sample("same host", "on the host, or in its memory"),
    make("span", { class: "quiet" }, "Large boxes are fusions. An edge leads from operand to user."));
}

class Drawings {
  constructor(place, list, textOf, onGo) {
    this.textOf = textOf;
    this.place = place;
    this.list = list;
    this.onGo = onGo;
    this.pick = make("select", { id: "drawing-pick", onchange: () => { this.missing.hidden = true; this.show(Number(this.pick.value)); } },
      list.map((one, n) => make("option", { value: n }, `${one.change < 0 ? "\u25a2" : SIGNS[one.kind]}  ${one.what}`)));
    const on = (event) => this.together(event, true), off = (event) => this.together(event, false);
    this.scene = make("div", { class: "graphs", onpointerover: on, onfocusin: on, onpointerout: off, onfocusout: off });
    this.missing = make("p", { class: "quiet missing", role: "status", hidden: true }, "The open change is not drawn in this page. Below is another one.");
    empty(place, make("p", { class: "toolbar" }, make("label", { class: "grow" }, make("span", { class: "skip" }, "Which change"), this.pick)), this.missing, this.scene, legend());
    this.show(0);
  }

  show(index) {
    const one = this.list[index];
    if (!one || this.now === index) return;
    this.now = index;
    this.pick.value = String(index);
    for (const [side, name] of SIDES.entries()) {
      for (const node of one[name] ? [...one[name].nodes, ...one[name].boxes] : []) node.text ||= this.textOf(side, node.line);
    }
    empty(this.scene, SIDES.map((name) => drawnSide(name, one[name], (node) => this.onGo(name, node))));
  }

  // An instruction and its match light up together.
  together(event, on) {
    const node = event.target.closest(".node");
    if (node) for (const twin of this.scene.querySelectorAll(`[data-key="${node.dataset.key}"]`)) twin.classList.toggle("twin", on);
  }

  // Shows the drawing of a change; false where there is none.
  showChange(number) {
    const index = this.list.findIndex((one) => one.change === number);
    this.missing.hidden = index >= 0;
    if (index >= 0) this.show(index);
    return index >= 0;
  }
}
