// What each day took and cost: drawn as bars, and as a table for those who read it.

import { chart } from "./chart.js";
import { card, chips, folded } from "./controls.js";
import { h, nothing, table } from "./dom.js";

const SPANS = [7, 30, 90];
const NARROW = 600; // pixels, as in the style
const FITS = ["first_try", "repaired", "retried"];
const MISFITS = ["refused", "exhausted"];
const chosen = { span: 0 };

/** Opens the page. */
export async function open({ t, call, guarded }) {
  chosen.span ||= window.innerWidth <= NARROW ? 7 : 30;
  const shown = h("div");
  const numbers = folded(t("numbers"), "", []);
  const inside = h("div");
  numbers.append(inside);
  let before = "";
  const refresh = async () => {
    const { days, costs } = await call("usage", { days: chosen.span });
    if (JSON.stringify([days, costs]) === before) return;
    before = JSON.stringify([days, costs]);
    costs.forEach((cost, index) => (days[index].cost = cost));
    const used = days.some((day) => day.turns);
    numbers.hidden = !used;
    shown.replaceChildren(...(used ? charts(days, t) : [card(t("page_usage"), nothing(t("no_turns")))]));
    inside.replaceChildren(figures(days, t));
    today();
  };
  const today = () => {
    for (const drawn of shown.querySelectorAll(".scroll")) drawn.scrollLeft = drawn.scrollWidth; // today is at the end
  };
  const spans = SPANS.map((count) => [String(count), t.count("days", count)]);
  const choose = (span) => {
    chosen.span = Number(span);
    return guarded(refresh);
  };
  await refresh();
  return { nodes: [h("div", { class: "filters" }, chips(t("span"), spans, String(chosen.span), choose)), shown, numbers], refresh, shown: today };
}

function charts(days, t) {
  return [
    drawn(t("tokens_a_day"), days, t, [
      ["one", t("read_tokens"), (day) => day.prompt - day.cached],
      ["two", t("answer_tokens"), (day) => day.completion + day.external],
    ]),
    "cost" in days[0] && drawn(t("cost_a_day"), days, t, [["one", t.line("cost"), (day) => day.cost]], t.money),
    drawn(t("turns_a_day"), days, t, [
      ["one", t.line("answered"), (day) => day.turns - day.failed],
      ["three", t("failed_turns"), (day) => day.failed],
    ]),
    drawn(t("calls_a_day"), days, t, [
      ["one", t.line("fit_first_try"), (day) => day.first_try],
      ["two", t.line("corrected"), (day) => day.repaired + day.retried],
      ["three", t.line("misfits"), (day) => sum(day, MISFITS)],
    ]),
  ].filter(Boolean);
}

function drawn(title, days, t, series, shown) {
  return card(title, chart(title, days, series, t, shown));
}

function figures(days, t) {
  const used = days.filter((day) => day.turns).reverse();
  const columns = ["day", "requests", "failed_turns", "prompt_tokens", "cached_tokens", "answer_tokens", "external_tokens", "tool_calls", "fit_first_try", "a_turn", ...("cost" in days[0] ? ["cost"] : [])];
  return table(
    t("page_usage"),
    columns.map((name) => t.line(name)),
    used.map((day) => [
      t.day(day.day),
      ...["turns", "failed", "prompt", "cached", "completion", "external"].map((key) => t.number(day[key])),
      t.number(day.calls),
      share(day, t),
      t.ms(day.ms / day.turns),
      ...("cost" in day ? [t.money(day.cost)] : []),
    ]),
    columns.map((_, index) => index).slice(1),
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
