// An administrator in the panel: looks around, comes back, edits and forgets a memory, confirms what waits.
//
//   node panel.mjs SETTINGS.json
//
// SETTINGS: url, username, password, agent (entity), entry, other (a user: username, password), and what page.mjs
// needs. Prints one JSON line with what was seen.

import { PATIENCE, barriers, logIn, open, perform, textOf, until } from "./page.mjs";

const PANEL = "home-agent-panel";
const PHONE = { width: 390, height: 844 };
const seen = {
  pageErrors: [],
  texts: {},
  images: 0,
  attacked: false,
  stretches: 0,
  bars: 0,
  elsewhere: [],
  addresses: {},
  tops: {},
  kept: {},
  wide: {},
  paint: 0,
  frame: 0,
  barriers: {},
  focus: {},
};
const opened = await open(process.argv[2], seen);
const { settings, page, shoot } = opened;
const panel = page.locator(PANEL);

page.on("request", (request) => {
  if (/^https?:/.test(request.url()) && !request.url().startsWith(settings.url)) seen.elsewhere.push(request.url());
});

const BIG = { start, overview, conversations, oneTurn, back, reload, reading, memories, forgetOne, confirmations, others, keyboard, today };
await perform(opened, seen, { ...BIG, small, german, somebodyElse });

function text() {
  return page.evaluate(textOf, PANEL);
}

function shows(words) {
  return until(page, `"${words}"`, async () => (await text()).includes(words));
}

function here() {
  return new URL(page.url()).pathname.split("/").slice(3).join("/");
}

function say(sentence) {
  return page.evaluate(
    ([words, agent]) => document.querySelector("home-assistant").hass.callWS({ type: "conversation/process", text: words, agent_id: agent }),
    [sentence, settings.agent],
  );
}

function top() {
  return page.evaluate(() => Math.round(window.scrollY));
}

async function tab(name) {
  await panel.locator(`#tab-${name}`).click();
  await until(page, `the page ${name}`, () => here().startsWith(name));
}

async function note(name) {
  seen.texts[name] = await text();
  seen.images += await panel.locator("main img").count();
  seen.attacked ||= await page.evaluate(() => Boolean(window.attacked));
  seen.wide[name] = await page.evaluate(() => document.documentElement.scrollWidth);
  seen.barriers[name] = await barriers(page, settings, [PANEL]);
  await shoot(name);
}

async function start() {
  await logIn(page, settings);
  await page.waitForLoadState("networkidle"); // until Home Assistant has gone to its first dashboard
  seen.elsewhere.length = 0; // what Home Assistant itself looks for is not ours
  await page.evaluate(() => {
    window.history.pushState(null, "", "/home_agent");
    window.dispatchEvent(new CustomEvent("location-changed"));
    window.begun = performance.now();
    const look = () => {
      const shown = document.querySelector("home-assistant").shadowRoot.querySelector("home-assistant-main");
      const find = (root) => [...(root?.querySelectorAll("*") ?? [])].map((one) => (one.localName === "home-agent-panel" ? one : find(one.shadowRoot))).find(Boolean);
      if (find(shown?.shadowRoot)?.shadowRoot?.querySelector("header h1")) window.framed = performance.now();
      else requestAnimationFrame(look);
    };
    look();
  });
  await panel.locator("main :is(.card, .tiles)").first().waitFor();
  seen.paint = Math.round(await page.evaluate(() => performance.now() - window.begun));
  seen.frame = Math.round(await page.evaluate(() => window.framed - window.begun));
}

async function overview() {
  await shows("Reachable");
  await note("overview");
  seen.addresses.first = here();
  await panel.getByRole("button", { name: "Test this model" }).click();
  seen.kept.progress = await until(page, "the progress", async () => (await text()).includes(" sentences "));
  await until(page, "the verdict", async () => (await text()).includes("Not good enough"), 2 * PATIENCE);
  await note("overview-tested");
}

async function conversations() {
  await tab("turns");
  await shows("Turn on the reading lamp");
  await note("turns");
  await panel.locator("input[type=search]").fill("web page");
  await until(page, "the search", async () => !(await text()).includes("reading lamp"));
  await panel.locator("input[type=search]").fill("");
  await panel.getByRole("button", { name: "Problems" }).click();
  await until(page, "the filter", async () => (await text()).includes("No conversation matches"));
  await panel.getByRole("button", { name: "All", exact: true }).click();
  await shows("Turn on the reading lamp");
}

