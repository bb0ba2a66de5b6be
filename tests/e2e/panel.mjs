// An administrator in the panel: looks at a turn, edits and forgets a memory, approves what waits.
//
//   node panel.mjs SETTINGS.json
//
// SETTINGS: url, username, password, agent (entity), and what page.mjs needs.
// Prints one JSON line with what was seen.

import { logIn, open, perform, textOf, until } from "./page.mjs";

const PANEL = "home-agent-panel";
const seen = { pageErrors: [], texts: {}, images: 0, attacked: false, stretches: 0, bars: 0, elsewhere: [], selected: "" };
const opened = await open(process.argv[2], seen);
const { settings, page, shoot } = opened;
const panel = page.locator(PANEL);

page.on("request", (request) => {
  if (/^https?:/.test(request.url()) && !request.url().startsWith(settings.url)) seen.elsewhere.push(request.url());
});

await perform(opened, seen, { start, turns, oneTurn, memories, forgetOne, confirmations, others, keyboard, small, german });

function text() {
  return page.evaluate(textOf, PANEL);
}

function shows(words) {
  return until(page, `"${words}"`, async () => (await text()).includes(words));
}

async function start() {
  await logIn(page, settings);
  seen.elsewhere.length = 0; // what Home Assistant itself looks for is not ours
  await page.goto(`${settings.url}/home_agent`);
  await panel.waitFor();
}

async function tab(name) {
  await panel.locator(`#tab-${name}`).click();
}

async function note(name) {
  seen.texts[name] = await text();
  seen.images += await panel.locator("main img").count();
  seen.attacked ||= await page.evaluate(() => Boolean(window.attacked));
  await shoot(name);
}

async function turns() {
  await shows("Turn on the reading lamp");
  await note("turns");
}

async function oneTurn() {
  await panel.locator("button.turn").filter({ hasText: "Turn on the reading lamp" }).first().click();
  await shows("What happened when");
  await shoot("turn-top");
  for (const details of await panel.locator("details").all()) await details.locator("summary").click();
  seen.stretches = await panel.locator(".stretch").count();
  await note("turn");
  await panel.locator("h2").filter({ hasText: "Tool calls" }).scrollIntoViewIfNeeded();
  await shoot("turn-calls");
}

async function memories() {
  await tab("memories");
  await shows("The bins go out on Tuesday");
  await note("memories");
  await panel.getByRole("button", { name: "Edit: The bins go out on Tuesday" }).click();
  await panel.locator("textarea").fill("The bins go out on Friday");
  await shoot("memory-edited");
  await panel.locator("form button.first").click();
  await shows("The bins go out on Friday");
  await panel.locator("input[type=search]").fill("bins");
  await until(page, "the search", async () => !(await text()).includes("onerror"));
  await note("memories-found");
}

async function forgetOne() {
  await panel.getByRole("button", { name: "Forget: The bins go out on Friday" }).click();
  await panel.getByRole("button", { name: "Really forget?" }).click();
  await shows("Nothing is stored.");
}

async function confirmations() {
  await tab("confirmations");
  await shows("No action is waiting for a confirmation.");
  await page.evaluate(
    (agent) => document.querySelector("home-assistant").hass.callWS({ type: "conversation/process", text: "Unlock the front door", agent_id: agent }),
    settings.agent,
  );
  await shows("Should I unlock the Front Door Lock?"); // it comes by itself
  await note("confirmations");
  await panel.getByRole("button", { name: "Approve" }).click();
  await shows("No action is waiting for a confirmation.");
}

async function others() {
  await tab("audit");
  await shows("lock.unlock");
  await note("audit");
  await tab("suggestions");
  await shows("There are no suggestions.");
  await note("suggestions");
  await tab("usage");
  await shows("Tokens a day");
  seen.bars = await panel.locator("svg rect").count();
  await note("usage");
}

async function keyboard() {
  await panel.locator("#tab-usage").focus();
  await page.keyboard.press("ArrowRight"); // round to the first
  seen.selected = await panel.locator("[role=tab][aria-selected=true]").getAttribute("id");
}

async function small() {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.emulateMedia({ colorScheme: "dark" });
  await shows("Unlock the front door");
  await note("phone");
  await panel.locator("button.turn").first().click();
  await shows("What happened when");
  seen.wide = await page.evaluate(() => document.documentElement.scrollWidth);
  await note("phone-turn");
}

async function german() {
  await page.evaluate(() => localStorage.setItem("selectedLanguage", JSON.stringify("de")));
  await page.reload();
  await panel.waitFor();
  await shows("Gespräche");
  await note("german");
}
