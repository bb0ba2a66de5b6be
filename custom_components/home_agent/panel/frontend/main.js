// The panel: which agent, which page, and what the pages share.

import { choice, h, nothing } from "./dom.js";
import { STYLE } from "./style.js";
import { texts } from "./texts.js";
import { audit } from "./audit.js";
import { confirmations } from "./confirmations.js";
import { memories } from "./memories.js";
import { suggestions } from "./suggestions.js";
import { turns } from "./turns.js";
import { usage } from "./usage.js";

const PAGES = [turns, memories, confirmations, audit, suggestions, usage];
const SECONDS_SAID = 8;

class HomeAgentPanel extends HTMLElement {
  #hass;
  #started = false;
  #agents = [];
  #entry = "";
  #page = PAGES[0];
  #state = {}; // what was typed and chosen, by page
  #drawn = 0;
  #unsubscribe = null;
  #t = texts();
  #menu;

  set hass(hass) {
    this.#hass = hass;
    if (this.#menu) this.#menu.hass = hass;
    if (!this.#started && this.isConnected) this.#start();
  }

  set narrow(narrow) {
    this.toggleAttribute("narrow", Boolean(narrow));
    if (this.#menu) this.#menu.narrow = narrow;
  }

  connectedCallback() {
    if (this.#started) this.#open();
    else if (this.#hass) this.#start();
  }

  disconnectedCallback() {
    this.#unfollow();
  }

  async #start() {
    this.#started = true;
    this.attachShadow({ mode: "open" });
    this.#t = await texts(this.#hass);
    this.#frame();
    await this.#open();
  }

  // Looks which agents there are now; the one that was chosen stays.
  async #open() {
    const found = await this.#guarded(() => this.#call("agents", {}, false));
    this.#agents = found?.agents ?? [];
    if (!this.#agents.some((agent) => agent.entry_id === this.#entry)) this.#entry = this.#agents[0]?.entry_id ?? "";
    this.#frame();
    await this.#draw();
    await this.#follow();
  }

  // What pages get.
  get #context() {
    const page = this.#page.name;
    this.#state[page] ??= {};
    return {
      t: this.#t,
      agent: this.#agents.find((agent) => agent.entry_id === this.#entry),
      state: this.#state[page],
      call: (type, data) => this.#call(type, data),
      refresh: () => this.#draw(),
      guarded: (act) => this.#guarded(act),
      say: (text, kind) => this.#say(text, kind),
      drawn: () => this.shadowRoot.querySelector("main"),
    };
  }

  #call(type, data = {}, ofAgent = true) {
    const whose = ofAgent ? { entry_id: this.#entry } : {};
    return this.#hass.callWS({ type: `home_agent/${type}`, ...whose, ...data });
  }

  async #guarded(act) {
    try {
      return await act();
    } catch (error) {
      this.#say(this.#t.problem(error), "error");
      return undefined;
    }
  }

  async #follow() {
    this.#unfollow();
    const entry = this.#entry;
    if (!entry) return;
    const stop = await this.#guarded(() =>
      this.#hass.connection.subscribeMessage(
        ({ topic }) => {
          if (this.#page.topics.includes(topic)) this.#draw(true);
        },
        { type: "home_agent/subscribe", entry_id: entry },
      ),
    );
    if (entry !== this.#entry || !this.isConnected) stop?.();
    else this.#unsubscribe = stop;
  }

  #unfollow() {
    this.#unsubscribe?.();
    this.#unsubscribe = null;
  }

  // The parts that stay: title, agents, pages.
  #frame() {
    const t = this.#t;
    this.#menu = h("ha-menu-button");
    this.#menu.hass = this.#hass;
    this.#menu.narrow = this.hasAttribute("narrow");
    const agents = this.#agents.map((agent) => [agent.entry_id, agent.title]);
    const choose = (entry) => {
      this.#entry = entry;
      this.#state = {};
      this.#draw();
      this.#follow();
    };
    this.shadowRoot.replaceChildren(
      h("style", {}, STYLE),
      h(
        "header",
        {},
        h(
          "div",
          { class: "bar" },
          this.#menu,
          h("h1", {}, "Home Agent"),
          agents.length > 1 && choice(agents, this.#entry, choose, { "aria-label": t("agent") }),
        ),
        h(
          "nav",
          { role: "tablist", "aria-label": t("pages"), onkeydown: (event) => this.#step(event) },
          PAGES.map((page) => this.#tab(page)),
        ),
      ),
      h("main", { role: "tabpanel", id: "page", tabindex: "-1", "aria-labelledby": `tab-${this.#page.name}` }),
      h("div", { id: "said", role: "status", "aria-live": "polite" }),
    );
  }

  #tab(page) {
    const selected = page === this.#page;
    return h(
      "button",
      {
        type: "button",
        role: "tab",
        id: `tab-${page.name}`,
        "aria-controls": "page",
        "aria-selected": String(selected),
        tabindex: selected ? "0" : "-1",
        onclick: () => this.#turnTo(page),
      },
      this.#t(`page_${page.name}`),
    );
  }

  #turnTo(page) {
    this.#page = page;
    this.shadowRoot.getElementById("said").replaceChildren();
    for (const tab of this.shadowRoot.querySelectorAll("[role=tab]")) {
      const selected = tab.id === `tab-${page.name}`;
      tab.setAttribute("aria-selected", String(selected));
      tab.tabIndex = selected ? 0 : -1;
      if (selected) tab.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
    this.shadowRoot.querySelector("main").setAttribute("aria-labelledby", `tab-${page.name}`);
    this.#draw();
  }

  // Arrow keys go from tab to tab, as people who cannot see expect it.
  #step(event) {
    const moves = { ArrowRight: 1, ArrowLeft: -1, Home: -PAGES.indexOf(this.#page), End: -1 - PAGES.indexOf(this.#page) };
    if (!(event.key in moves)) return;
    event.preventDefault();
    const index = (PAGES.indexOf(this.#page) + moves[event.key] + PAGES.length) % PAGES.length;
    this.#turnTo(PAGES[index]);
    this.shadowRoot.getElementById(`tab-${PAGES[index].name}`).focus();
  }

  // Draws the page. What comes late, after another page was chosen, is thrown away.
  async #draw(live = false) {
    const main = this.shadowRoot.querySelector("main");
    const number = ++this.#drawn;
    if (!this.#entry) {
      main.replaceChildren(nothing(this.#t("no_agent")));
      return;
    }
    // Nobody's typing is interrupted by something that happened elsewhere.
    if (live && /^(INPUT|TEXTAREA|SELECT)$/.test(this.shadowRoot.activeElement?.nodeName ?? "")) return;
    const drawn = await this.#guarded(() => this.#page.draw(this.#context));
    if (!drawn || number !== this.#drawn) return;
    const focused = main.contains(this.shadowRoot.activeElement);
    main.replaceChildren(...[drawn].flat());
    if (focused) main.focus(); // what had the focus is gone; the keyboard goes on from here
  }

  #say(text, kind = "") {
    const line = h("p", { class: kind }, text);
    this.shadowRoot.getElementById("said").replaceChildren(line);
    setTimeout(() => line.remove(), SECONDS_SAID * 1000);
  }
}

if (!customElements.get("home-agent-panel")) customElements.define("home-agent-panel", HomeAgentPanel);
