// What is known about the person who looks: for everybody, and only about oneself.

import { button, card, fields, icon, swap } from "./controls.js";
import { showActions } from "./audit.js";
import { waitingList } from "./confirmations.js";
import { dotted, h, nothing } from "./dom.js";
import { sync } from "./keep.js";
import { twice } from "./twice.js";

/** Opens the page. */
export async function open(context) {
  const { t, call, admin } = context;
  const waiting = await waitingList({ ...context, own: true });
  const parts = {
    memories: part((item) => memory(item, context, refresh), t("nothing_remembered")),
    profile: part((item) => entry(item, context, refresh), t("nothing_kept")),
    timers: part((item) => timer(item, context, refresh), t("no_timers")),
    planned: part((item) => planned(item, context, refresh), t("nothing_planned")),
  };
  const actions = h("ul", { class: "list" });
  const noActions = nothing(t("nothing_done"));
  async function refresh() {
    const found = await call("mine", { language: t.language });
    await t.loadServices(found.planned.map((item) => item.service));
    for (const [name, shown] of Object.entries(parts)) shown.show(found[name]);
    await showActions(actions, found.actions, { ...context, own: true }, refresh);
    noActions.hidden = found.actions.length > 0;
    await waiting.refresh();
  }
  await refresh();
  return {
    nodes: [
      h("p", { class: "quiet" }, t(admin ? "me_admin" : "me_about")),
      card(t("page_confirmations"), waiting.element),
      card(t("memories"), parts.memories.element, adding(context, refresh)),
      card(t("profile"), parts.profile.element),
      card(t("timers"), parts.timers.element),
      card(t("planned"), parts.planned.element),
      card(t("my_actions"), noActions, actions),
      card(t("erase"), erase(context, refresh)),
    ],
    refresh,
  };
}

function part(make, none) {
  const list = h("ul", { class: "list" });
  const empty = nothing(none);
  return {
    element: h("div", {}, empty, list),
    show: (items) => {
      sync(list, items, (item) => item.id, (item) => h("li", {}, make(item)));
      empty.hidden = items.length > 0;
    },
  };
}

function line(picture, text, more, ...buttons) {
  return h("div", { class: "entry" }, icon(picture), h("div", { class: "grow" }, h("p", {}, text), more && h("p", { class: "quiet" }, more)), h("div", { class: "row" }, buttons));
}

// A button that is pressed twice, and what it does.
function ending(label, name, type, data, done, { t, call, guarded, say }, refresh) {
  return twice(label, t("really"), name, () =>
    guarded(async () => {
      await call(type, data);
      say(t(done));
      await refresh();
    }),
  );
}

function memory(item, context, refresh) {
  const { t } = context;
  const more = dotted(item.private && t("private"), t.line(`source_${item.source}`), t.date(item.created_at), item.expires_at && `${t("until")} ${t.date(item.expires_at)}`);
  return line("head-heart-outline", item.content, more, ending(t("forget"), item.content, "mine/memory/delete", { memory_id: item.id }, "forgotten", context, refresh));
}

function entry(item, context, refresh) {
  const { t } = context;
  const text = `${item.category}, ${item.key}: ${item.value}`;
  return line(
    "account-details-outline",
    text,
    dotted(t.line(`sensitivity_${item.sensitivity}`), t(`source_${item.source}`), t.date(item.last_seen)),
    ending(t("forget"), text, "mine/profile/delete", { profile_id: item.id }, "forgotten", context, refresh),
  );
}

function timer(item, context, refresh) {
  const { t } = context;
  const name = item.name || (item.alarm ? t("alarm") : t("timer"));
  return line(
    item.alarm ? "alarm" : "timer-outline",
    name,
    dotted(item.when || t.moment(item.due), item.repeat && t(`repeat_${item.repeat}`)),
    ending(t("cancel_it"), name, "mine/timer/cancel", { timer_id: item.id }, "cancelled", context, refresh),
  );
}

function planned(item, context, refresh) {
  const { t } = context;
  const action = item.message ?? (item.restores ? t("restores") : item.service ? t.service(item.service) : t("change"));
  const text = `${item.names.join(", ")}: ${action}`;
  return line("calendar-clock", text, item.when || t.moment(item.due), ending(t("cancel_it"), text, "mine/planned/cancel", { planned_id: item.id }, "cancelled", context, refresh));
}

/** Shows timers and planned commands in one list. */
export function showPlanned(list, items, context, refresh) {
  sync(list, items, (item) => item.id, (item) => h("li", {}, (item.names ? planned : timer)(item, context, refresh)));
}

function adding(context, refresh) {
  const { t, call, guarded, say, hass } = context;
  const place = h("div", {});
  const show = () => {
    const wanted = [
      { name: "content", label: t("memory"), selector: { text: { multiline: true } } },
      { name: "private", label: t("private_help"), selector: { boolean: {} } },
    ];
    const form = fields(hass, wanted, { content: "", private: false });
    const save = () =>
      guarded(async () => {
        const { content, private: secret } = form.read();
        await call("mine/memory/add", { content: content ?? "", private: Boolean(secret) });
        say(t("saved"));
        close();
        await refresh();
      });
    swap(place, [form.element, h("div", { class: "row end" }, button(t("cancel"), close), button(t("save"), save, { kind: "first" }))], close);
  };
  const close = () => swap(place, [h("div", { class: "row end" }, button(t("add"), show))]);
  close();
  return place;
}

function erase({ t, hass, agent, guarded, say }, refresh) {
  const act = () =>
    guarded(async () => {
      await hass.callService("home_agent", "erase_data", { confirm: true, config_entry_id: agent.entry_id });
      say(t("erased"));
      await refresh();
    });
  return [h("p", {}, t("erase_about")), h("div", { class: "row end" }, twice(t("erase"), t("really"), "", act))];
}
