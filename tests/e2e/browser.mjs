// A person at the browser: logs in, adds Home Agent in the settings, talks to it in the Assist dialog.
//
//   node browser.mjs SETTINGS.json
//
// SETTINGS: url, username, password, connection (field -> text), sentences ([{say, expect, name}]), and what page.mjs
// needs. Prints one JSON line with what was seen.

import { LOOK, PATIENCE, logIn, open, perform, textOf, topmost, until as untilOn } from "./page.mjs";

const seen = { pageErrors: [], fields: [], assistant: null, ready: "", lengths: [], chat: "" };
const opened = await open(process.argv[2], seen);
const { settings, page, shoot } = opened;

await perform(opened, seen, { start, addIntegration, openAssist, talk });

function until(what, look, patience) {
  return untilOn(page, what, look, patience);
}

async function start() {
  await logIn(page, settings);
  await shoot("1-home");
}

async function press(label) {
  const buttons = page.locator("ha-button, ha-progress-button, button").filter({ hasText: label });
  await (await until(`the button ${label}`, () => topmost(buttons))).click();
}

async function addIntegration() {
  await page.goto(`${settings.url}/config/integrations/dashboard/add?domain=home_agent`);
  await press(/^\s*OK\s*$/); // "Do you want to set up Home Agent?"
  for (const [name, text] of Object.entries(settings.connection)) await fillField(name, text);
  await shoot("2-connection");
  await press(/^\s*Next\s*$/);
  await until("the models", () => shows("Models that do well"));
  await shoot("3-model");
  await press(/^\s*Next\s*$/);
  seen.ready = await until("the last page", () => shows("Sentences to try first"));
  await shoot("3-ready");
  await press(/^\s*(Finish|Submit)\s*$/);
  await press(/^\s*(Skip and finish|Finish|Done|Close)\s*$/);
  await until("the end of the dialog", async () => !(await topmost(page.locator("step-flow-create-entry"))));
  await page.waitForTimeout(4 * LOOK); // a dialog that closes goes back in the history, which would end another navigation
  await page.goto(`${settings.url}/config/integrations/integration/home_agent`);
  await page.getByText("Home Agent").first().waitFor();
  await page.waitForTimeout(1500); // the brand image fades in
  await shoot("4-integration");
}

// The text of the form of a flow, once it holds these words.
async function shows(words) {
  const text = await page.evaluate(textOf, "step-flow-form");
  return text.includes(words) ? text : "";
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
  seen.assistant = await page.evaluate(async () => {
    const { hass } = document.querySelector("home-assistant");
    const { pipelines, preferred_pipeline } = await hass.callWS({ type: "assist_pipeline/pipeline/list" });
    return pipelines.find((pipeline) => pipeline.id === preferred_pipeline);
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
