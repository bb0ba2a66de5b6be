// The last conversations as bubbles, and the way to each of their turns.

import { exchange } from "./bubbles.js";
import { card, chips, searchField } from "./controls.js";
import { dotted, h, nothing } from "./dom.js";
import { sync } from "./keep.js";
import { openTurn } from "./turn.js";

const PROBLEMS = ["refused", "failed"];
const chosen = { person: "", outcome: "", query: "" }; // stays while turns are looked at

/** Opens the list, its problems, or the turn that the address names. */
export function open(context) {
  if (context.id && context.id !== "problems") return openTurn(context);
  if (context.id) chosen.outcome = context.id;
  return openList(context);
}

async function openList(context) {
  const { t, call } = context;
  const list = h("div", { class: "conversations" });
  const persons = h("div");
  let found = [];
  let most = 0;
  const show = () => {
    const groups = grouped(found.filter(matches));
    sync(list, groups, (group) => group.id, (group) => conversation(group, context));
    empty.hidden = groups.length > 0;
    empty.replaceChildren(nothing(t(found.length ? "no_match" : "no_turns")));
  };
  const empty = h("div");
  const refresh = async () => {
    ({ turns: found, most } = await call("turns"));
    offer();
    show();
  };
  const offer = () => {
    const names = [...new Set(found.map((turn) => turn.person))];
    if (chosen.person && !names.includes(chosen.person)) chosen.person = "";
    const data = names.length > 1 ? [{ names }] : [];
    sync(persons, data, () => "persons", () => {
      const options = [["", t("everybody")], ...names.map((name) => [name || "?", name || t("nobody_known")])];
      return chips(t("person"), options, chosen.person, (name) => ((chosen.person = name), show()));
    });
  };
  const outcomes = [["", t("all_turns")], ["problems", t("problems")], ["asked", t("outcome_asked")], ["local", t("outcome_local")]];
  const filters = h(
    "div",
    { class: "filters" },
    searchField(t("search"), chosen.query, (text) => ((chosen.query = text), show())),
    chips(t("outcome"), outcomes, chosen.outcome, (outcome) => ((chosen.outcome = outcome), show())),
    persons,
  );
  await refresh();
  return { nodes: [filters, empty, list, h("p", { class: "quiet" }, t.count("turns_kept", most))], refresh };
}

function matches(turn) {
  const words = chosen.query.toLocaleLowerCase().split(/\s+/);
  const text = `${turn.sentence} ${turn.answer}`.toLocaleLowerCase();
  const outcome = chosen.outcome === "problems" ? PROBLEMS.includes(turn.outcome) : !chosen.outcome || turn.outcome === chosen.outcome;
  return outcome && (!chosen.person || (turn.person || "?") === chosen.person) && words.every((word) => text.includes(word));
}

// Conversations, the one that was spoken in last first, and in each the oldest sentence first.
function grouped(found) {
  const groups = new Map();
  for (const turn of found) groups.set(turn.conversation, [turn, ...(groups.get(turn.conversation) ?? [])]);
  return [...groups].map(([id, of]) => ({ id, turns: of }));
}

function conversation(group, context) {
  const said = h("div", { class: "said" });
  const heading = h("p", { class: "quiet" });
  const shown = card("", heading, said);
  shown.renew = ({ turns: of }) => {
    const [first] = of;
    heading.replaceChildren(dotted(context.t.moment(first.at), first.person || context.t("nobody_known"), context.t(`surface_${first.surface}`)));
    sync(said, of, (turn) => turn.id, (turn) => exchange(turn, context));
  };
  shown.renew(group);
  return shown;
}
