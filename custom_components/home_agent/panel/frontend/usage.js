// What each day cost: drawn as bars, and as a table for those who read it.

import { chart } from "./chart.js";
import { choice, field, h, nothing, table } from "./dom.js";

const SPANS = [7, 30, 90];
const FITS = ["first_try", "repaired", "retried"];
const MISFITS = ["refused", "exhausted"];

export const usage = {
  name: "usage",
  topics: ["turns"],
  draw,
};

async function draw({ t, call, state, refresh }) {
  const span = state.span ?? 30;
  const { days } = await call("usage", { days: span });
  const choose = (value) => {
    state.span = Number(value);
    refresh();
  };
  const spans = SPANS.map((count) => [String(count), t("days", { count })]);
  const head = h("div", { class: "row" }, field(t("span"), choice(spans, String(span), choose)));
  if (!days.some((day) => day.turns)) return h("section", { class: "card" }, h("h2", {}, t("page_usage")), head, nothing(t("no_turns")));
  return [
    head,
    drawn(t("tokens_a_day"), days, t, [
      ["one", t("read_tokens"), (day) => day.prompt - day.cached],
      ["two", t("answer_tokens"), (day) => day.completion + day.external],
    ]),
    drawn(t("turns_a_day"), days, t, [
      ["one", t("answered"), (day) => day.turns - day.failed],
      ["three", t("failed_turns"), (day) => day.failed],
    ]),
    drawn(t("calls_a_day"), days, t, [
      ["one", t("fit_first_try"), (day) => day.first_try],
      ["two", t("corrected"), (day) => day.repaired + day.retried],
      ["three", t("misfits"), (day) => sum(day, MISFITS)],
    ]),
    h("section", { class: "card" }, numbers(days, t)),
  ];
}

function drawn(title, days, t, series) {
  return h("section", { class: "card" }, h("h2", {}, title), chart(title, days, series, t));
}

function numbers(days, t) {
  const used = days.filter((day) => day.turns).reverse();
  return h(
    "details",
    {},
    h("summary", {}, t("numbers")),
    table(
      t("page_usage"),
      [t("day"), t("page_turns"), t("failed_turns"), t("prompt_tokens"), t("cached_tokens"), t("answer_tokens"), t("external_tokens"), t("tool_calls"), t("fit_first_try"), t("a_turn")],
      used.map((day) => [
        t.day(day.day),
        ...["turns", "failed", "prompt", "cached", "completion", "external"].map((key) => t.number(day[key])),
        t.number(day.calls),
        share(day, t),
        t.ms(day.ms / day.turns),
      ]),
    ),
  );
}

// How many calls were right as the model wrote them.
function share(day, t) {
  const all = sum(day, [...FITS, ...MISFITS]);
  return all ? t.percent(day.first_try / all) : "–";
}

function sum(day, keys) {
  return keys.reduce((total, key) => total + day[key], 0);
}