async function oneTurn() {
  await page.setViewportSize({ width: 1280, height: 300 }); // so that there is something to scroll
  await page.evaluate(() => window.scrollTo(0, 80));
  await until(page, "the place", async () => (await top()) === 80);
  await panel.locator("a.exchange").filter({ hasText: "Turn on the reading lamp" }).first().evaluate((link) => link.click());
  await shows("Timeline");
  seen.addresses.turn = here();
  await until(page, "the top of the turn", async () => (await top()) === 0); // it scrolls with the next frame
  seen.tops.turn = await top();
  await page.setViewportSize({ width: 1280, height: 900 });
  await shoot("turn-top");
  for (const folded of await panel.locator("main .folded").all()) await folded.getByRole("button").first().click();
  seen.stretches = await panel.locator(".stretch").count();
  await note("turn");
}

async function back() {
  await page.setViewportSize({ width: 1280, height: 300 });
  await page.goBack();
  await shows("Turn on the reading lamp");
  await until(page, "the place in the list", async () => (await top()) === 80);
  seen.addresses.back = here();
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.goForward();
  await shows("Timeline");
}

async function reload() {
  await page.reload();
  await panel.waitFor();
  await shows("Timeline");
  seen.addresses.reloaded = here();
}

// Somebody reads while others speak: what is open stays open, and what is shown stays where it is.
async function reading() {
  const open_ = () => panel.locator("main .folded").evaluateAll((all) => all.filter((one) => one.expanded || one.open).length);
  await panel.locator("main .folded").first().getByRole("button").first().click();
  await until(page, "the folded part", async () => (await open_()) === 1);
  await say("Turn on the reading lamp once more");
  await page.waitForTimeout(1000); // nothing is to happen
  seen.kept.open = await open_();
  await tab("turns");
  await shows("once more");
  await panel.locator("a.exchange").first().evaluate((element) => (element.marked = true));
  await say("And how are you?");
  await shows("And how are you?");
  seen.kept.marked = await panel.locator("a.exchange").evaluateAll((all) => all.filter((one) => one.marked).length);
}

async function memories() {
  await tab("memories");
  await shows("The bins go out on Tuesday");
  await note("memories");
  await panel.getByRole("button", { name: "Edit: The bins go out on Tuesday" }).click();
  await panel.locator("main textarea").first().fill("The bins go out on Friday");
  await shoot("memory-edited");
  await panel.getByRole("button", { name: "Save" }).click();
  await shows("The bins go out on Friday");
  await panel.getByRole("button", { name: "Add", exact: true }).click();
  await panel.locator("main textarea").first().fill("The spare key hangs in the shed");
  await shoot("memory-added");
  await panel.getByRole("button", { name: "Save" }).click();
  await shows("The spare key hangs in the shed");
  await panel.locator("input[type=search]").fill("bins");
  await until(page, "the search", async () => !(await text()).includes("onerror"));
  await note("memories-found");
}

async function forgetOne() {
  await panel.getByRole("button", { name: "Delete: The bins go out on Friday" }).click();
  await panel.getByRole("button", { name: "Really delete?" }).click();
  await shows("Nothing is stored.");
}

async function confirmations() {
  await tab("confirmations");
  await shows("No action is waiting for a confirmation.");
  await say("Unlock the front door");
  await panel.locator(".asks").waitFor(); // it comes by itself
  seen.kept.badge = await panel.locator("#tab-confirmations .badge").textContent();
  await note("confirmations");
  await panel.getByRole("button", { name: "Approve" }).click();
  await until(page, "the end of it", async () => (await text()).includes("No action is waiting for a confirmation."));
}

async function others() {
  await tab("activity");
  await shows("I unlocked the Front Door Lock.");
  await note("activity");
  await tab("suggestions");
  await shows("Learning is turned off");
  await note("suggestions");
  await tab("usage");
  await shows("Tokens per day");
  seen.bars = await panel.locator("svg rect").count();
  await note("usage");
  await tab("me");
  await shows("Erase everything about me");
  await note("me");
}

