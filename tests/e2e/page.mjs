// What people at the browser share: a page that is logged in, patience, and eyes for texts behind shadow roots.

import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

export const LOOK = 250; // milliseconds between two looks at the page
export const PATIENCE = 30_000;

/** Opens a browser as the settings say: browser (program), playwright (folder with node_modules), screenshots (folder). */
export async function open(file, seen) {
  const settings = JSON.parse(readFileSync(file, "utf8"));
  const { chromium } = createRequire(join(settings.playwright, "package.json"))("playwright-core");
  mkdirSync(settings.screenshots, { recursive: true });
  const browser = await chromium.launch({
    executablePath: settings.browser,
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"],
  });
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  page.setDefaultTimeout(PATIENCE);
  const goTo = page.goto.bind(page);
  // Home Assistant's page may go somewhere itself at that moment, after an entry was removed for example.
  page.goto = (url) => goTo(url).catch((error) => (/ERR_ABORTED/.test(error.message) ? goTo(url) : Promise.reject(error)));
  page.on("pageerror", (error) => seen.pageErrors.push(error.message.slice(0, 300)));
  const shoot = (name) => page.screenshot({ path: join(settings.screenshots, `${name}.png`) }).catch(() => {});
  return { settings, browser, page, shoot };
}

/** Does one step after the other; prints what was seen as one line of JSON, whatever happens. */
export async function perform({ browser, shoot }, seen, steps) {
  let step = "starting";
  try {
    for (const [name, act] of Object.entries(steps)) {
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
}

/** Looks again and again until the answer is truthy. */
export async function until(page, what, look, patience = PATIENCE, pause = LOOK) {
  const end = Date.now() + patience;
  for (;;) {
    const answer = await look();
    if (answer) return answer;
    if (Date.now() > end) throw new Error(`waited in vain for ${what}`);
    await page.waitForTimeout(pause);
  }
}

/** Logs in and waits until Home Assistant runs. */
export async function logIn(page, settings) {
  await page.goto(settings.url);
  await page.locator("input[name=username]").fill(settings.username);
  await page.locator("input[name=password]").fill(settings.password);
  await page.keyboard.press("Enter");
  await page.waitForSelector("home-assistant >> ha-sidebar", { state: "attached" });
  await until(page, "the first page", () =>
    page.evaluate(() => document.querySelector("home-assistant")?.hass?.config?.state === "RUNNING"),
  );
}

/** The last visible match: dialogs lie on top of each other. */
export async function topmost(locator) {
  for (let index = (await locator.count()) - 1; index >= 0; index--) {
    const candidate = locator.nth(index);
    if (await candidate.isVisible().catch(() => false)) return candidate;
  }
  return null;
}

/** Clicks the button whose property `label` is this; buttons with a picture show no text. */
export async function clickLabelled(buttons, label) {
  for (const button of await buttons.all()) {
    if ((await button.evaluate((element) => element.label)) !== label) continue;
    await button.click();
    return true;
  }
  return false;
}

/** Runs in the page: the text of the first element of this name, through all shadow roots. */
export function textOf(localName) {
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

/** Returns what axe finds in elements of ours: their names, not what Home Assistant's own elements contain. */
export async function barriers(page, settings, names) {
  if (!(await page.evaluate(() => Boolean(window.axe))))
    await page.evaluate(readFileSync(join(settings.playwright, "node_modules/axe-core/axe.min.js"), "utf8"));
  return page.evaluate(async (ours) => {
    // That everything is in a landmark is up to the dashboard around a card.
    const { violations } = await window.axe.run(document, { resultTypes: ["violations"], rules: { region: { enabled: false } } });
    const found = violations.flatMap(({ id, nodes }) => nodes.map(({ target, html }) => ({ id, path: target.flat(), html: html.slice(0, 200) })));
    return found.filter(({ path }) => ours.includes(path.at(-2)));
  }, names);
}
