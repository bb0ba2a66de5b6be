// A button that has to be pressed twice.

import { button } from "./controls.js";

/** Returns a button for what cannot be taken back; `name` says to those who cannot see of what. */
export function twice(label, really, name, act) {
  const first = button(
    label,
    () => {
      const second = button(really, act, { kind: "danger" });
      first.replaceWith(second);
      Promise.resolve(second.updateComplete).then(() => second.focus()); // Home Assistant draws its button later
      second.addEventListener("blur", () => second.isConnected && !second.disabled && second.replaceWith(first));
    },
    { kind: "danger", "aria-label": name ? `${label}: ${name}` : undefined },
  );
  return first;
}
