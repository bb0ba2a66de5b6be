// A sentence and its answer, as in a chat.

import { icon } from "./controls.js";
import { answerText, dotted, h } from "./dom.js";

// Icons and colors of what became of a turn.
const OUTCOMES = {
  answered: ["robot-outline", ""],
  local: ["home-lightning-bolt-outline", "good"],
  asked: ["help-circle-outline", "waits"],
  refused: ["hand-back-left-outline", "bad"],
  failed: ["alert-circle-outline", "bad"],
};
/** Returns a sentence and its answer as bubbles, which lead to the turn. */
export function exchange(turn, { t, href }) {
  const [name, kind] = OUTCOMES[turn.outcome];
  return h(
    "a",
    { class: "exchange", href: href("turns", turn.id) },
    h("span", { class: "bubble person" }, turn.sentence),
    h(
      "span",
      { class: "answer" },
      icon(name, { kind, label: t(`outcome_${turn.outcome}`) }),
      h("span", { class: `bubble agent ${turn.error ? "error" : ""}` }, answerText(turn.answer || "–")),
    ),
    h(
      "span",
      { class: "quiet" },
      dotted(
        turn.outcome !== "answered" && t.line(`outcome_${turn.outcome}`),
        t.time(turn.at),
        t.ms(turn.ms),
        turn.tokens > 0 && t.count("tokens", turn.tokens),
        turn.tools.length > 0 && t.count("calls", turn.tools.length),
      ),
    ),
  );
}
