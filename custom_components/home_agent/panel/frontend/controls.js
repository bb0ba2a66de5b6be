// Home Assistant's own controls. It loads them when it needs them, so each has a plain counterpart of the browser.

import { goOn, h } from "./dom.js";

const PATIENCE = 200; // milliseconds in which Home Assistant may still define an element

const has = (tag) => Boolean(customElements.get(tag));

/** Waits a moment for the elements that pages use: Home Assistant defines them while it starts. */
export function elements() {
  const wanted = ["ha-card", "ha-icon", "ha-button", "ha-expansion-panel"].map((tag) => customElements.whenDefined(tag));
  return Promise.race([Promise.all(wanted), new Promise((resolve) => setTimeout(resolve, PATIENCE))]);
}

/** Returns a card; a card without a title has none. */
export function card(title, ...children) {
  return h("ha-card", { class: "card" }, title && h("h2", {}, title), children);
}

/** Returns a picture of Material Design Icons; what it means stands beside it or in `label`. */
export function icon(name, { label, kind = "" } = {}) {
  const shown = h("ha-icon", { icon: `mdi:${name}`, class: kind, title: label });
  if (label) Object.entries({ role: "img", "aria-label": label }).forEach(([key, value]) => shown.setAttribute(key, value));
  else shown.setAttribute("aria-hidden", "true");
  return shown;
}

const LOOKS = {
  first: { appearance: "accent", variant: "brand" },
  danger: { appearance: "plain", variant: "danger" },
  "": { appearance: "plain", variant: "brand" },
};

/** Returns a button that does nothing more while it is busy, and keeps the keyboard; `kind` is first, danger or nothing. */
export function button(label, act, { kind = "", ...properties } = {}) {
  const look = has("ha-button") ? { ...LOOKS[kind], size: "small" } : { type: "button", class: kind };
  const element = h(has("ha-button") ? "ha-button" : "button", { ...look, ...properties }, label);
  const busy = (is) => Object.assign(element, { loading: is, ariaBusy: is ? "true" : null });
  element.addEventListener("click", async () => {
    if (element.ariaBusy) return;
    busy(true);
    try {
      await act();
    } finally {
      busy(false);
    }
  });
  return element;
}

/** Shows something else in a place. Where somebody sees it, the keyboard goes on there, and Escape does what `leave` does. */
export function swap(place, nodes, leave) {
  const isSeen = place.isConnected;
  const inside = h("div", {}, nodes);
  const escape = (event) => {
    const inPicker = event.composedPath().some(({ localName }) => localName === "ha-select"); // Escape closes its list
    if (leave && event.key === "Escape" && !inPicker) leave();
  };
  inside.addEventListener("keydown", escape, true); // Home Assistant's fields keep their keys to themselves
  place.replaceChildren(inside);
  if (isSeen) goOn(place);
}

/** Returns a link to another page of Home Assistant that looks like a button. */
export function link(label, href, name) {
  return h("a", { class: "link", href }, name && icon(name), label);
}

/** Returns what can be folded; `summary` is a text, `more` stands beside it in small letters. */
export function folded(summary, more, children, { open = false, before = null } = {}) {
  if (!has("ha-expansion-panel"))
    return h("details", { class: "folded", open }, h("summary", {}, before, summary, more && h("span", { class: "quiet" }, ` ${more}`)), children);
  return h(
    "ha-expansion-panel",
    { class: "folded", outlined: true, props: { expanded: open, header: summary, secondary: more || undefined } },
    before && h("span", { slot: "leading-icon" }, before),
    h("div", { class: "inside" }, children),
  );
}

/** Returns buttons of which one is chosen; `options` are pairs of value and label. */
export function chips(label, options, chosen, choose) {
  const group = h("div", { class: "chips", role: "group", "aria-label": label });
  const mark = (value) => {
    for (const chip of group.children) chip.setAttribute("aria-pressed", String(chip.dataset.value === value));
  };
  for (const [value, text] of options)
    group.append(
      h("button", { type: "button", class: "chip", "data-value": value, onclick: () => (mark(value), choose(value)) }, text),
    );
  mark(chosen);
  return group;
}

/** Returns a field to search in; `search` is called when nobody has typed for a moment. */
export function searchField(label, value, search, wait = 250) {
  let timer;
  const input = h("input", {
    type: "search",
    value,
    placeholder: label,
    "aria-label": label,
    oninput: () => {
      clearTimeout(timer);
      timer = setTimeout(() => search(input.value), wait);
    },
  });
  return h("label", { class: "search" }, icon("magnify"), input);
}

/**
 * Returns a form and how to read it. A field is { name, label, selector }; selectors are those of Home Assistant
 * (text, select, boolean, number).
 */
export function fields(hass, wanted, data) {
  let values = { ...data };
  if (has("ha-form")) {
    const labels = Object.fromEntries(wanted.map(({ name, label }) => [name, label]));
    const form = h("ha-form", {
      props: { hass, data: values, schema: wanted.map(({ name, selector }) => ({ name, selector, required: Boolean(selector.select) })), computeLabel: ({ name }) => labels[name] },
    });
    form.addEventListener("value-changed", (event) => {
      values = event.detail.value;
      form.data = values;
    });
    return { element: form, read: () => values };
  }
  const inputs = wanted.map((field) => [field.name, plain(field, values[field.name])]);
  return {
    element: h("div", { class: "plain" }, inputs.map(([, { element }]) => element)),
    read: () => Object.fromEntries(inputs.map(([name, { read }]) => [name, read()])),
  };
}

function plain({ label, selector }, value) {
  const [kind] = Object.keys(selector);
  const options = selector[kind] ?? {};
  const labelled = (input) => h("label", { class: "field" }, h("span", {}, label), input);
  if (kind === "boolean") {
    const box = h("input", { type: "checkbox" });
    box.checked = Boolean(value);
    return { element: h("label", { class: "field check" }, box, h("span", {}, label)), read: () => box.checked };
  }
  if (kind === "select") {
    const select = h("select", {}, options.options.map((option) => h("option", { value: option.value, selected: option.value === value }, option.label)));
    return { element: labelled(select), read: () => select.value };
  }
  if (kind === "number") {
    const number = h("input", { type: "number", min: options.min, max: options.max, step: options.step, value });
    return { element: labelled(number), read: () => Number(number.value) };
  }
  const text = h(options.multiline ? "textarea" : "input", { value: value ?? "" });
  return { element: labelled(text), read: () => text.value };
}
