// The pages, in the order of the tabs. Each module loads when its page is opened, or when nothing else is to be done.

/**
 * `topics` are the changes that a page shows, `counts` says that its tab shows how many questions wait, `everybody`
 * that it is not only for administrators.
 */
export const PAGES = [
  {
    name: "overview",
    icon: "view-dashboard-outline",
    topics: ["turns", "confirmations", "memories", "server"],
    load: () => import("./overview.js"),
  },
  { name: "turns", icon: "message-text-outline", topics: ["turns"], load: () => import("./turns.js") },
  { name: "confirmations", icon: "help-circle-outline", counts: true, topics: ["confirmations"], load: () => import("./confirmations.js") },
  { name: "activity", icon: "history", topics: ["turns", "confirmations"], load: () => import("./audit.js") },
  { name: "memories", icon: "head-heart-outline", topics: ["memories"], load: () => import("./memories.js") },
  { name: "suggestions", icon: "lightbulb-on-outline", topics: [], load: () => import("./suggestions.js") },
  { name: "usage", icon: "chart-bar", topics: ["turns"], load: () => import("./usage.js") },
  {
    name: "me",
    icon: "account-circle-outline",
    counts: true,
    everybody: true,
    topics: ["confirmations", "turns"],
    load: () => import("./me.js"),
  },
];

/** Returns the page of a name. */
export function pageOf(name) {
  return PAGES.find((page) => page.name === name);
}

/** Loads the other pages while the browser has time, so that they open at once. */
export function loadAll() {
  const idle = window.requestIdleCallback ?? ((act) => setTimeout(act, 1000));
  idle(() => PAGES.forEach((page) => page.load().catch(() => {}))); // one that fails is loaded again when it is opened
}
