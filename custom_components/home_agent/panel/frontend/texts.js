// Words, numbers and times as the person has chosen them in their profile. The words are Home Assistant's translations
// of this integration.

const PREFIX = "component.home_agent.selector";
const NUMBERS = { comma_decimal: "en-US", decimal_comma: "de", space_comma: "fr", quote_decimal: "de-CH" };
const ORDERS = { DMY: ["day", "month", "year"], MDY: ["month", "day", "year"], YMD: ["year", "month", "day"] };

/** Returns what gives words. The sentences of errors come later: no page begins with one. */
export async function texts(hass) {
  let localize = await hass.loadBackendTranslation("selector", "home_agent");
  hass.loadBackendTranslation("exceptions", "home_agent").then((more) => (localize = more));
  const t = words((key, values) => localize(key, values), hass.locale ?? { language: hass.language }, hass.config ?? {});
  return Object.assign(t, services(hass));
}

// What Home Assistant calls its actions; each integration has the names of its own.
function services(hass) {
  let localize = () => "";
  const loaded = new Set();
  return {
    loadServices: async (names) => {
      const missing = [...new Set(names.filter(Boolean).map((name) => name.split(".")[0]))].filter((domain) => !loaded.has(domain));
      if (!missing.length) return;
      missing.forEach((domain) => loaded.add(domain));
      localize = await hass.loadBackendTranslation("services", missing);
    },
    service: (name) => {
      const [domain, service] = name.split(".");
      return localize(`component.${domain}.services.${service}.name`) || hass.services?.[domain]?.[service]?.name || readable(service);
    },
  };
}

function words(localize, locale, config) {
  const t = (key, values) => localize(`${PREFIX}.panel.options.${key}`, values) || readable(key);
  return Object.assign(t, formats(locale, config, t), {
    /** A text as the beginning of a line. */
    line: (key) => {
      const text = t(key);
      return text.charAt(0).toLocaleUpperCase(locale.language) + text.slice(1);
    },
    /** A word of one of the integration's lists, such as the type of a memory. */
    of: (list, key) => localize(`${PREFIX}.${list}.options.${key}`) || readable(key),
    /** What went wrong, as Home Assistant says it. */
    problem: ({ translation_key: key, translation_domain: domain, translation_placeholders: values, message }) =>
      (key && localize(`component.${domain}.exceptions.${key}.message`, values)) || message || t("failed"),
  });
}

function readable(key) {
  return String(key).replaceAll("_", " ");
}

function formats(locale, config, t) {
  const { language } = locale;
  const zone = locale.time_zone === "server" ? { timeZone: config.time_zone } : {};
  const number = (options) => {
    const format = new Intl.NumberFormat(locale.number_format === "system" ? undefined : (NUMBERS[locale.number_format] ?? language), {
      ...options,
      ...(locale.number_format === "none" ? { useGrouping: false } : {}),
    });
    return (value) => format.format(value ?? 0);
  };
  const date = dates(locale, zone);
  const time = (options) => {
    const clock = { 12: { hour12: true }, 24: { hour12: false } }[locale.time_format] ?? {};
    const format = new Intl.DateTimeFormat(locale.time_format === "system" ? undefined : language, { ...zone, ...clock, ...options });
    return (value) => format.format(value);
  };
  const whole = number({ maximumFractionDigits: 0 });
  const short = number({ maximumFractionDigits: 1 });
  const clock = time({ timeStyle: "short" });
  const given = (format) => (iso) => (iso ? format(new Date(iso)) : "–");
  const midday = (iso) => new Date(`${iso}T12:00:00`);
  return {
    language,
    number: number({}),
    money: number({ style: "currency", currency: config.currency || "EUR", maximumFractionDigits: 4 }),
    score: number({ maximumFractionDigits: 2 }),
    percent: number({ style: "percent", maximumFractionDigits: 0 }),
    ms: (value) => {
      if (value === null || value === undefined) return "–";
      return value < 1000 ? `${(value < 10 ? short : whole)(value)} ms` : `${short(value / 1000)} s`;
    },
    moment: given((value) => `${date(value)}, ${clock(value)}`),
    date: given(date),
    time: given(clock),
    day: (iso) => new Intl.DateTimeFormat(language, { day: "numeric", month: "short" }).format(midday(iso)),
    weekday: (iso) => new Intl.DateTimeFormat(language, { weekday: "short" }).format(midday(iso)),
    count: (key, count) => t(key, { count: whole(count) }),
  };
}

function dates({ language, date_format: chosen }, zone) {
  const order = ORDERS[chosen];
  const format = new Intl.DateTimeFormat(chosen === "system" ? undefined : language, order ? { ...zone, day: "numeric", month: "numeric", year: "numeric" } : { ...zone, dateStyle: "medium" });
  if (!order) return (value) => format.format(value);
  return (value) => {
    const parts = format.formatToParts(value);
    const between = parts.find(({ type }) => type === "literal")?.value ?? "/";
    return order.map((wanted) => parts.find(({ type }) => type === wanted)?.value).join(between);
  };
}
