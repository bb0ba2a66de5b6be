// Takes a picture of each page of the config flow, the options, further agents, the Assist dialog and the panel, in each
// look; then one sheet for each look.
//
//   node pictures.mjs PLAN.json
//
// PLAN: url, username, password, server, entry, looks ("en-light-desktop" …), pages ({menu: [page]}), panel ([page]),
// words ({language: {menus: {menu: {page: label}}, finish, agent}}), sheets (folder), and what page.mjs needs.

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

import { clickLabelled, logIn, open, perform, topmost, until as untilOn } from "./page.mjs";

const SIZES = { desktop: { width: 1280, height: 900 }, phone: { width: 390, height: 844 } };
const CONFIGURE = { en: "Configure", de: "Konfigurieren" };
const ON = { en: /^\s*(OK|Next)\s*$/, de: /^\s*(OK|Weiter)\s*$/ };
const LOADED = 700; // milliseconds until selectors, icons and fonts are there

const seen = { pageErrors: [] };
const opened = await open(process.argv[2], seen);
const { settings, page, shoot } = opened;
let name = "";
let number = 0;
let look = {};

const steps = Object.fromEntries(settings.looks.map((each) => [each, () => walk(each)]));
await perform(opened, seen, { start: () => logIn(page, settings), ...steps, sheets });

function until(what, found, patience) {
  return untilOn(page, what, found, patience);
}

async function picture(what) {
  await page.waitForTimeout(LOADED);
  await shoot(`${name}-${String(number++).padStart(2, "0")}-${what}`);
}

async function walk(each) {
  const [language, theme, size] = each.split("-");
  name = each;
  number = 0;
  look = { language, ...settings.words[language] };
  await page.setViewportSize(SIZES[size]);
  await page.emulateMedia({ colorScheme: theme });
  await page.evaluate(async (chosen) => {
    localStorage.setItem("selectedLanguage", JSON.stringify(chosen));
    const { hass } = document.querySelector("home-assistant");
    await hass.callWS({ type: "frontend/set_user_data", key: "language", value: { language: chosen } });
  }, language);
  await adding();
  await options();
  await agents();
  await assist();
  await panel();
}

async function adding() {
  await page.goto(`${settings.url}/config/integrations/dashboard/add?domain=home_agent`);
  await press(); // "Do you want to set up Home Agent?"
  await until("the address", () => topmost(page.locator("step-flow-form ha-form")));
  const field = page.locator("step-flow-form ha-selector-text input").first();
  await field.fill(settings.server);
  await picture("add-server");
  await press();
  await until("the models", () => topmost(page.locator("step-flow-form ha-selector-select")));
  await picture("add-model");
  await press();
  await until("the last page", () => topmost(page.locator("step-flow-form ha-selector-boolean")));
  await picture("add-ready");
}

async function options() {
  await integration();
  await picture("integration");
  const gears = page.locator("ha-config-entry-row ha-icon-button");
  for (const menu of Object.keys(settings.pages)) {
    for (const [index, one] of settings.pages[menu].entries()) {
      await integration();
      await until("the button of the options", () => clickLabelled(gears, CONFIGURE[look.language]));
      if (menu !== "init") await choose(look.menus.init[menu]);
      await until("the menu", () => topmost(page.locator("step-flow-menu")));
      if (!index) await picture(`options-${menu}`);
      await choose(look.menus[menu][one]);
      await until(`the page ${one}`, () => topmost(page.locator("step-flow-form ha-form")));
      await picture(`options-${one}`);
    }
  }
}

