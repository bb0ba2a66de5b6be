// Builds elements. What a person, a model or a web page wrote only ever becomes a text node or the value of a field,
// never markup.

const SVG = "http://www.w3.org/2000/svg";
const TRIES = 20;
const WAIT = 50; // milliseconds between two tries

/** Returns an element; `properties` are listeners (onclick), fields (value, props), styles and attributes. */
export function h(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

/** Returns an element of a drawing. */
export function s(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "props") Object.assign(element, value);
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.entries(value).forEach(([key, text]) => element.style.setProperty(key, text));
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false || child === "") continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

const FEW = 3; // columns that a phone has room for

/**
 * Returns a table with a heading for each column; `numbers` are columns that are aligned to the right. On a phone, the
 * rows of one with many columns are cards.
 */
export function table(caption, columns, rows, numbers = []) {
  const kind = (index) => (numbers.includes(index) ? "number" : undefined);
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h(
      "table",
      { class: columns.length > FEW ? "many" : undefined },
      h("caption", {}, caption),
      h("thead", {}, h("tr", {}, columns.map((column, index) => h("th", { scope: "col", class: kind(index) }, column)))),
      h(
        "tbody",
        {},
        rows.map(([first, ...rest]) =>
          h("tr", {}, h("th", { scope: "row" }, first), rest.map((cell, index) => h("td", { class: kind(index + 1), "data-name": columns[index + 1] }, cell))),
        ),
      ),
    ),
  );
}

/** Returns a line that says that there is nothing, and how that changes. */
export function nothing(text, ...more) {
  return h("p", { class: "nothing" }, text, more.length > 0 && " ", more);
}

/** Returns a small mark beside a text; `kind` is good, bad, waits or nothing. */
export function mark(text, kind = "") {
  return h("span", { class: `mark ${kind}` }, text);
}

/** Returns an answer's text; what models write in bold is bold, and everything else is text. */
export function answerText(text) {
  return text.split(/\*\*([^*\n]+)\*\*/).map((part, index) => (index % 2 ? h("strong", {}, part) : part));
}

/** Returns texts with a dot between them. */
export function dotted(...parts) {
  return parts.flat().filter(Boolean).join(" · ");
}

/** Lets the keyboard go on at the first field or button of a node; Home Assistant draws its elements some moments later. */
export async function goOn(node) {
  const place = node.querySelector("ha-form") ?? node;
  for (let tries = 0; tries < TRIES && node.isConnected; tries++) {
    const next = firstControl(place);
    if (next) return next.focus();
    await new Promise((resolve) => setTimeout(resolve, WAIT));
  }
}

function firstControl(node) {
  if (node.matches?.("input, textarea, select, button, a")) return node;
  for (const child of [...(node.shadowRoot?.children ?? []), ...node.children]) {
    const found = firstControl(child);
    if (found) return found;
  }
  return null;
}
