// One turn in all its parts: what happened when, what was sent, called and found.

import { card, folded, icon, link } from "./controls.js";
import { copied } from "./copy.js";
import { answerText, dotted, h, mark, nothing, table } from "./dom.js";
import { waterfall } from "./waterfall.js";

/** Opens a turn. It is over, so nothing of it changes while somebody reads it. */
export async function openTurn(context) {
  const { t, call, href, id } = context;
  const back = h("div", { class: "row" }, link(t("back"), href("turns"), "arrow-left"));
  const turn = await call("turn", { turn_id: id }).catch((error) => {
    if (error.translation_key === "turn_unknown") return null;
    throw error;
  });
  if (!turn) return { nodes: [back, card("", nothing(t("turn_gone")))] };
  return {
    nodes: [
      back,
      card("", said(turn, context)),
      card(t("course"), waterfall(turn, t)),
      turn.requests.map((request, index) => card("", asked(request, index, context))),
      turn.calls.length > 0 && card(t("tool_calls"), turn.calls.map((each) => called(each, t))),
      turn.slots.length > 0 && card(t("told"), turn.slots.map((slot) => told(slot, t))),
    ],
  };
}

function said(turn, context) {
  const { t } = context;
  return [
    h("div", { class: "exchange" }, h("h2", { class: "bubble person" }, turn.sentence), h("span", { class: `bubble agent ${turn.error ? "error" : ""}` }, answerText(turn.answer || "–"))),
    turn.cause && h("p", { class: "error" }, icon("alert-circle-outline"), ` ${turn.cause}`),
    h("p", { class: "quiet" }, dotted(t.moment(turn.at), turn.person || t("nobody_known"), t(`surface_${turn.surface}`), turn.language)),
    h(
      "p",
      { class: "marks" },
      turn.outcome !== "answered" && mark(t(`outcome_${turn.outcome}`), { asked: "waits", refused: "bad", failed: "bad" }[turn.outcome]),
      turn.tainted && mark(t("read_outside"), "waits"),
      turn.kept_home && mark(t("kept_home"), "good"),
      turn.listens && mark(t("listens")),
    ),
  ];
}

function asked(request, index, context) {
  const { t } = context;
  const all = request.parts.reduce((sum, part) => sum + part.tokens, 0) || 1;
  return [
    h("h2", {}, t("request_number", { number: index + 1 }), " ", h("span", { class: "quiet" }, request.model)),
    request.again && h("p", {}, mark(t("asked_again"), "waits")),
    h(
      "dl",
      { class: "figures" },
      [
        request.waited_ms > 0 && [t("waited"), t.ms(request.waited_ms)],
        [t("first_token"), t.ms(request.first_ms)],
        [t("in_all"), t.ms(request.ms)],
        [t("prompt_tokens"), t.number(request.prompt)],
        [t("cached_tokens"), t.number(request.cached)],
        [t("answer_tokens"), t.number(request.completion)],
      ].filter(Boolean).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
    ),
    table(
      t("parts", { count: t.number(request.tokens) }),
      [t("part"), t("estimated"), t("share")],
      request.parts.map((part) => [t.line(`part_${part.name}`), t.number(part.tokens), t.percent(part.tokens / all)]),
      [1, 2],
    ),
    request.steps.length > 0 &&
      h(
        "p",
        {},
        t("shortened", {
          before: t.number(request.original),
          after: t.number(request.tokens),
          steps: request.steps.map((step) => t(`part_${step}`)).join(", "),
        }),
      ),
    request.messages.length > 0 && folded(t("sent"), t.count("messages", request.messages.length), sent(request, context)),
  ];
}

// The request as the model got it, message by message.
function sent(request, context) {
  const { t } = context;
  const text = () => JSON.stringify({ messages: request.messages, tools: request.tools.map((tool) => JSON.parse(tool)) }, null, 2);
  return [
    h("div", { class: "row end" }, copied(t("copy"), text, context)),
    request.messages.map((message) => [
      h("h3", {}, t(`role_${message.role}`)),
      message.content && h("pre", { tabindex: "0" }, message.content),
      message.calls.map((call) => h("pre", {}, `${call.name} ${call.arguments}`)),
    ]),
    request.tools.length > 0 && h("h3", {}, t.line("part_tools")),
    request.tools.map((tool) => h("pre", { tabindex: "0" }, JSON.stringify(JSON.parse(tool), null, 2))),
  ];
}

function called(call, t) {
  const [name, kind, word] = call.waits
    ? ["help-circle-outline", "waits", "waits_for_confirmation"]
    : call.success
      ? ["check-circle-outline", "good", "worked"]
      : ["alert-circle-outline", "bad", "not_worked"];
  return folded(
    call.tool,
    dotted(t.line(word), t.ms(call.ms), call.fit && !call.waits && t(`fit_${call.fit}`)),
    [
      h("p", { class: "quiet" }, t("arguments")),
      h("pre", {}, call.args),
      call.rules.length > 0 && h("p", {}, t("repairs", { rules: call.rules.join(", ") })),
      h("p", { class: "quiet" }, t("result")),
      h("pre", {}, call.result || "–"),
    ],
    { before: icon(name, { kind, label: t(word) }) },
  );
}

function told(slot, t) {
  const scores = slot.lines.some((line) => Object.keys(line.scores).length);
  const rows = slot.lines.map((line) => [
    line.text,
    ...(scores ? [Object.entries(line.scores).map(([by, score]) => `${t(`by_${by}`)} ${t.score(score)}`).join(", ") || "–"] : []),
  ]);
  return folded(t.line(`part_${slot.name}`), t.count("tokens", slot.tokens), [
    table(slot.heading, [t("line"), ...(scores ? [t("score")] : [])], rows, [1]),
    slot.left_out > 0 && h("p", { class: "quiet" }, t.count("left_out", slot.left_out)),
  ]);
}
