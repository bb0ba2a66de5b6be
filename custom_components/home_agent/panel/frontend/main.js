// The panel: which agent and which page the address names, and what the pages share.

import { elements, icon } from "./controls.js";
import { h, nothing } from "./dom.js";
import { loadAll, pageOf, PAGES } from "./pages.js";
import { address, current, navigate } from "./routes.js";
import { STYLE } from "./style.js";
import { texts } from "./texts.js";

// What the first page needs comes at once, and not one import after the other.
import "./bubbles.js";
import "./keep.js";
import "./overview.js";
import "./selftest.js";

// Another page that is going to be shown loads while everything else is prepared.
(pageOf(current().page) ?? PAGES[0]).load();

const SECONDS_SAID = 8;
const GHOSTS = 6; // places of what a page is going to show
const TRIES = 5; // while an agent is reloaded, after a change of options for example
const WAIT = 500; // milliseconds between two tries

class HomeAgentPanel extends HTMLElement {
  #hass;
  #started = false;
  #agents = [];
  #place = { entry: "", page: "", id: "" }; // what is shown
  #view = null;
  #opened = 0;
  #tops = new Map(); // where the reader was, by address
  #going = false; // whether a link was followed; otherwise the browser went back or forth
  #unsubscribe = null;
  #t;
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

