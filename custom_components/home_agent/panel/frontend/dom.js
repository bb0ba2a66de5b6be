// Builds elements. What a person, a model or a web page wrote only ever becomes a text node or the value of a field,
// never markup.

const SVG = "http://www.w3.org/2000/svg";

/** Returns an element; `properties` are listeners (onclick), fields (value, disabled) and attributes. */
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
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.entries(value).forEach(([key, text]) => element.style.setProperty(key, text));
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

/** Returns a button that is off while what it does is under way. */
export function button(label, act, properties = {}) {
  const element = h("button", { type: "button", ...properties }, label);
  element.addEventListener("click", async () => {
    element.disabled = true;
    try {
      await act();
    } finally {
      element.disabled = false;
    }
  });
  return element;
}

/** Returns a field with its label. */
export function field(label, input) {
  return h("label", { class: "field" }, h("span", {}, label), input);
}

/** Returns a choice; `options` are pairs of value and label. */
export function choice(options, chosen, onchange, properties = {}) {
  const select = h(
    "select",
    properties,
    options.map(([value, label]) => h("option", { value, selected: value === chosen }, label)),
  );
  select.addEventListener("change", () => onchange(select.value));
  return select;
}

/** Returns a table with a heading for each column; cells are texts or elements. */
export function table(caption, columns, rows) {
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h(
      "table",
      {},
      h("caption", {}, caption),
      h("thead", {}, h("tr", {}, columns.map((column) => h("th", { scope: "col" }, column)))),
      h(
        "tbody",
        {},
        rows.map(([first, ...rest]) =>
          h("tr", {}, h("th", { scope: "row" }, first), rest.map((cell) => h("td", {}, cell))),
        ),
      ),
    ),
  );
}

/** Returns a line that says that there is nothing. */
export function nothing(text) {
  return h("p", { class: "nothing" }, text);
}

/** Returns a small mark beside a text; `kind` is good, bad, waits or nothing. */
export function mark(text, kind = "") {
  return h("span", { class: `mark ${kind}` }, text);
}
