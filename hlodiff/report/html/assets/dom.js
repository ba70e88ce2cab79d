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

// Long accounts are packed; every browser since 2023 unpacks them by itself.
async function unpacked(body) {
  if (body.type === "application/json") return JSON.parse(body.textContent);
  if (!("DecompressionStream" in window)) {
    return { tables: [], limits: [], left_out: ["This browser is too old to unpack what is shown of this program."] };
  }
  const bytes = Uint8Array.from(atob(body.textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

// Auto, light, dark.
function nextTheme() {
  const order = ["auto", "light", "dark"];
  const root = document.documentElement;
  const chosen = order[(order.indexOf(root.dataset.theme || "auto") + 1) % order.length];
  if (chosen === "auto") delete root.dataset.theme; else root.dataset.theme = chosen;
  byId("theme").textContent = `Theme: ${chosen}`;
}
