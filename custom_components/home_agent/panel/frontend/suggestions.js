// Automations that are suggested: look at them, take them, or never hear of them again.

import { button, h, mark, nothing } from "./dom.js";

export const suggestions = {
  name: "suggestions",
  topics: [],
  draw,
};

async function draw({ t, call, refresh, guarded, say }) {
  const { suggestions: found } = await call("suggestions");
  const answer = (item, word, done) =>
    guarded(async () => {
      await call("suggestion/answer", { suggestion_id: item.id, answer: word });
      say(t(done));
    }).then(() => refresh());
  return h(
    "section",
    { class: "card" },
    h("h2", {}, t("page_suggestions")),
    found.length
      ? h("ul", { class: "list" }, found.map((item) => h("li", {}, one(item, answer, t))))
      : nothing(t("no_suggestions")),
  );
}

function one(item, answer, t) {
  return [
    h("p", {}, h("strong", {}, item.summary)),
    h("p", {}, item.words),
    h(
      "p",
      { class: "quiet" },
      mark(t.of("suggestion_state", item.state), item.state === "accepted" ? "good" : ""),
      t.moment(item.created_at),
      item.state === "open" && ` · ${t("waits_until", { at: t.moment(item.expires_at) })}`,
    ),
    h("details", {}, h("summary", {}, t("preview")), h("pre", {}, item.yaml)),
    item.state === "open" &&
      h(
        "div",
        { class: "row end" },
        button(t("accept"), () => answer(item, "accept", "accepted"), { class: "first" }),
        button(t("never"), () => answer(item, "reject", "silenced"), { class: "danger" }),
      ),
  ];
}
