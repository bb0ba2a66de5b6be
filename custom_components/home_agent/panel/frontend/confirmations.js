// What waits for a person's yes.

import { button, card, icon } from "./controls.js";
import { dotted, h, nothing } from "./dom.js";
import { sync } from "./keep.js";

/** Opens the page. */
export async function open(context) {
  const shown = await waitingList(context);
  return { nodes: [card(context.t("page_confirmations"), shown.element)], refresh: shown.refresh };
}

/** Returns the list of what waits, and how it is brought up to date. */
export async function waitingList(context) {
  const { t, call, own } = context; // `own` shows only what the person who looks may answer
  const list = h("ul", { class: "list" });
  const empty = nothing(t("nothing_waits"));
  const refresh = async () => {
    const { actions: all } = await call("confirmations");
    const actions = all.filter((action) => action.may_approve || !own);
    sync(list, actions, (action) => action.id, (action) => h("li", {}, waiting(action, context, refresh)));
    empty.hidden = actions.length > 0;
  };
  await refresh();
  return { element: h("div", {}, empty, list), refresh };
}

function waiting(action, { t, call, guarded, say }, refresh) {
  const pin = h("input", { type: "password", inputmode: "numeric", autocomplete: "one-time-code", maxlength: 12 });
  const answer = (type, done, data = {}) =>
    guarded(async () => {
      await call(type, { action_id: action.id, ...data });
      say(t(done));
    }).then(() => guarded(refresh));
  const approve = () => answer("confirm", "approved", pin.value ? { pin: pin.value } : {});
  return h(
    "form",
    {
      onsubmit: (event) => {
        event.preventDefault();
        if (action.may_approve) approve();
      },
    },
    h("p", { class: "asks" }, icon("help-circle-outline", { kind: "waits" }), h("strong", {}, action.question)),
    action.details && h("pre", {}, action.details),
    h("p", { class: "quiet" }, dotted(action.person || t("nobody_known"), t("waits_until", { at: t.time(action.expires_at) }))),
    !action.may_approve && h("p", { class: "quiet" }, t("not_yours")),
    h(
      "div",
      { class: "row end" },
      action.may_approve && action.wants_pin && h("label", { class: "field" }, h("span", {}, t("pin")), pin),
      button(t("reject"), () => answer("reject", "rejected"), { kind: "danger" }),
      action.may_approve && button(t("approve"), approve, { kind: "first" }),
    ),
  );
}
