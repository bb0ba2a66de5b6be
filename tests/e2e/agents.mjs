// An administrator adds agents to a connection, copies one, gives it a rule, removes it, and settles its memories.
//
//   node agents.mjs SETTINGS.json
//
// SETTINGS: url, username, password, steps ([{do: add | rule | remove | give, …}]), and what page.mjs needs. A step `add`
// has name, and copy or area; `rule` has agent, kind, hours and person; `remove` has agent; `give` has agent and to.
// Prints one JSON line with what was seen.

import { clickLabelled, logIn, open, perform, textOf, topmost, until as untilOn } from "./page.mjs";

const DRAWN = 400; // milliseconds until a picker has closed

const seen = { pageErrors: [], dialogs: [], lines: [] };
const opened = await open(process.argv[2], seen);
const { settings, page, shoot } = opened;
const acts = { add, rule, remove, give };
const steps = Object.fromEntries(settings.steps.map((step, index) => [`${index}-${step.do}`, () => acts[step.do](step)]));

await perform(opened, seen, { start: () => logIn(page, settings), ...steps });

function until(what, look) {
  return untilOn(page, what, look);
}

async function add({ name, copy, area }) {
  await integration();
  await press("Add an agent on this server");
  await until("the form", () => topmost(page.locator("step-flow-form ha-form")));
  await page.locator("step-flow-form ha-selector-text input").first().fill(name);
  if (copy) await select(page.locator("step-flow-form ha-selector-select").first(), copy);
  if (area) {
    await (await until("Add target", () => topmost(page.locator("step-flow-form ha-selector-target ha-button").first()))).click();
    await pick(area);
  }
  await shoot(`add-${name}`);
  await press("Add");
  await until("the end", () => topmost(page.locator("step-flow-create-entry")));
  seen.dialogs.push(await page.evaluate(textOf, "step-flow-create-entry"));
  await shoot(`added-${name}`);
  await press("Finish");
}

async function rule({ agent, kind, hours, person }) {
  await change(agent, "What it may do");
  await (await until("Add", () => topmost(page.locator("step-flow-form ha-selector-object ha-button").first()))).click();
  const field = (label) => page.locator("ha-selector-select").filter({ hasText: label });
  await until("the rule", () => topmost(field("For whom")));
  for (const [label, value] of [["Kinds of devices", kind], ["Days and times", hours], ["For whom", person]]) {
    await choose(field(label), value);
  }
  await shoot("rule");
  await press("Add");
  await until("the line of the rule", async () => (await page.evaluate(textOf, "step-flow-form")).includes(hours));
  seen.lines.push(await page.evaluate(textOf, "step-flow-form"));
  await press("Save");
  await until("the menu", () => topmost(page.locator("step-flow-menu")));
  await shoot("rule-saved");
}

async function remove({ agent }) {
  await integration();
  const row = page.locator("ha-config-sub-entry-row").filter({ hasText: agent });
  await until("the menu of the agent", () => clickLabelled(row.locator("ha-icon-button"), "Menu"));
  await shoot("removing");
  await (await until("Delete", () => topmost(row.locator("ha-dropdown-item, ha-md-menu-item, ha-list-item").filter({ hasText: "Delete" })))).click();
  await press("Delete");
  await until("the agent's end", async () => !(await row.count()));
}

async function give({ agent, to }) {
  await page.goto(`${settings.url}/config/repairs`);
  await (await until("the issue", () => topmost(page.getByText(`The memories of ${agent} are kept`)))).click();
  await until("the question", () => topmost(page.locator("step-flow-menu")));
  await shoot("memories-kept");
  await (await until("the answer", () => topmost(page.getByText("Give them to another agent", { exact: true })))).click();
  await until("the agents", () => topmost(page.locator("step-flow-form ha-form")));
  const chosen = page.locator("step-flow-form ha-selector-select").first();
  if (!(await chosen.textContent()).includes(to)) await chooseOrCheck(chosen, to);
  await shoot("memories-given");
  await press(/^\s*(Submit|Next|Save)\s*$/);
  await until("the end", () => topmost(page.locator("step-flow-create-entry, step-flow-abort")));
}

async function integration() {
  await page.goto(`${settings.url}/config/integrations/integration/home_agent`);
  await until("the agents", () => topmost(page.locator("ha-config-entry-row")));
}

async function change(agent, label) {
  await integration();
  const row = page.locator("ha-config-sub-entry-row").filter({ hasText: agent });
  await until("Change agent", () => clickLabelled(row.locator("ha-icon-button"), "Change agent"));
  await (await until(label, () => topmost(page.locator("step-flow-menu").getByText(label, { exact: true })))).click();
  await until("the page", () => topmost(page.locator("step-flow-form ha-form")));
}

async function press(label) {
  const text = typeof label === "string" ? new RegExp(`^\\s*${label}\\s*$`) : label;
  const buttons = page.locator("ha-button, ha-progress-button, button").filter({ hasText: text });
  await (await until(`the button ${label}`, () => topmost(buttons))).click();
}

// Opens a field and picks what is typed, from its list or as a value of its own.
async function choose(field, value) {
  const opener = field.locator("ha-button, ha-picker-field, ha-combo-box-item").first();
  await opener.scrollIntoViewIfNeeded();
  await opener.click();
  await pick(value);
}

// Picks from a dropdown, which has no search.
async function select(field, value) {
  await field.locator("ha-select").click();
  const item = field.locator("ha-dropdown-item, ha-list-item").filter({ hasText: value });
  await (await until(value, () => topmost(item))).click();
}

async function pick(value) {
  const search = page.locator("ha-picker-combo-box input");
  await (await until("the search of the picker", () => topmost(search))).fill(value);
  const found = page.locator("ha-picker-combo-box ha-combo-box-item").filter({ hasText: value });
  await (await until(value, () => topmost(found))).click();
  await until("the end of the picker", async () => !(await topmost(search)));
  await page.waitForTimeout(DRAWN);
}

async function chooseOrCheck(field, value) {
  const radio = field.locator("ha-radio-option, ha-formfield").filter({ hasText: value });
  if (await radio.count()) await radio.first().click();
  else await choose(field, value);
}
