// Elements are made one by one and names go in as text: nothing here parses HTML.
const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(3)) {
    if (child === null || child === undefined || child === "" || child === false) continue;
    node.append(child);
  }
  return node;
}

const make = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const draw = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
const byId = (id) => document.getElementById(id);
const empty = (node, ...children) => { node.replaceChildren(...children.flat(3).filter((c) => c)); return node; };
const number = (count) => count.toLocaleString("en-US");
const many = (count, one, several) => `${number(count)} ${count === 1 ? one : several || one + "s"}`;

// A sign and a word for each kind of edit: colour is never all there is.
const SIGNS = { added: "+", removed: "\u2212", changed: "~", moved: "\u2933", replaced: "\u21c4" };
const MARKS = { worse: "\u25b2", better: "\u25bc", mixed: "\u25c6", same: "=" };
const sign = (kind) => make("span", { class: `sign ${kind}`, role: "img", "aria-label": kind, title: kind }, SIGNS[kind] || "\u00b7");
