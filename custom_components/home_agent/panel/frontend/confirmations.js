// What waits for a person's word.

import { button, field, h, nothing } from "./dom.js";

export const confirmations = {
  name: "confirmations",
  topics: ["confirmations"],
  draw,
};

async function draw(context) {
  const { t, call } = context;
  const { actions, wants_pin: wantsPin } = await call("confirmations");
  return h(
    "section",
    { class: "card" },
    h("h2", {}, t("page_confirmations")),
    actions.length
      ? h("ul", { class: "list" }, actions.map((action) => h("li", {}, waiting(action, wantsPin, context))))
      : nothing(t("nothing_waits")),
  );
}

function waiting(action, wantsPin, { t, call, refresh, guarded, say }) {
  const pin = h("input", { type: "password", inputmode: "numeric", autocomplete: "one-time-code", maxlength: 12 });
  const answer = (type, done, data = {}) =>
    guarded(async () => {
      await call(type, { action_id: action.id, ...data });
      say(t(done));
    }).then(() => refresh());
  const approve = () => answer("confirm", "approved", pin.value ? { pin: pin.value } : {});
  return h(
    "form",
    {
      onsubmit: (event) => {
        event.preventDefault();
        if (action.may_approve) approve();
      },
    },
    h("p", {}, h("strong", {}, action.question)),
    h(
      "p",
      { class: "quiet" },
      [action.person || t("nobody_known"), t("waits_until", { at: t.time(action.expires_at) })].join(" · "),
    ),
    !action.may_approve && h("p", { class: "quiet" }, t("not_yours")),
    h(
      "div",
      { class: "row end" },
      action.may_approve && wantsPin && field(t("pin"), pin),
      action.may_approve && h("button", { type: "submit", class: "first" }, t("approve")),
      button(t("reject"), () => answer("reject", "rejected"), { class: "danger" }),
    ),
  );
}
