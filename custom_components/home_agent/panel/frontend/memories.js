// What is remembered and what is so of each person: search, add, edit, forget, who said it when.

import { button, card, chips, fields, folded, link, searchField, swap } from "./controls.js";
import { dotted, h, mark, nothing } from "./dom.js";
import { sync } from "./keep.js";
import { twice } from "./twice.js";

const TYPES = ["fact", "preference", "context", "event"];
const SENSITIVITIES = ["public", "private", "sensitive"];
const HOUSEHOLD = "-";
const chosen = { query: "", person: "" };

/** Opens the page. */
export async function open(context) {
  const { t, call, agent } = context;
  const results = h("div");
  const persons = h("div");
  const off = h("div");
  const adding = h("div");
  const refresh = async () => {
    const { query } = chosen;
    const found = await call("memories", { query });
    if (query !== chosen.query) return;
    offer(found);
    sync(results, cards(found), (one) => one.name, (one) => section(one, { ...context, refresh }));
    const settings = link(t("link_options"), `/config/integrations/integration/home_agent#config_entry=${agent.config_entry_id ?? agent.entry_id}`, "cog-outline");
    off.replaceChildren(...(found.enabled ? [] : [card("", nothing(t("memory_off"), settings))]));
    if (!adding.hasChildNodes()) closed(adding, found.people, { ...context, refresh });
  };
  const offer = (found) => {
    const names = [...new Set([...found.memories, ...found.profile].map((item) => item.name || HOUSEHOLD))].sort();
    if (chosen.person && !names.includes(chosen.person)) chosen.person = "";
    sync(persons, names.length > 1 ? [{ names }] : [], () => "persons", () =>
      chips(
        t("person"),
        [["", t("everybody")], ...names.map((name) => [name, name === HOUSEHOLD ? t("household") : name])],
        chosen.person,
        (name) => ((chosen.person = name), context.guarded(refresh)),
      ),
    );
  };
  const search = searchField(t("search"), chosen.query, (query) => ((chosen.query = query), context.guarded(refresh)));
  await refresh();
  return { nodes: [off, h("div", { class: "filters" }, search, persons), adding, results], refresh };
}

function cards(found) {
  const own = (items) => items.filter((item) => !chosen.person || (item.name || HOUSEHOLD) === chosen.person);
  return [
    { name: "memories", items: own(found.memories), total: found.memories_total, shown: found.memories.length },
    { name: "profile", items: own(found.profile), total: found.profile_total, shown: found.profile.length },
    ...(found.refused.length ? [{ name: "not_kept", items: found.refused, total: found.refused.length, shown: found.refused.length }] : []),
  ];
}

const MAKE = { memories: memory, profile: entry, not_kept: refused };

function section(data, context) {
  const { t } = context;
  const list = h("ul", { class: "list" });
  const below = h("div");
  const shown = card(t(data.name), list, below);
  shown.renew = ({ name, items, total, shown: count }) => {
    sync(list, items, (item) => item.id ?? `${item.at} ${item.content}`, (item) => MAKE[name](item, context));
    below.replaceChildren(
      ...(items.length ? [] : [nothing(t("nothing_kept"))]),
      ...(total > count ? [h("p", { class: "quiet" }, t("shown_of", { shown: t.number(count), total: t.number(total) }))] : []),
    );
  };
  shown.renew(data);
  return shown;
}

function refused(item, { t }) {
  return h(
    "li",
    {},
    h("p", {}, item.content || t("not_shown")),
    h("p", { class: "quiet" }, mark(t(`reason_${item.reason}`)), dotted(item.name || t("nobody_known"), t.moment(item.at))),
  );
}

