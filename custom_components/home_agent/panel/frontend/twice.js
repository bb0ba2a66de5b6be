// A button that has to be pressed twice.

import { button } from "./controls.js";
import { goOn } from "./dom.js";

/** Returns a button for what cannot be taken back; `name` says to those who cannot see of what. */
export function twice(label, really, name, act) {
  const first = button(
    label,
    () => {
      const second = button(really, act, { kind: "danger" });
      first.replaceWith(second);
      goOn(second);
      const back = () => {
        second.removeEventListener("blur", back); // it is gone, too, when the button is
        if (second.isConnected && !second.ariaBusy) second.replaceWith(first);
      };
      second.addEventListener("blur", back);
      second.addEventListener("keydown", ({ key }) => key === "Escape" && (back(), goOn(first)));
    },
    { kind: "danger", "aria-label": name ? `${label}: ${name}` : undefined },
  );
  return first;
}
