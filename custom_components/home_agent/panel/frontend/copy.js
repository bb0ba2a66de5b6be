// Copies text for people, also where the browser has no clipboard for pages without TLS.

import { button } from "./controls.js";
import { h } from "./dom.js";

/** Returns a button that copies what `text` returns. */
export function copied(label, text, { t, say }) {
  return button(label, async () => {
    await copy(text());
    say(t("copied"));
  });
}

async function copy(text) {
  if (navigator.clipboard && window.isSecureContext) {
    await navigator.clipboard.writeText(text);
    return;
  }
  const area = h("textarea", { value: text, style: { position: "fixed", opacity: "0" } });
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
