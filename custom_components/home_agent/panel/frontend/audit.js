// What was done, refused, confirmed, searched and removed.

import { choice, field, h, nothing, table } from "./dom.js";

const KINDS = ["action", "denial", "confirmation", "search", "injection"];
const OWN = new Set(["at", "kind", "action_id", "user_id", "device_id", "conversation_id", "person", "service", "targets", "success"]);

export const audit = {
  name: "audit",
  topics: ["turns", "confirmations"],
  draw,
};

async function draw(context) {
  const { t, call, state, refresh } = context;
  const { entries } = await call("audit", state.kind ? { kind: state.kind } : {});
  const options = [["", t("all_kinds")], ...KINDS.map((kind) => [kind, t(`kind_${kind}`)])];
  const choose = (kind) => {
    state.kind = kind;
    refresh();
  };
  return h(
    "section",
    { class: "card" },
    h("h2", {}, t("page_audit")),
    h("div", { class: "row" }, field(t("kind"), choice(options, state.kind ?? "", choose))),
    entries.length
      ? table(
          t("newest_first", { count: entries.length }),
          [t("when"), t("kind"), t("what"), t("who"), t("details")],
          entries.map((entry) => [
            t.moment(entry.at),
            t(`kind_${entry.kind}`),
            what(entry),
            entry.person || "–",
            details(entry, t),
          ]),
        )
      : nothing(t("nothing_noted")),
  );
}

function what(entry) {
  return [entry.service, ...(entry.targets ?? [])].filter(Boolean).join(" ") || "–";
}

// Whatever else stands in an entry: the query as it was sent, the reason, the rules that found something.
function details(entry, t) {
  const told = entry.success === false ? [t("not_worked")] : [];
  for (const [key, value] of Object.entries(entry))
    if (!OWN.has(key)) told.push(`${key}: ${Array.isArray(value) ? value.join(", ") : value}`);
  return told.length ? told.map((line) => h("div", {}, line)) : "–";
}
