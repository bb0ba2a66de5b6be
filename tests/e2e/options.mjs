// An administrator opens each page of the options, looks at every field, opens the sections, and saves.
//
//   node options.mjs SETTINGS.json
//
// SETTINGS: url, username, password, looks ([{language, dark, sizes: [{width, height}]}]), menus ({menu: {page: {language:
// label}}}), pages (their names), configure, save, add and rule ({language: label}), and what page.mjs needs. Prints one JSON line with what was seen.

import { clickLabelled, logIn, open, perform, topmost, until as untilOn } from "./page.mjs";

const SHORT = 60; // milliseconds between two looks

const seen = { pageErrors: [], pages: [], saved: [], rule: [], server: [] };
const opened = await open(process.argv[2], seen);
const { settings, page, shoot } = opened;
const steps = Object.fromEntries(
  settings.looks.map((look) => [look.language, () => walk(look)]),
);

await perform(opened, seen, { start: () => logIn(page, settings), ...steps });

function until(what, look) {
  return untilOn(page, what, look, undefined, SHORT);
}

// Opens the options once and goes through all pages; each is looked at in every size, saved as it is, and leads back to
// its menu.
async function walk({ language, dark, sizes }) {
  await page.setViewportSize(sizes[0]);
  await page.emulateMedia({ colorScheme: dark ? "dark" : "light" });
  await page.evaluate((chosen) => localStorage.setItem("selectedLanguage", JSON.stringify(chosen)), language);
  await page.goto(`${settings.url}/config/integrations/integration/home_agent`);
  const gears = page.locator("ha-config-entry-row ha-icon-button");
  await until("Configure", () => clickLabelled(gears, settings.configure[language]));
  for (const [menu, pages] of Object.entries(settings.menus)) {
    if (menu !== "init") await choose(settings.menus.init[menu][language]);
    await shoot(`${language}-menu-${menu}`);
    for (const [name, label] of Object.entries(pages)) {
      if (!settings.pages.includes(name)) continue;
      await choose(label[language]);
      await until(`the page ${name}`, async () => topmost(page.locator("step-flow-form ha-form")));
      await look(language, name, sizes);
      await press(settings.save[language]);
      await until(`the menu after ${name}`, async () => topmost(page.locator("step-flow-menu")));
      seen.saved.push(name);
    }
    if (menu === "init") await addRule(language, pages.message_rules[language]);
  }
  await changeServer(language);
}

// Adds a rule of messages: what it watches is chosen, then only its fields are shown.
async function addRule(language, label) {
  const entries = page.locator("step-flow-menu ha-list-item");
  await choose(label);
  await shoot(`${language}-menu-message_rules`);
  const add = entries.filter({ hasText: settings.add[language] });
  await (await until("the entry that adds a rule", () => topmost(add))).click();
  await choose(settings.rule[language]);
  await until("the form of a rule", async () => topmost(page.locator("step-flow-form ha-form")));
  await settled();
  seen.rule = (await page.evaluate(readForm)).fields.map((field) => field.name);
  await shoot(`${language}-message_rule`);
  await press(settings.save[language]);
  await until("the list of rules", async () => topmost(entries.filter({ hasText: settings.rule[language] })));
  await shoot(`${language}-message_rules`);
  await (await until("the way back", () => topmost(entries.last()))).click();
  await until("the menu", async () => topmost(entries.filter({ hasText: label })));
}

// The model and its server are changed in the form that also adds them.
async function changeServer(language) {
  await choose(settings.menus.expert.init[language]);
  await choose(settings.menus.init.server[language]);
  await until("the form of the server", async () => topmost(page.locator("step-flow-form ha-form")));
  await settled();
  seen.server = (await page.evaluate(readForm)).fields.map((field) => field.name);
  await shoot(`${language}-server`);
}

// Reads a page in each size, with its sections collapsed and opened.
async function look(language, name, sizes) {
  for (const part of ["", "-opened"]) {
    if (part && !(await page.evaluate(openSections))) break;
    for (const size of sizes) {
      await page.setViewportSize(size);
      await settled();
      seen.pages.push({ language, page: name, part, width: size.width, ...(await page.evaluate(readForm)) });
      await shoot(`${language}-${size.width}-${name}${part}`);
    }
  }
  await page.setViewportSize(sizes[0]);
}

