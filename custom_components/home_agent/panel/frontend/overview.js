// How the agent is doing, at a glance.

import { exchange } from "./bubbles.js";
import { card, icon, link } from "./controls.js";
import { h } from "./dom.js";
import { sync } from "./keep.js";
import { selfTest } from "./selftest.js";

const NEWEST = 3;

/** Opens the page. */
export async function open(context) {
  const { t, call, href, agent } = context;
  const tiles = h("div", { class: "tiles" });
  const today = h("div", { class: "tiles" });
  const newest = h("div", { class: "said" });
  const latest = card(t("newest_turns"), newest, h("div", { class: "row end" }, link(t("page_turns"), href("turns"), "message-text-outline")));
  const refresh = async () => {
    const [found, { turns }] = await Promise.all([call("overview"), call("turns")]);
    test.about(found.model);
    sync(tiles, states(found, context), (tile) => tile.name, tile);
    sync(today, figures(found, context), (tile) => tile.name, tile);
    sync(newest, turns.slice(0, NEWEST), (turn) => turn.id, (turn) => exchange(turn, context));
    latest.hidden = !turns.length;
  };
  const test = selfTest(context);
  await Promise.all([test.load(), refresh()]);
  const links = h(
    "div",
    { class: "links" },
    link(t("link_options"), `/config/integrations/integration/home_agent#config_entry=${agent.config_entry_id ?? agent.entry_id}`, "cog-outline"),
    link(t("link_exposure"), "/config/voice-assistants/expose", "eye-outline"),
    link(t("link_assist"), "/config/voice-assistants/assistants", "microphone-message"),
  );
  return { nodes: [tiles, card(t("today"), today), card(t("self_test"), test.elements), latest, card(t("settings"), links)], refresh };
}

function states(found, { t, href }) {
  const reachable = { true: ["server_reachable", "good"], false: ["server_unreachable", "bad"] }[found.reachable] ?? ["server_unknown", ""];
  return [
    { name: t("server"), value: t(reachable[0]), kind: reachable[1], more: queue(found, t) || found.server, icon: "server-network" },
    { name: t("model"), value: found.model, more: found.fallback && t("fallback", { model: found.fallback }), icon: "brain" },
    {
      name: t("page_confirmations"),
      value: found.waiting ? t.count("waiting", found.waiting) : t("none_waiting"),
      kind: found.waiting ? "waits" : "",
      href: href("confirmations"),
      icon: "help-circle-outline",
    },
    found.suggestions > 0 && { name: t("page_suggestions"), value: t.count("waiting", found.suggestions), href: href("suggestions"), icon: "lightbulb-on-outline" },
    { name: t("exposed"), value: t.number(found.exposed), href: "/config/voice-assistants/expose", icon: "eye-outline" },
    found.features.memory && { name: t("memories"), value: t.number(found.memories), href: href("memories"), icon: "head-heart-outline" },
    found.issues > 0 && { name: t("issues"), value: t.number(found.issues), kind: "bad", href: "/config/repairs", icon: "wrench-outline" },
  ].filter(Boolean);
}

function queue({ queue: { running, waiting } }, t) {
  return waiting > 0 && t("server_queue", { running: t.number(running), waiting: t.number(waiting) });
}

function figures({ today, cost }, { t, href }) {
  const tokens = today.prompt + today.completion + today.external;
  return [
    { name: t("requests"), value: t.number(today.turns), href: href("turns"), icon: "message-text-outline" },
    { name: t("failed_turns"), value: t.number(today.failed), kind: today.failed ? "bad" : "", href: href("turns", today.failed ? "problems" : ""), icon: "alert-circle-outline" },
    { name: t("tokens_today"), value: t.number(tokens), href: href("usage"), icon: "chart-bar" },
    cost !== null && { name: t("cost"), value: t.money(cost), href: href("usage"), icon: "cash" },
    { name: t("a_turn"), value: today.turns ? t.ms(today.ms / today.turns) : "–", href: href("usage"), icon: "timer-outline" },
  ].filter(Boolean);
}

function tile({ name, value, kind = "", more, href, icon: picture }) {
  return h(
    href ? "a" : "div",
    { class: `tile ${kind}`, href },
    icon(picture, { kind }),
    h("span", { class: "quiet" }, name),
    h("span", { class: "value" }, value),
    more && h("span", { class: "quiet" }, more),
  );
}