  // Home Assistant's router tells of each change of the address.
  set route(_route) {
    if (this.#agents.length) this.#show();
  }

  connectedCallback() {
    window.addEventListener("scroll", this.#remember, { passive: true });
    if (this.#started) this.#open();
    else if (this.#hass) this.#start();
  }

  disconnectedCallback() {
    window.removeEventListener("scroll", this.#remember);
    this.#unfollow();
  }

  // While a page is drawn, the browser scrolls the page before it.
  #remember = () => {
    const here = window.location.pathname;
    if (this.#view && here === address(this.#place)) this.#tops.set(here, window.scrollY);
  };

  async #start() {
    this.#started = true;
    this.attachShadow({ mode: "open" });
    this.shadowRoot.addEventListener("click", (event) => this.#follow(event));
    const agents = this.#call("agents", {}, false).catch(() => null); // asked for while the texts come
    this.#bars();
    [this.#t] = await Promise.all([texts(this.#hass), elements()]);
    await this.#open(agents);
  }

  // Looks which agents there are now.
  async #open(asked = null) {
    const wanted = current().entry;
    for (let tries = 1; ; tries++) {
      const found = (tries === 1 && (await asked)) || (await this.#guarded(() => this.#call("agents", {}, false)));
      this.#agents = found?.agents ?? [];
      this.#frame();
      if (!wanted || this.#agent(wanted) || tries >= TRIES) break;
      await pause(WAIT); // the agent may be reloaded at the moment
    }
    if (!this.#agents.length) this.#main.replaceChildren(nothing(this.#t("no_agent")));
    else await this.#show(true);
    loadAll();
  }

  get #main() {
    return this.shadowRoot.querySelector("main");
  }

  get #admin() {
    return Boolean(this.#hass.user?.is_admin);
  }

  get #pages() {
    return PAGES.filter((page) => this.#admin || page.everybody);
  }

  #agent(entry) {
    return this.#agents.find((agent) => agent.entry_id === entry);
  }

  // Shows what the address names; an address that names nothing becomes that of the first page.
  async #show(again = false) {
    if (!window.location.pathname.startsWith("/home_agent")) return;
    const place = current();
    const page = this.#pages.find(({ name }) => name === place.page);
    if (!this.#agent(place.entry) || !page) {
      const entry = this.#agent(place.entry) ? place.entry : this.#agents[0].entry_id;
      navigate(address({ entry, page: this.#pages[0].name }), true);
      return;
    }
    const top = this.#going ? 0 : (this.#tops.get(address(place)) ?? 0);
    this.#going = false;
    if (!again && address(place) === address(this.#place)) return;
    const elsewhere = place.entry !== this.#place.entry || again;
    this.#place = place;
    this.#tell(page);
    if (elsewhere) this.#subscribe();
    await this.#draw(page, top);
  }

  // Draws a page. What comes late, after another page was chosen, is thrown away.
  async #draw(page, top) {
    const number = ++this.#opened;
    this.#view = null;
    let view;
    try {
      const { open } = await page.load();
      view = await open(this.#context(page));
    } catch (error) {
      view = { nodes: [nothing(this.#t.problem(error))] };
    }
    if (number !== this.#opened) return;
    this.#main.replaceChildren(...[view.nodes].flat(Infinity).filter(Boolean));
    this.#view = view;
    // Home Assistant's elements have their height when they are drawn, just before the next frame.
    requestAnimationFrame(() => {
      if (number !== this.#opened) return;
      view.shown?.();
      this.#center(); // icons have their width by now
      window.scrollTo({ top, behavior: "instant" });
    });
    this.#main.focus({ preventScroll: true });
  }

  // What pages get.
  #context(page) {
    const { entry, id } = this.#place;
    const href = (name, of) => address({ entry, page: name, id: of });
    return {
      t: this.#t,
      hass: this.#hass,
      id,
      admin: this.#admin,
      agent: this.#agent(entry),
      href,
      go: (name, of) => this.#go(href(name, of)),
      call: (type, data) => this.#call(type, data),
      subscribe: (type, listen, data) => this.#hass.connection.subscribeMessage(listen, { type: `home_agent/${type}`, entry_id: entry, ...data }),
      refresh: () => this.#refresh(),
      reopen: () => this.#draw(page, window.scrollY),
      guarded: (act) => this.#guarded(act),
      say: (text, kind) => this.#say(text, kind),
    };
  }

  async #refresh() {
    const view = this.#view;
    if (view?.refresh) await this.#guarded(() => view.refresh());
  }

  #go(path) {
    if (this.#view) this.#tops.set(address(this.#place), window.scrollY);
    this.#going = true;
    navigate(path);
  }

  // Follows links to pages of the panel; others are left to Home Assistant and the browser.
  #follow(event) {
    const link = event.composedPath().find((element) => element instanceof HTMLAnchorElement);
    const path = link?.getAttribute("href") ?? "";
    if (!path.startsWith("/") || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    this.#go(path);
  }

  async #call(type, data = {}, ofAgent = true) {
    const whose = ofAgent ? { entry_id: this.#place.entry } : {};
    for (let tries = 1; ; tries++) {
      try {
        return await this.#hass.callWS({ type: `home_agent/${type}`, ...whose, ...data });
      } catch (error) {
        if (error.code !== "not_found" || tries >= TRIES) throw error;
        await pause(WAIT);
      }
    }
  }

  async #guarded(act) {
    try {
      return await act();
    } catch (error) {
      this.#say(this.#t.problem(error), "error");
      return undefined;
    }
  }

  async #subscribe() {
    this.#unfollow();
    const { entry } = this.#place;
    const told = ({ topic }) => {
      if (topic === "confirmations") this.#count();
      if (pageOf(this.#place.page)?.topics.includes(topic)) this.#refresh();
    };
    this.#count();
    const stop = await this.#guarded(() => this.#hass.connection.subscribeMessage(told, { type: "home_agent/subscribe", entry_id: entry }));
    if (entry !== this.#place.entry || !this.isConnected) stop?.();
    else this.#unsubscribe = stop;
  }

  #unfollow() {
    this.#unsubscribe?.();
    this.#unsubscribe = null;
  }

  // Shows how many questions wait.
  async #count() {
    const found = await this.#call("confirmations").catch(() => null);
    for (const badge of this.shadowRoot.querySelectorAll(".badge"))
      badge.replaceChildren(found?.actions.length ? this.#t.number(found.actions.length) : "");
    this.#center();
  }

  // What is drawn before there are texts and data.
  #bars() {
    this.#menu = h("ha-menu-button", { props: { hass: this.#hass, narrow: this.hasAttribute("narrow") } });
    this.shadowRoot.replaceChildren(
      h("style", {}, STYLE),
      h("header", {}, h("div", { class: "bar" }, this.#menu, h("h1", {}, "Home Agent")), h("nav")),
      h("main", { tabindex: "-1" }, h("div", { class: "ghosts", "aria-busy": "true" }, Array.from({ length: GHOSTS }, () => h("div")))),
      h("div", { id: "said", role: "status", "aria-live": "polite" }),
    );
  }

  // The parts that stay: agents, pages.
  #frame() {
    const header = this.shadowRoot.querySelector("header");
    header.querySelector("select")?.remove();
    if (this.#agents.length > 1) header.querySelector(".bar").append(this.#choice());
    const nav = header.querySelector("nav");
    nav.setAttribute("aria-label", this.#t("pages"));
    delete nav.dataset.entry; // the tabs are drawn again
  }

  #choice() {
    const choose = ({ target }) => this.#go(address({ entry: target.value, page: this.#place.page }));
    return h(
      "select",
      { "aria-label": this.#t("agent"), onchange: choose },
      this.#agents.map((agent) => h("option", { value: agent.entry_id }, agent.title)),
    );
  }

  // Tells in the header where the reader is.
  #tell(page) {
    this.shadowRoot.getElementById("said").replaceChildren();
    const { entry } = this.#place;
    const nav = this.shadowRoot.querySelector("nav");
    if (nav.dataset.entry !== entry) {
      nav.dataset.entry = entry;
      nav.replaceChildren(...this.#pages.map((one) => this.#tab(one, entry)));
    }
    for (const tab of nav.children) {
      if (tab.id === `tab-${page.name}`) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    }
    this.#center();
    const agents = this.shadowRoot.querySelector("header select");
    if (agents) agents.value = entry;
  }

  // Puts the tab of the page into the middle, as far as there are tabs on both sides.
  #center() {
    const tab = this.shadowRoot.querySelector("nav [aria-current]");
    if (tab) tab.parentNode.scrollLeft = tab.offsetLeft - (tab.parentNode.clientWidth - tab.offsetWidth) / 2;
  }

  #tab(page, entry) {
    return h(
      "a",
      { id: `tab-${page.name}`, href: address({ entry, page: page.name }) },
      icon(page.icon),
      this.#t(`page_${page.name}`),
      page.counts && this.#admin !== Boolean(page.everybody) && h("span", { class: "badge" }),
    );
  }

  #say(text, kind = "") {
    const line = h("p", { class: kind }, text);
    this.shadowRoot.getElementById("said")?.replaceChildren(line);
    setTimeout(() => line.remove(), SECONDS_SAID * 1000);
  }
}

function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

if (!customElements.get("home-agent-panel")) customElements.define("home-agent-panel", HomeAgentPanel);
