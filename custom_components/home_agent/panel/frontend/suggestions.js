// Automations that are suggested: look at them, take them, or never hear of them again.

import { button, card, folded, link } from "./controls.js";
import { dotted, h, mark, nothing } from "./dom.js";
import { sync } from "./keep.js";

/** Opens the page. */
export async function open(context) {
  const { t, call, guarded, say, agent } = context;
  const list = h("ul", { class: "list" });
  const empty = h("div");
  const refresh = async () => {
    const { suggestions: found, learning } = await call("suggestions");
    sync(list, found, (item) => item.id, (item) => h("li", {}, one(item, answer, t)));
    const settings = link(t("link_options"), `/config/integrations/integration/home_agent#config_entry=${agent.config_entry_id ?? agent.entry_id}`, "cog-outline");
    empty.replaceChildren(...(found.length ? [] : [nothing(t(learning ? "no_suggestions" : "learning_off"), learning ? "" : settings)]));
  };
  const answer = (item, word, done) =>
    guarded(async () => {
      await call("suggestion/answer", { suggestion_id: item.id, answer: word });
      say(t(done));
    }).then(() => guarded(refresh));
  await refresh();
  return { nodes: [card(t("page_suggestions"), empty, list)], refresh };
}

function one(item, answer, t) {
  return [
    h("p", {}, h("strong", {}, item.summary)),
    h("p", {}, item.words),
    h(
      "p",
      { class: "quiet" },
      mark(t.of("suggestion_state", item.state), item.state === "accepted" ? "good" : ""),
      dotted(t.moment(item.created_at), item.state === "open" && t("waits_until", { at: t.moment(item.expires_at) })),
    ),
    folded(t("preview"), "", h("pre", {}, item.yaml)),
    item.state === "open" &&
      h(
        "div",
        { class: "row end" },
        button(t("never"), () => answer(item, "reject", "silenced"), { kind: "danger" }),
        button(t("accept"), () => answer(item, "accept", "accepted"), { kind: "first" }),
      ),
  ];
}
