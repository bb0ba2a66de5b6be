// What is remembered and what is so of each person: search, edit, forget, who said it when.

import { button, choice, field, h, mark, nothing } from "./dom.js";

const WAIT = 250; // milliseconds after the last letter
const TYPES = ["fact", "preference", "context", "event"];
const SENSITIVITIES = ["public", "private", "sensitive"];

export const memories = {
  name: "memories",
  topics: [],
  draw: (context) => page(context),
};

async function page(context) {
  const { t, state, call } = context;
  const results = h("div");
  const fill = async () => {
    const query = state.query ?? "";
    const found = await call("memories", { query });
    if (query === (state.query ?? "")) results.replaceChildren(...both(found, context));
  };
  let timer;
  const search = h("input", {
    type: "search",
    value: state.query ?? "",
    oninput: () => {
      state.query = search.value;
      clearTimeout(timer);
      timer = setTimeout(() => context.guarded(fill), WAIT);
    },
  });
  search.setAttribute("aria-label", t("search"));
  search.placeholder = t("search");
  await fill();
  return [h("div", { class: "row" }, h("div", { class: "grow" }, search)), results];
}

function both(found, context) {
  const { t } = context;
  return [
    card(t("memories"), found.memories, found.memories_total, (item) => memory(item, context), context),
    card(t("profile"), found.profile, found.profile_total, (item) => entry(item, context), context),
    ...(found.refused.length ? [card(t("not_kept"), found.refused, found.refused.length, (item) => refused(item, context), context)] : []),
  ];
}

function refused(item, { t }) {
  return h(
    "li",
    {},
    h("p", {}, item.content || t("not_shown")),
    h("p", { class: "quiet" }, mark(t(`reason_${item.reason}`)), `${item.name || t("nobody_known")} · ${t.moment(item.at)}`),
  );
}

function card(title, items, total, show, { t }) {
  return h(
    "section",
    { class: "card" },
    h("h2", {}, title),
    items.length ? h("ul", { class: "list" }, items.map(show)) : nothing(t("nothing_kept")),
    total > items.length && h("p", { class: "quiet" }, t("shown_of", { shown: items.length, total })),
  );
}

function memory(item, context) {
  const { t, call } = context;
  const heard = item.told_by.map((by) =>
    h(
      "li",
      {},
      t("said_by", { person: by.name || t("nobody_known"), at: t.moment(by.at) }),
      by.said && h("div", {}, `“${by.said}”`),
    ),
  );
  const row = h(
    "li",
    {},
    h("p", {}, item.content),
    h(
      "p",
      { class: "quiet" },
      mark(t.of("memory_type", item.type)),
      mark(item.name || t("household")),
      item.private && mark(t("private"), "bad"),
      t(`source_${item.source}`),
      ` · ${t("importance")} ${item.importance} · ${t("learned")} ${t.moment(item.created_at)}`,
      item.expires_at && ` · ${t("until")} ${t.moment(item.expires_at)}`,
    ),
    heard.length > 0 && h("details", {}, h("summary", {}, t("who_said")), h("ul", {}, heard)),
    h(
      "div",
      { class: "row end" },
      item.editable && button(t("edit"), () => row.replaceChildren(editor(item, context)), { "aria-label": `${t("edit")}: ${item.content}` }),
      forget(item.content, () => call("memory/delete", { memory_id: item.id }), context),
    ),
  );
  return row;
}

function editor(item, context) {
  const { t, call } = context;
  const content = h("textarea", { maxlength: 500, value: item.content });
  const importance = h("input", { type: "number", min: 0, max: 1, step: 0.1, value: item.importance });
  let type = item.type;
  const secret = h("input", { type: "checkbox" });
  secret.checked = item.private;
  return form(
    [
      field(t("memory"), content),
      h(
        "div",
        { class: "row end" },
        field(t("type"), choice(TYPES.map((key) => [key, t.of("memory_type", key)]), type, (value) => (type = value))),
        field(t("importance"), importance),
        h("label", { class: "field check" }, h("span", {}, t("private")), secret),
      ),
    ],
    () =>
      call("memory/update", {
        memory_id: item.id,
        content: content.value,
        memory_type: type,
        importance: Number(importance.value),
        private: secret.checked,
      }),
    content,
    context,
  );
}

function entry(item, context) {
  const { t, call } = context;
  const row = h(
    "li",
    {},
    h("p", {}, `${item.category}, ${item.key}: ${item.value}`),
    h(
      "p",
      { class: "quiet" },
      mark(item.name || t("household")),
      mark(t(`sensitivity_${item.sensitivity}`), item.sensitivity === "public" ? "" : "bad"),
      t(`source_${item.source}`),
      ` · ${t("sure")} ${t.percent(item.confidence)}`,
      ` · ${t("seen", { count: item.count, first: t.moment(item.first_seen), last: t.moment(item.last_seen) })}`,
      item.previous && ` · ${t("before", { value: item.previous })}`,
    ),
    h(
      "div",
      { class: "row end" },
      button(t("edit"), () => row.replaceChildren(entryEditor(item, context)), { "aria-label": `${t("edit")}: ${item.key}` }),
      forget(`${item.key}: ${item.value}`, () => call("profile/delete", { profile_id: item.id }), context),
    ),
  );
  return row;
}

function entryEditor(item, context) {
  const { t, call } = context;
  const value = h("input", { value: item.value, maxlength: 200 });
  let sensitivity = item.sensitivity;
  const options = SENSITIVITIES.map((key) => [key, t(`sensitivity_${key}`)]);
  return form(
    [
      h(
        "div",
        { class: "row end" },
        h("div", { class: "grow" }, field(`${item.category}, ${item.key}`, value)),
        field(t("who_may_read"), choice(options, sensitivity, (chosen) => (sensitivity = chosen))),
      ),
    ],
    () => call("profile/update", { profile_id: item.id, value: value.value, sensitivity }),
    value,
    context,
  );
}

// A form whose first field has the focus; saved or left, the page is drawn anew.
function form(parts, save, first, { t, refresh, guarded, say }) {
  const submit = () =>
    guarded(async () => {
      await save();
      say(t("saved"));
      await refresh();
    });
  setTimeout(() => first.focus());
  return h(
    "form",
    {
      onsubmit: (event) => {
        event.preventDefault();
        submit();
      },
    },
    parts,
    h("div", { class: "row end" }, h("button", { type: "submit", class: "first" }, t("save")), button(t("cancel"), refresh)),
  );
}

// A button that wants to be pressed twice.
function forget(what, act, { t, refresh, guarded, say }) {
  const ask = button(
    t("forget"),
    () => {
      const really = button(
        t("really_forget"),
        () =>
          guarded(async () => {
            await act();
            say(t("forgotten"));
            await refresh();
          }),
        { class: "danger" },
      );
      ask.replaceWith(really);
      really.focus();
      really.addEventListener("blur", () => really.isConnected && !really.disabled && really.replaceWith(ask));
    },
    { class: "danger", "aria-label": `${t("forget")}: ${what}` },
  );
  return ask;
}
