// A person at the browser: logs in, adds Home Agent in the settings, talks to it in the Assist dialog.
//
//   node browser.mjs SETTINGS.json
//
// SETTINGS: url, username, password, connection (field -> text), sentences ([{say, expect, name}]), pages (of the
// options), browser (program), playwright (folder with node_modules), screenshots (folder). Prints one JSON line with
// what was seen.

import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const settings = JSON.parse(readFileSync(process.argv[2], "utf8"));
const { chromium } = createRequire(join(settings.playwright, "package.json"))("playwright-core");
const seen = { pageErrors: [], fields: [], agents: [], lengths: [], chat: "", pages: {} };
const LOOK = 250; // milliseconds between two looks at the page
const PATIENCE = 30_000;

mkdirSync(settings.screenshots, { recursive: true });
const browser = await chromium.launch({
  executablePath: settings.browser,
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"],
});
const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
page.setDefaultTimeout(PATIENCE);
page.on("pageerror", (error) => seen.pageErrors.push(error.message.slice(0, 300)));

let step = "starting";
try {
  for (const [name, act] of Object.entries({ logIn, addIntegration, lookAtOptions, openAssist, talk })) {
    step = name;
    await act();
  }
} catch (error) {
  await shoot("failed");
  console.error(`${step}: ${error.message}`);
  process.exitCode = 1;
} finally {
  console.log(JSON.stringify(seen));
  await browser.close();
}

async function shoot(name) {
  await page.screenshot({ path: join(settings.screenshots, `${name}.png`) }).catch(() => {});
}

// Looks again and again until the answer is truthy.
async function until(what, look, patience = PATIENCE) {
  const end = Date.now() + patience;
  for (;;) {
    const answer = await look();
    if (answer) return answer;
    if (Date.now() > end) throw new Error(`waited in vain for ${what}`);
    await page.waitForTimeout(LOOK);
  }
}

// The last visible match: dialogs lie on top of each other.
async function topmost(locator) {
  for (let index = (await locator.count()) - 1; index >= 0; index--) {
    const candidate = locator.nth(index);
    if (await candidate.isVisible().catch(() => false)) return candidate;
  }
  return null;
}

async function press(label) {
  const buttons = page.locator("ha-button, ha-progress-button, button").filter({ hasText: label });
  await (await until(`the button ${label}`, () => topmost(buttons))).click();
}

async function logIn() {
  await page.goto(settings.url);
  await page.locator("input[name=username]").fill(settings.username);
  await page.locator("input[name=password]").fill(settings.password);
  await page.keyboard.press("Enter");
  await page.waitForSelector("home-assistant >> ha-sidebar");
  await until("the first page", () => page.evaluate(() => document.querySelector("home-assistant")?.hass?.config?.state === "RUNNING"));
  await shoot("1-home");
}

async function addIntegration() {
  await page.goto(`${settings.url}/config/integrations/dashboard/add?domain=home_agent`);
  await press(/^\s*OK\s*$/); // "Do you want to set up Home Agent?"
  for (const [name, text] of Object.entries(settings.connection)) await fillField(name, text);
  await shoot("2-connection");
  await press(/^\s*Submit\s*$/);
  await until("the models", async () => !(await topmost(fields("llm_base_url"))));
  await shoot("3-model");
  await press(/^\s*Submit\s*$/);
  await press(/^\s*(Skip and finish|Finish|Done|Close)\s*$/);
  await page.goto(`${settings.url}/config/integrations/integration/home_agent`);
  await page.getByText("Home Agent").first().waitFor();
  await page.waitForTimeout(1500); // the brand image fades in
  await shoot("4-integration");
}

// Clicks the button whose property `label` is this; buttons with a picture show no text.
async function clickLabelled(buttons, label) {
  for (const button of await buttons.all()) {
    if ((await button.evaluate((element) => element.label)) !== label) continue;
    await button.click();
    return true;
  }
  return false;
}

// Forms of Home Assistant hold one ha-form-* or ha-selector element per field; it knows the field's name.
function fields(name) {
  return page.locator(`ha-form [name="${name}"], ha-selector[name="${name}"], input[name="${name}"]`);
}