// Adding and changing a further agent, a rule, and the question about the memories of a deleted one.
async function agents() {
  const { add, change, pages, menu } = look.agent;
  await integration();
  await (await until("the button that adds", () => topmost(page.locator("ha-button").filter({ hasText: add })))).click();
  await until("the form", () => topmost(page.locator("step-flow-form ha-form")));
  await picture("agent-add");
  await bottom();
  await picture("agent-add-below");
  for (const [index, one] of pages.entries()) {
    await integration();
    await until("the button that changes", () => clickLabelled(page.locator("ha-config-sub-entry-row ha-icon-button"), change));
    await until("the menu", () => topmost(page.locator("step-flow-menu")));
    if (!index) await picture("agent-menu");
    await choose(menu[one]);
    await until(`the page ${one}`, () => topmost(page.locator("step-flow-form ha-form")));
    await picture(`agent-${one}`);
  }
  await (await until("the button for a rule", () => topmost(page.locator("step-flow-form ha-selector-object ha-button").first()))).click();
  await until("the rule", () => topmost(page.locator("ha-selector-entity")));
  await picture("agent-rule");
  await bottom();
  await picture("agent-rule-below");
  await page.goto(`${settings.url}/config/repairs`);
  await (await until("the issue", () => topmost(page.getByText(settings.gone)))).click();
  await until("the question", () => topmost(page.locator("step-flow-menu")));
  await picture("agent-memories");
}

// The question that waits for a yes, in the Assist dialog.
async function assist() {
  await page.goto(settings.url);
  await page.waitForSelector("home-assistant >> ha-sidebar", { state: "attached" });
  const box = page.locator("ha-assist-chat input, ha-assist-chat textarea");
  await until("the dialog", async () => {
    await page.keyboard.press("a"); // the shortcut of the dialog
    await page.waitForTimeout(LOADED);
    return topmost(box);
  });
  await (await topmost(box)).fill(settings.question);
  await page.keyboard.press("Enter");
  await until("the answer", async () => (await page.locator("ha-assist-chat .message").count()) > 2);
  await picture("assist-confirmation");
}

async function integration() {
  await page.goto(`${settings.url}/config/integrations/integration/home_agent`);
  await until("the agents", () => topmost(page.locator("ha-config-entry-row")));
}

async function bottom() {
  const { width, height } = page.viewportSize();
  await page.mouse.move(width / 2, height / 2);
  await page.mouse.wheel(0, 5000);
}

async function panel() {
  const main = page.locator("home-agent-panel main :is(.card, .tiles, .empty)");
  for (const one of settings.panel) {
    await page.goto(`${settings.url}/home_agent/${settings.entry}/${one}`);
    await main.first().waitFor();
    await picture(`panel-${one}`);
  }
  await page.goto(`${settings.url}/home_agent/${settings.entry}/turns`);
  await page.locator("home-agent-panel a.exchange").first().click();
  await page.locator("home-agent-panel .stretch").first().waitFor();
  await picture("panel-turn");
}

async function press() {
  const buttons = page.locator("ha-button, ha-progress-button, button").filter({ hasText: ON[look.language] });
  await (await until("the button that leads on", () => topmost(buttons))).click();
}

async function choose(label) {
  const entry = page.locator("step-flow-menu ha-list-item").filter({ has: page.getByText(label, { exact: true }) });
  await (await until(`the menu's ${label}`, () => topmost(entry))).click();
}

// Lays the pictures of each look side by side.
async function sheets() {
  const files = readdirSync(settings.screenshots).filter((file) => file.endsWith(".png")).sort();
  const sheet = await opened.browser.newPage();
  for (const each of settings.looks) {
    const width = each.endsWith("phone") ? 160 : 340;
    const columns = each.endsWith("phone") ? 10 : 5;
    const figures = files
      .filter((file) => file.startsWith(`${each}-`))
      .map((file) => {
        const data = readFileSync(join(settings.screenshots, file)).toString("base64");
        const title = file.slice(each.length + 4, -4);
        return `<figure><img src="data:image/png;base64,${data}"><figcaption>${title}</figcaption></figure>`;
      });
    await sheet.setViewportSize({ width: columns * (width + 10) + 20, height: 600 });
    await sheet.setContent(
      `<style>body{margin:10px;background:#888;font:11px sans-serif;display:grid;grid-template-columns:repeat(${columns},${width}px);gap:10px}
      figure{margin:0}img{width:${width}px;display:block}figcaption{padding:2px}</style>${figures.join("")}`,
    );
    await sheet.waitForLoadState("load");
    await sheet.screenshot({ path: join(settings.sheets, `${each}.jpg`), fullPage: true, type: "jpeg", quality: 62 });
  }
}