async function choose(label) {
  const entry = page.locator("step-flow-menu ha-list-item").filter({ has: page.getByText(label, { exact: true }) });
  await (await until(`the menu's ${label}`, () => topmost(entry))).click();
}

async function press(label) {
  const buttons = page.locator("ha-button, ha-progress-button, button").filter({ hasText: new RegExp(`^\\s*${label}\\s*$`) });
  await (await until(`the button ${label}`, () => topmost(buttons))).click();
}

// Waits until two looks in a row see the same fields: selectors load when they are shown.
async function settled() {
  let before = "";
  await until("fields that stay as they are", async () => {
    const now = JSON.stringify(await page.evaluate(readForm));
    const same = now === before;
    before = now;
    return same && !now.includes('"height":0');
  });
}

// Runs in the page: the fields of the form that are visible, with what is said about each.
function readForm() {
  const found = { fields: [], texts: "", title: "", wide: 0 };
  const isShown = (element) => element.getBoundingClientRect().height > 0;
  const words = [];
  const read = (node) => {
    if (node.nodeType === Node.TEXT_NODE) words.push(node.data);
    if (["STYLE", "SCRIPT"].includes(node.nodeName)) return;
    for (const child of [...(node.shadowRoot?.childNodes ?? []), ...node.childNodes]) read(child);
  };
  const textOf = (element) => {
    words.length = 0;
    read(element);
    return words.join(" ").replace(/\s+/g, " ").trim();
  };
  const walk = (root) => {
    for (const element of root.querySelectorAll("*")) {
      if (element.localName === "ha-expansion-panel" && !element.expanded) continue;
      if (element.localName === "ha-selector" && element.schema) {
        const text = textOf(element);
        found.fields.push({
          name: element.schema.name,
          kind: Object.keys(element.schema.selector)[0],
          label: element.label ?? "",
          isLabelShown: text.includes(element.label) || element.label === "",
          helps: Boolean(element.helper),
          height: Math.round(element.getBoundingClientRect().height),
        });
        continue;
      }
      const collapsed = element.closest?.("ha-expansion-panel");
      if (collapsed && !collapsed.expanded) continue;
      if (element.shadowRoot) walk(element.shadowRoot);
    }
  };
  const find = (root, name) => {
    for (const element of root.querySelectorAll("*")) {
      if (element.localName === name && isShown(element)) return element;
      const inside = element.shadowRoot && find(element.shadowRoot, name);
      if (inside) return inside;
    }
    return null;
  };
  const form = find(document, "step-flow-form");
  if (!form) return found;
  const dialog = form.getRootNode().host;
  walk(form.shadowRoot);
  found.texts = textOf(form);
  const whole = textOf(dialog);
  found.title = whole.slice(0, whole.indexOf(found.texts)).trim();
  const left = form.getBoundingClientRect().left;
  const right = form.getBoundingClientRect().right;
  const beyond = (root) =>
    [...root.querySelectorAll("*")].some((element) => {
      if (element.localName === "ha-expansion-panel" && !element.expanded) return false;
      const box = element.getBoundingClientRect();
      if (box.height && box.width && (box.right > right + 1 || box.left < left - 1)) {
        const style = getComputedStyle(element);
        if (style.position !== "absolute" && style.position !== "fixed") {
          found.beyond = `${element.localName} ${Math.round(box.right)} > ${Math.round(right)}`;
          return true;
        }
      }
      return element.shadowRoot ? beyond(element.shadowRoot) : false;
    });
  found.scrolls = document.documentElement.scrollWidth > innerWidth || form.scrollWidth > form.clientWidth + 1;
  beyond(form.shadowRoot);
  return found;
}

// Runs in the page: opens all sections of the form; how many there were.
function openSections() {
  let opened = 0;
  const walk = (root) => {
    for (const element of root.querySelectorAll("*")) {
      if (element.localName === "ha-expansion-panel" && !element.expanded) {
        element.expanded = true;
        opened += 1;
      }
      if (element.shadowRoot) walk(element.shadowRoot);
    }
  };
  walk(document.querySelector("home-assistant").shadowRoot);
  return opened;
}