async function fillField(name, text) {
  const input = await until(`the field ${name}`, async () => {
    const handle = await page.evaluateHandle(findInput, name);
    return handle.asElement();
  });
  await input.fill(text);
  seen.fields.push(name);
}

// Runs in the page: the input of the form field with this name, through all shadow roots.
function findInput(name) {
  const walk = (node, inside) => {
    for (const child of node.querySelectorAll("*")) {
      const here = inside || child.schema?.name === name || child.name === name;
      if (here && /^(INPUT|TEXTAREA)$/.test(child.nodeName)) return child;
      const found = child.shadowRoot && walk(child.shadowRoot, here);
      if (found) return found;
    }
    return null;
  };
  return walk(document, false);
}

// Opens pages of the options and leaves them as they are.
async function lookAtOptions() {
  for (const [page_, label] of Object.entries(settings.pages)) {
    await page.goto(`${settings.url}/config/integrations/integration/home_agent`);
    await until("Configure", () => clickLabelled(page.locator("ha-config-entry-row ha-icon-button"), "Configure"));
    const entry = page.locator("step-flow-menu ha-list-item, step-flow-menu ha-list-item-button, step-flow-menu ha-md-list-item").filter({ hasText: label });
    await (await until(`the menu's ${label}`, () => topmost(entry))).click();
    await until(`the page ${label}`, async () => topmost(page.locator("step-flow-form ha-form")));
    await page.waitForTimeout(4 * LOOK); // until all fields are drawn
    seen.pages[page_] = await page.evaluate(textOf, "step-flow-form");
    await shoot(`options-${page_}`);
  }
}

async function openAssist() {
  seen.agents = await page.evaluate(async () => {
    const { hass } = document.querySelector("home-assistant");
    const agents = (await hass.callWS({ type: "conversation/agent/list" })).agents.map((agent) => agent.id);
    const engine = agents.find((agent) => agent.includes("home_agent"));
    const nothing = ["stt_engine", "stt_language", "tts_engine", "tts_language", "tts_voice", "wake_word_entity", "wake_word_id"];
    const { id } = await hass.callWS({
      type: "assist_pipeline/pipeline/create",
      name: "Browser",
      language: "en",
      conversation_engine: engine,
      conversation_language: "en",
      ...Object.fromEntries(nothing.map((key) => [key, null])),
    });
    await hass.callWS({ type: "assist_pipeline/pipeline/set_preferred", pipeline_id: id });
    return agents;
  });
  await page.goto(settings.url);
  await page.waitForSelector("home-assistant >> ha-sidebar");
  await until("the dialog", async () => {
    await page.keyboard.press("a"); // the shortcut of the dialog
    await page.waitForTimeout(1000);
    return topmost(page.locator("ha-assist-chat input, ha-assist-chat textarea"));
  });
  await shoot("5-assist");
}

async function talk() {
  const box = await topmost(page.locator("ha-assist-chat input, ha-assist-chat textarea"));
  let number = 6;
  for (const { say, expect, name, times = 1 } of settings.sentences) {
    await box.fill(say);
    await page.keyboard.press("Enter");
    await until(`"${expect}"`, async () => {
      seen.chat = await page.evaluate(textOf, "ha-assist-chat");
      seen.lengths.push(seen.chat.length);
      return seen.chat.split(expect).length > times;
    }, 2 * PATIENCE);
    await page.waitForTimeout(4 * LOOK); // until the cursor of the stream is gone
    await page.locator("ha-assist-chat .message").last().scrollIntoViewIfNeeded();
    await shoot(`${number++}-${name}`);
  }
}

// Runs in the page: the text of an element, through all shadow roots.
function textOf(localName) {
  const words = [];
  const read = (node) => {
    if (node.nodeType === Node.TEXT_NODE) words.push(node.data);
    if (["STYLE", "SCRIPT"].includes(node.nodeName)) return;
    for (const child of [...(node.shadowRoot?.childNodes ?? []), ...node.childNodes]) read(child);
  };
  const find = (root) => {
    for (const element of root.querySelectorAll("*")) {
      if (element.localName === localName) return element;
      const found = element.shadowRoot && find(element.shadowRoot);
      if (found) return found;
    }
    return null;
  };
  const element = find(document);
  if (element) read(element);
  return words.join(" ").replace(/\s+/g, " ").trim();
}
