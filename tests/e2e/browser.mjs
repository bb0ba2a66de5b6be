// A person at the browser: logs in, adds Home Agent in the settings, talks to it in the Assist dialog.
//
//   node browser.mjs SETTINGS.json
//
// SETTINGS: url, username, password, connection (field -> text), sentences ([{say, expect}]), browser (program),
// playwright (folder with node_modules), screenshots (folder). Prints one JSON line with what was seen.

import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const settings = JSON.parse(readFileSync(process.argv[2], "utf8"));
const { chromium } = createRequire(join(settings.playwright, "package.json"))("playwright-core");
const seen = { pageErrors: [], fields: [], agents: [], lengths: [], chat: "" };
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
  for (const [name, act] of Object.entries({ logIn, addIntegration, openAssist, talk })) {
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
  for (const { say, expect } of settings.sentences) {
    await box.fill(say);
    await page.keyboard.press("Enter");
    await until(`"${expect}"`, async () => {
      seen.chat = await page.evaluate(chatText);
      seen.lengths.push(seen.chat.length);
      return seen.chat.includes(expect);
    }, 2 * PATIENCE);
    await page.waitForTimeout(4 * LOOK); // until the cursor of the stream is gone
    await shoot(`${number++}-answer`);
  }
}

// Runs in the page: the text of the chat, through all shadow roots.
function chatText() {
  const words = [];
  const read = (node) => {
    if (node.nodeType === Node.TEXT_NODE) words.push(node.data);
    if (["STYLE", "SCRIPT"].includes(node.nodeName)) return;
    for (const child of [...(node.shadowRoot?.childNodes ?? []), ...node.childNodes]) read(child);
  };
  const find = (root) => {
    for (const element of root.querySelectorAll("*")) {
      if (element.localName === "ha-assist-chat") return element;
      const found = element.shadowRoot && find(element.shadowRoot);
      if (found) return found;
    }
    return null;
  };
  const chat = find(document);
  if (chat) read(chat);
  return words.join(" ").replace(/\s+/g, " ").trim();
}