// What the keyboard is on, in the innermost shadow root.
function focused() {
  return page.evaluate(() => {
    let here = document.activeElement;
    while (here?.shadowRoot?.activeElement) here = here.shadowRoot.activeElement;
    return `${here.localName} ${here.getAttribute("aria-label") ?? here.getRootNode().host?.textContent.trim()}`;
  });
}

async function keyboard() {
  await tab("memories");
  await panel.locator("input[type=search]").fill("");
  await panel.getByRole("button", { name: "Add", exact: true }).focus();
  const press = async (name, key, element) => {
    await page.keyboard.press(key);
    seen.focus[name] = await until(page, name, async () => ((await focused()).startsWith(element) ? focused() : ""));
  };
  await press("form", "Enter", "textarea");
  await press("left", "Escape", "button");
  await panel.getByRole("button", { name: /^Delete: Anna/ }).focus();
  await press("asked", "Enter", "button Really delete?");
  await press("kept", "Escape", "button Delete: Anna");
  await panel.locator("#tab-usage").focus();
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Enter");
  await until(page, "the page before", () => here() === "suggestions");
}

// The card on a dashboard: a question comes by itself, and what was approved is done.
async function today() {
  await page.evaluate(async () => {
    const { hass } = document.querySelector("home-assistant");
    await hass.callWS({ type: "lovelace/dashboards/create", url_path: "our-home", title: "Our home", mode: "storage" });
    const views = [{ title: "Home", cards: [{ type: "custom:home-agent-today" }] }];
    await hass.callWS({ type: "lovelace/config/save", url_path: "our-home", config: { views } });
  });
  await page.goto(`${settings.url}/our-home/0`);
  const card = page.locator("home-agent-today");
  await card.getByText("I turned on the Reading Lamp.").waitFor();
  await card.getByRole("button", { name: "Undo" }).first().click();
  await card.getByText("undone", { exact: true }).waitFor();
  await say("Unlock the front door");
  await card.locator(".asks").waitFor();
  await shoot("today-asks");
  seen.barriers.asks = await barriers(page, settings, ["home-agent-today"]);
  await card.getByRole("button", { name: "Approve" }).click();
  await until(page, "what was approved", async () => (await card.getByText("I unlocked the Front Door Lock.").count()) === 2);
  seen.texts.today = await page.evaluate(textOf, "home-agent-today");
  seen.barriers.today = await barriers(page, settings, ["home-agent-today"]);
  await shoot("today");
  await page.goto(`${settings.url}/home_agent/${settings.entry}/me`);
  await panel.locator("main .card").first().waitFor();
}

async function small() {
  await page.setViewportSize(PHONE);
  await page.emulateMedia({ colorScheme: "dark" });
  for (const name of ["overview", "turns", "confirmations", "activity", "memories", "suggestions", "usage", "me"]) {
    await tab(name);
    await page.waitForTimeout(300); // until it is drawn
    await note(`phone-${name}`);
  }
  await tab("usage");
  await panel.locator("svg rect").first().waitFor();
  seen.today = await panel.locator("svg rect").first().evaluate((bar) => bar.getBoundingClientRect().right);
  await tab("turns");
  await panel.locator("a.exchange").first().click();
  await shows("Timeline");
  await note("phone-turn");
}

async function german() {
  await page.evaluate(() => localStorage.setItem("selectedLanguage", JSON.stringify("de")));
  for (const name of ["overview", "turns", "activity", "memories", "usage", "me"]) {
    await page.goto(`${settings.url}/home_agent/${settings.entry}/${name}`);
    await panel.locator("main :is(.card, .tiles)").first().waitFor();
    await note(`german-${name}`);
  }
}

// Somebody who is no administrator sees the page about themselves, and no other one.
async function somebodyElse() {
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.evaluate(() => localStorage.clear());
  await logIn(page, { ...settings, ...settings.other });
  await page.goto(`${settings.url}/home_agent/${settings.entry}/memories`);
  await panel.waitFor();
  await shows("Only you see this page");
  seen.addresses.other = here();
  seen.tabs = await panel.locator("nav a").count();
  await panel.getByRole("button", { name: "Add", exact: true }).click();
  await panel.locator("main textarea").first().fill("I like tea");
  await panel.getByRole("button", { name: "Save" }).click();
  await shows("I like tea");
  await note("other");
}
