// The card for dashboards: what waits for a yes, what is planned, and what was done today, for the person who looks.

const REFRESH = 60_000; // milliseconds; only questions are told of at once
const DAY = 86_400_000;
const LOOKS = ":host { background: none; min-height: 0; } .card { margin: 0; } section { margin-bottom: 12px; }";

class HomeAgentToday extends HTMLElement {
  #config = {};
  #hass;
  #shown = null; // what ends when the card is taken away

  // What the card editor offers: which agent, the first one unless it is chosen.
  static getConfigForm() {
    return { schema: [{ name: "config_entry", selector: { config_entry: { integration: "home_agent" } } }] };
  }

  static getStubConfig() {
    return {};
  }

  setConfig(config) {
    this.#config = config;
    this.#hide();
    this.#show();
  }

  set hass(hass) {
    this.#hass = hass;
    this.#show();
  }

  getCardSize() {
    return 4;
  }

  getGridOptions() {
    return { columns: 12, min_columns: 6 };
  }

  connectedCallback() {
    this.#show();
  }

  disconnectedCallback() {
    this.#hide();
  }

  async #show() {
    if (this.#shown || !this.#hass || !this.isConnected) return;
    const shown = (this.#shown = { ends: [] });
    const refresh = await this.#draw();
    const timer = setInterval(() => refresh(), REFRESH);
    shown.ends.push(() => clearInterval(timer));
    await refresh(shown);
    if (this.#shown !== shown) end(shown);
  }

  #hide() {
    if (this.#shown) end(this.#shown);
    this.#shown = null;
  }

  // Draws the card and returns what brings it up to date.
  async #draw() {
    const modules = ["dom", "controls", "style", "texts", "me", "confirmations", "audit", "routes"];
    const [{ h, nothing }, controls, { STYLE }, { texts }, { showPlanned }, { waitingList }, { showActions }, { address }] = await Promise.all(
      modules.map((name) => import(`./${name}.js`)),
    );
    const [t] = await Promise.all([texts(this.#hass), controls.elements()]);
    const said = h("div", { role: "status", "aria-live": "polite" });
    const say = (text, kind = "") => said.replaceChildren(h("p", { class: kind }, text));
    const ask = (type, data = {}) => this.#hass.callWS({ type: `home_agent/${type}`, ...data });
    const guarded = (act) => act().catch((error) => say(t.problem(error), "error"));
    let agent, waiting;
    const call = (type, data) => ask(type, { entry_id: agent, ...data });
    const context = { t, guarded, say, call, own: true, moment: t.time, href: (page, id) => address({ entry: agent, page, id }) };
    const section = (title, index) => {
      const list = h(index ? "ul" : "div", { class: "list" }); // the first one takes a list that is ready
      return { list, element: h("section", { hidden: true }, h("h3", {}, title), list) };
    };
    const [asked, planned, done] = [t("page_confirmations"), t("planned"), t.line("done")].map(section);
    const empty = nothing(t("nothing_today"));
    if (!this.shadowRoot) this.attachShadow({ mode: "open" });
    const card = controls.card(t("today"), asked.element, planned.element, done.element, empty, said);
    this.shadowRoot.replaceChildren(h("style", {}, STYLE, LOOKS), card);

    const update = async () => {
      const { timers, planned: commands, actions } = await call("mine", { language: t.language });
      const soon = [...timers, ...commands].filter(({ due }) => new Date(due) - Date.now() < DAY);
      soon.sort((one, other) => new Date(one.due) - new Date(other.due));
      await t.loadServices(soon.map((item) => item.service));
      showPlanned(planned.list, soon, context, refresh);
      const today = new Date().toDateString();
      const acts = actions.filter(({ at, kind }) => kind === "action" && new Date(at).toDateString() === today);
      await showActions(done.list, acts, context, refresh);
      await waiting.refresh();
      planned.element.hidden = soon.length === 0;
      done.element.hidden = acts.length === 0;
      asked.element.hidden = !waiting.element.querySelector("li");
      empty.hidden = ![asked, planned, done].every(({ element }) => element.hidden);
    };
    const begin = async (shown) => {
      const { agents } = await ask("agents");
      const chosen = this.#config.config_entry ?? agents[0]?.entry_id;
      if (!agents.some(({ entry_id: id }) => id === chosen)) throw new Error(t("no_agent"));
      agent = chosen;
      waiting = await waitingList(context);
      asked.list.replaceChildren(waiting.element);
      shown.ends.push(await this.#hass.connection.subscribeMessage(() => refresh(), { type: "home_agent/subscribe", entry_id: agent }));
    };
    const refresh = (shown = this.#shown) =>
      guarded(async () => {
        if (!waiting && shown) await begin(shown);
        if (waiting) await update();
      });
    return refresh;
  }
}

function end(shown) {
  for (const act of shown.ends.splice(0)) act();
}

if (!customElements.get("home-agent-today")) {
  customElements.define("home-agent-today", HomeAgentToday);
  (window.customCards ??= []).push({ type: "home-agent-today", name: "Home Agent", preview: true });
}