function memory(item, context) {
  const { t, call } = context;
  const teller = (by) => t("said_by", { person: by.name || t("nobody_known"), at: t.moment(by.at) });
  const heard = item.told_by.map((by) => h("li", {}, teller(by), by.said && h("div", {}, `“${by.said}”`)));
  const short = item.told_by.length === 1 && !item.told_by[0].said;
  const place = h("li");
  const show = () =>
    swap(place, [
      h("p", {}, item.content),
      h(
        "p",
        { class: "quiet" },
        mark(t.of("memory_type", item.type)),
        mark(item.name || t("household")),
        item.private ? mark(t("private"), "waits") : "",
        dotted(
          short ? `${t.line(`source_${item.source}`)}: ${teller(item.told_by[0])}` : t.line(`source_${item.source}`),
          `${t("importance")}: ${t.percent(item.importance)}`,
          !short && `${t("learned")} ${t.date(item.created_at)}`,
          item.expires_at && `${t("until")} ${t.date(item.expires_at)}`,
        ),
      ),
      ...(heard.length && !short ? [folded(t("who_said"), "", h("ul", {}, heard))] : []),
      h(
        "div",
        { class: "row end" },
        item.editable ? button(t("edit"), edit, { "aria-label": `${t("edit")}: ${item.content}` }) : "",
        forget(item.content, () => call("memory/delete", { memory_id: item.id }), context),
      ),
    ]);
  const edit = () => {
    const form = fields(context.hass, written(t), { content: item.content, memory_type: item.type, importance: item.importance, private: item.private });
    swap(place, editor(form, (data) => call("memory/update", { memory_id: item.id, ...data }), show, context), show);
  };
  show();
  return place;
}

function written(t) {
  return [
    { name: "content", label: t("memory"), selector: { text: { multiline: true } } },
    { name: "memory_type", label: t("type"), selector: { select: { mode: "dropdown", options: TYPES.map((value) => ({ value, label: t.of("memory_type", value) })) } } },
    { name: "importance", label: t("importance"), selector: { number: { min: 0, max: 1, step: 0.1, mode: "box" } } },
    { name: "private", label: t("private_help"), selector: { boolean: {} } },
  ];
}

// The way to add a memory, which opens into a form.
function closed(place, people, context) {
  const { t, call } = context;
  const close = () => swap(place, [h("div", { class: "row end" }, button(t("add"), open_))]);
  const open_ = () => {
    const persons = [{ value: HOUSEHOLD, label: t.line("household") }, ...people.map(({ id, name }) => ({ value: id, label: name }))];
    const whose = { name: "person", label: t("person"), selector: { select: { mode: "dropdown", options: persons } } };
    const form = fields(context.hass, [...written(t), whose], { content: "", memory_type: "fact", importance: 0.7, private: false, person: HOUSEHOLD });
    const save = ({ person, ...data }) => call("memory/add", { ...data, content: data.content ?? "", person: person === HOUSEHOLD ? null : person });
    swap(place, [card(t("add_memory"), editor(form, save, close, context))], close);
  };
  close();
}

function entry(item, context) {
  const { t, call } = context;
  const place = h("li");
  const text = `${item.category}, ${item.key}`;
  const show = () =>
    swap(place, [
      h("p", {}, `${text}: ${item.value}`),
      h(
        "p",
        { class: "quiet" },
        mark(item.name || t("household")),
        mark(t(`sensitivity_${item.sensitivity}`), item.sensitivity === "public" ? "" : "waits"),
        dotted(
          t.line(`source_${item.source}`),
          `${t("sure")} ${t.percent(item.confidence)}`,
          t("seen", { count: t.number(item.count), first: t.date(item.first_seen), last: t.date(item.last_seen) }),
          item.previous && t("before", { value: item.previous }),
        ),
      ),
      h(
        "div",
        { class: "row end" },
        button(t("edit"), edit, { "aria-label": `${t("edit")}: ${item.key}` }),
        forget(`${item.key}: ${item.value}`, () => call("profile/delete", { profile_id: item.id }), context),
      ),
    ]);
  const edit = () => {
    const wanted = [
      { name: "value", label: text, selector: { text: {} } },
      { name: "sensitivity", label: t("who_may_read"), selector: { select: { mode: "dropdown", options: SENSITIVITIES.map((value) => ({ value, label: t(`sensitivity_${value}`) })) } } },
    ];
    const form = fields(context.hass, wanted, { value: item.value, sensitivity: item.sensitivity });
    swap(place, editor(form, (data) => call("profile/update", { profile_id: item.id, ...data }), show, context), show);
  };
  show();
  return place;
}

// A form with its buttons; saved or left, `close` shows what was there before.
function editor(form, save, close, { t, refresh, guarded, say }) {
  const submit = () =>
    guarded(async () => {
      await save(form.read());
      say(t("saved"));
      await refresh();
      close();
    });
  return [form.element, h("div", { class: "row end" }, button(t("cancel"), close), button(t("save"), submit, { kind: "first" }))];
}

function forget(what, act, { t, refresh, guarded, say }) {
  return twice(t("forget"), t("really_forget"), what, () =>
    guarded(async () => {
      await act();
      say(t("forgotten"));
      await refresh();
    }),
  );
}
