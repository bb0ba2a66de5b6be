// Updates lists in place: what has not changed stays as it is, with what is open, typed or read in it.

import { goOn } from "./dom.js";

const KEPT = new WeakMap();

/**
 * Shows items in a container, in their order. `key` names an item, `make` draws it.
 * A node with a method `renew` takes changed data itself; any other one is drawn again.
 */
export function sync(container, items, key, make) {
  const before = KEPT.get(container) ?? new Map();
  const after = new Map();
  const anchor = topmost(container);
  let next = container.firstChild;
  for (const item of items) {
    const data = JSON.stringify(item);
    const name = key(item);
    let node = before.get(name)?.node;
    if (!node) node = make(item);
    else if (before.get(name).data !== data) {
      if (node.renew) node.renew(item);
      else {
        const fresh = make(item);
        if (next === node) next = node.nextSibling;
        const isUsed = node.matches(":focus-within");
        node.replaceWith(fresh);
        if (isUsed) goOn(fresh);
        node = fresh;
      }
    }
    after.set(name, { data, node });
    if (node === next) next = next.nextSibling;
    else container.insertBefore(node, next);
  }
  while (next) {
    const gone = next;
    next = next.nextSibling;
    const isUsed = gone.matches(":focus-within");
    gone.remove();
    if (isUsed && container.lastElementChild) goOn(container.lastElementChild);
  }
  KEPT.set(container, after);
  stay(anchor);
}

// What is read stays where it is on the screen when something is added above it.
function topmost(container) {
  const shown = [...container.children].find((child) => child.getBoundingClientRect().bottom > 0);
  return shown && window.scrollY > 0 ? { shown, top: shown.getBoundingClientRect().top } : null;
}

function stay(anchor) {
  if (!anchor?.shown.isConnected) return;
  const moved = anchor.shown.getBoundingClientRect().top - anchor.top;
  if (Math.abs(moved) >= 1) window.scrollBy({ top: moved, behavior: "instant" });
}
