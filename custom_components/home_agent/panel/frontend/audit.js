// What was done, refused, confirmed, searched and removed, in names and words.

import { button, card, chips, icon, link } from "./controls.js";
import { dotted, h, mark, nothing } from "./dom.js";
import { sync } from "./keep.js";

const KINDS = ["action", "denial", "confirmation", "search", "injection"];
const GOOD = new Set(["approved"]);
const WAITS = new Set(["requested"]);
const chosen = { kind: "" };

/** Opens the page. */
export async function open(context) {
  const { t, call } = context;
  const list = h("ul", { class: "list" });
  const empty = nothing(t("nothing_noted"));
  const refresh = async () => {
    const { entries } = await call("audit", { language: t.language, ...(chosen.kind && { kind: chosen.kind }) });
    await showActions(list, entries, context, refresh);
    empty.hidden = entries.length > 0;
  };
  const options = [["", t("all_kinds")], ...KINDS.map((kind) => [kind, t(`kinds_${kind}`)])];
  await refresh();
  const choose = (kind) => {
    chosen.kind = kind;
    return context.guarded(refresh);
  };
  return { nodes: [h("div", { class: "filters" }, chips(t("kind"), options, chosen.kind, choose)), card("", empty, list)], refresh };
}

/** Shows entries of the audit log in a list. */
export async function showActions(list, entries, context, refresh) {
  await context.t.loadServices(entries.map((entry) => entry.service));
  sync(list, entries, (entry) => `${entry.at} ${entry.kind}`, (entry) => h("li", {}, row(entry, context, refresh)));
}

function row(entry, { t, href, call, guarded, say, own, moment = t.moment }, refresh) {
  const [picture, kind, word] = outcome(entry, t);
  const undo = () =>
    guarded(async () => {
      await call("undo", { turn_id: entry.turn_id });
      say(t("undone"));
    }).then(() => guarded(refresh));
  return h(
    "div",
    { class: "entry" },
    icon(picture, { kind }),
    h(
      "div",
      { class: "grow" },
      h("p", {}, h("strong", {}, what(entry, t)), " ", mark(word, kind)),
      h("p", { class: "quiet" }, dotted(moment(entry.at), own ? "" : entry.person || t("nobody_known"), entry.planned && t("was_planned"), entry.confirmed && t("ended_approved"))),
      details(entry, t),
    ),
    h(
      "div",
      { class: "row" },
      entry.kept && link(t("turn"), href("turns", entry.turn_id), "message-text-outline"),
      entry.undoable && button(t("undo"), undo),
    ),
  );
}

function what(entry, t) {
  if (entry.told) return entry.told;
  const names = entry.names.join(", ");
  if (entry.kind === "search") return `“${entry.query}”`;
  if (entry.kind === "injection") return entry.source || entry.tool || t("kind_injection");
  const service = entry.service && t.service(entry.service);
  return [names, service].filter(Boolean).join(": ") || t(`kinds_${entry.kind}`);
}

// A picture, a colour and a word for how it ended.
function outcome(entry, t) {
  switch (entry.kind) {
    case "action":
      if (!entry.success) return ["alert-circle-outline", "bad", t("not_worked")];
      return entry.undo ? ["undo-variant", "good", t("was_undone")] : ["check-circle-outline", "good", t("done")];
    case "denial":
      return ["hand-back-left-outline", "bad", t("outcome_refused")];
    case "confirmation":
      if (GOOD.has(entry.outcome)) return ["check-circle-outline", "good", t(`ended_${entry.outcome}`)];
      return ["help-circle-outline", WAITS.has(entry.outcome) ? "waits" : "", t(`ended_${entry.outcome}`)];
    case "search":
      return entry.blocked ? ["hand-back-left-outline", "bad", t("search_blocked")] : ["web", "", t("search_sent")];
    default:
      return ["text-box-remove-outline", "waits", t("kind_injection")];
  }
}

function details(entry, t) {
  const told = [
    entry.kind === "search" && entry.sent && entry.sent !== entry.query && t("sent_as", { text: entry.sent }),
    entry.kind === "injection" && entry.text && `“${entry.text}”`,
    entry.kind !== "confirmation" && entry.reason && t("as_told", { text: entry.reason }),
    entry.error && t("as_told", { text: entry.error }),
  ];
  return told.filter(Boolean).map((line) => h("p", { class: "quiet" }, line));
}
