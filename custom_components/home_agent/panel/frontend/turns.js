// The last turns, and one of them in all its parts.

import { button, h, mark, nothing, table } from "./dom.js";
import { waterfall } from "./waterfall.js";

export const turns = {
  name: "turns",
  topics: ["turns"],
  draw: (context) => (context.state.turn ? one(context) : list(context)),
};

async function list(context) {
  const { t, call, state, refresh } = context;
  const { turns: found, most } = await call("turns");
  if (!found.length) return h("section", { class: "card" }, h("h2", {}, t("page_turns")), nothing(t("no_turns")));
  const conversations = Map.groupBy(found, (turn) => turn.conversation);
  const open = (id) => {
    state.turn = id;
    return refresh();
  };
  return [
    h("p", { class: "quiet" }, t("turns_kept", { most })),
    ...[...conversations.values()].map((group) =>
      h(
        "section",
        { class: "card" },
        h("ul", { class: "list" }, group.map((turn) => h("li", {}, line(turn, t, open)))),
      ),
    ),
  ];
}

function line(turn, t, open) {
  return button(
    [
      h("strong", {}, turn.sentence),
      h("span", { class: turn.error ? "error" : "" }, turn.answer || "–"),
      h(
        "div",
        { class: "quiet" },
        [
          t.moment(turn.at),
          turn.person || t("nobody_known"),
          t(`surface_${turn.surface}`),
          t.ms(turn.ms),
          t("tokens", { count: t.number(turn.tokens) }),
          turn.tools.length > 0 && t("calls", { count: turn.tools.length }),
        ]
          .filter(Boolean)
          .join(" · "),
      ),
    ],
    () => open(turn.id),
    { class: "turn" },
  );
}

async function one(context) {
  const { t, call, state, refresh } = context;
  const back = button(t("back"), () => {
    state.turn = null;
    return refresh();
  });
  let turn;
  try {
    turn = await call("turn", { turn_id: state.turn });
  } catch {
    state.turn = null; // it is no longer kept
    return list(context);
  }
  return [
    h("div", { class: "row" }, back),
    h("section", { class: "card" }, said(turn, t)),
    h("section", { class: "card" }, h("h2", {}, t("course")), waterfall(turn, t)),
    ...turn.requests.map((request, index) => h("section", { class: "card" }, asked(request, index, t))),
    turn.calls.length > 0 && h("section", { class: "card" }, h("h2", {}, t("tool_calls")), turn.calls.map((each) => called(each, t))),
    turn.slots.length > 0 && h("section", { class: "card" }, h("h2", {}, t("told")), turn.slots.map((slot) => told(slot, t))),
  ].filter(Boolean);
}

function said(turn, t) {
  return [
    h("h2", {}, turn.sentence),
    h("p", { class: turn.error ? "error" : "" }, turn.answer || "–"),
    turn.cause && h("p", { class: "error" }, turn.cause),
    h(
      "p",
      { class: "quiet" },
      [t.moment(turn.at), turn.person || t("nobody_known"), t(`surface_${turn.surface}`), turn.language, turn.error]
        .filter(Boolean)
        .join(" · "),
    ),
    h(
      "p",
      {},
      !turn.requests.length && mark(t("without_model")),
      turn.tainted && mark(t("read_outside"), "bad"),
      turn.kept_home && mark(t("kept_home"), "good"),
      turn.listens && mark(t("listens")),
    ),
  ];
}

function asked(request, index, t) {
  const all = request.parts.reduce((sum, part) => sum + part.tokens, 0) || 1;
  return [
    h("h2", {}, t("request_number", { number: index + 1 }), " ", h("span", { class: "quiet" }, request.model)),
    h(
      "p",
      {},
      request.again && mark(t("asked_again"), "bad"),
      mark(`${t("first_token")}: ${t.ms(request.first_ms)}`),
      mark(`${t("in_all")}: ${t.ms(request.ms)}`),
      mark(`${t("prompt_tokens")}: ${t.number(request.prompt)}`),
      mark(`${t("cached_tokens")}: ${t.number(request.cached)}`),
      mark(`${t("answer_tokens")}: ${t.number(request.completion)}`),
    ),
    table(
      t("parts", { count: t.number(request.tokens) }),
      [t("part"), t("estimated"), t("share")],
      request.parts.map((part) => [t(`part_${part.name}`), t.number(part.tokens), t.percent(part.tokens / all)]),
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
  ];
}

function outcome(call, t) {
  if (call.waits) return mark(t("waits_for_confirmation"), "waits");
  return call.success ? mark(t("worked"), "good") : mark(t("not_worked"), "bad");
}

function called(call, t) {
  return h(
    "details",
    {},
    h(
      "summary",
      {},
      outcome(call, t),
      `${call.tool} `,
      h("span", { class: "quiet" }, [t.ms(call.ms), call.fit && t(`fit_${call.fit}`)].filter(Boolean).join(" · ")),
    ),
    h("p", { class: "quiet" }, t("arguments")),
    h("pre", {}, call.args),
    call.rules.length > 0 && h("p", {}, t("repairs", { rules: call.rules.join(", ") })),
    h("p", { class: "quiet" }, t("result")),
    h("pre", {}, call.result || "–"),
  );
}

function told(slot, t) {
  const scores = slot.lines.some((line) => Object.keys(line.scores).length);
  const rows = slot.lines.map((line) => [
    line.text,
    ...(scores ? [Object.entries(line.scores).map(([by, score]) => `${t(`by_${by}`)} ${score}`).join(", ") || "–"] : []),
  ]);
  return h(
    "details",
    {},
    h("summary", {}, `${t(`part_${slot.name}`)} `, h("span", { class: "quiet" }, t("tokens", { count: t.number(slot.tokens) }))),
    table(slot.heading, [t("line"), ...(scores ? [t("score")] : [])], rows),
    slot.left_out > 0 && h("p", { class: "quiet" }, t("left_out", { count: slot.left_out })),
  );
}
