// What happened when in a turn, one line each.

import { h } from "./dom.js";

const NARROWEST = 0.4; // percent, so that what was quick can be seen

/** Returns the course of a turn: the context, each request until its first token and after it, each tool call. */
export function waterfall(turn, t) {
  const end = Math.max(turn.ms, 1);
  const rows = [
    turn.context_ms > 0 && [t("context"), [["context", turn.context_at, turn.context_ms]], turn.context_ms],
    ...turn.requests.map((request, index) => [
      t("request_number", { number: index + 1 }),
      stretches(request),
      request.ms,
    ]),
    ...turn.calls.map((call) => [call.tool, [[kindOf(call), call.at, call.ms]], call.ms]),
  ].filter(Boolean);
  rows.sort((one, other) => one[1][0][1] - other[1][0][1]);
  const described = rows.map(([name, , ms]) => `${name}: ${t.ms(ms)}`).join("; ");
  return [
    h("p", { class: "key" }, ["context", "queued", "waiting", "writing", "tool"].map((kind) => h("span", {}, h("i", { class: kind }), t.line(`key_${kind}`)))),
    h(
      "div",
      { class: "falls", role: "img", "aria-label": described },
      rows.map(([name, parts, ms]) => [
        h("span", { class: "name", title: name }, name),
        h("div", { class: "track" }, parts.map((part) => stretch(part, end))),
        h("span", { class: "time" }, t.ms(ms)),
      ]),
    ),
    h("p", { class: "quiet" }, `${t.line("in_all")}: ${t.ms(turn.ms)}`),
  ];
}

function kindOf(call) {
  if (call.waits) return "asks";
  return call.success ? "tool" : "failed";
}

function stretches({ at, waited_ms: queued, first_ms: first, ms }) {
  const begun = first ?? ms;
  return [
    queued > 0 && ["queued", at, queued],
    ["waiting", at + queued, Math.max(begun - queued, 0)],
    first !== null && ["writing", at + first, Math.max(ms - first, 0)],
  ].filter(Boolean);
}

function stretch([kind, at, ms], end) {
  const left = Math.min((100 * at) / end, 100 - NARROWEST);
  const width = Math.max(Math.min((100 * ms) / end, 100 - left), NARROWEST);
  return h("div", { class: `stretch ${kind}`, style: { left: `${left}%`, width: `${width}%` } });
}
