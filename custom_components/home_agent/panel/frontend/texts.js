// Words, numbers and times in the person's language. The words are Home Assistant's translations of this integration.

const PREFIX = "component.home_agent.selector";

/** Returns what gives words; before Home Assistant's translations are there it gives their keys. */
export function texts(hass) {
  return hass ? load(hass) : words(() => "", { language: "en" });
}

async function load(hass) {
  let localize = hass.localize;
  for (const category of ["selector", "exceptions"])
    localize = await hass.loadBackendTranslation(category, "home_agent");
  return words(localize, hass.locale ?? { language: hass.language });
}

function words(localize, locale) {
  const language = locale.language;
  const clock = locale.time_format === "12" ? { hour12: true } : locale.time_format === "24" ? { hour12: false } : {};
  const date = (options) => (iso) => (iso ? new Date(iso).toLocaleString(language, { ...clock, ...options }) : "–");
  const t = (key, values) => localize(`${PREFIX}.panel.options.${key}`, values) || key;
  return Object.assign(t, {
    /** A word of one of the integration's lists, such as the type of a memory. */
    of: (list, key) => localize(`${PREFIX}.${list}.options.${key}`) || key,
    /** What went wrong, as Home Assistant says it. */
    problem: ({ translation_key: key, translation_domain: domain, translation_placeholders: values, message }) =>
      (key && localize(`component.${domain}.exceptions.${key}.message`, values)) || message || t("failed"),
    number: (value) => (value ?? 0).toLocaleString(language),
    ms: (value) =>
      value === null || value === undefined
        ? "–"
        : value < 1000
          ? `${value.toLocaleString(language, { maximumFractionDigits: value < 10 ? 1 : 0 })} ms`
          : `${(value / 1000).toLocaleString(language, { maximumFractionDigits: 1 })} s`,
    percent: (value) => value.toLocaleString(language, { style: "percent", maximumFractionDigits: 0 }),
    moment: date({ dateStyle: "medium", timeStyle: "short" }),
    time: date({ timeStyle: "medium" }),
    day: (iso) => new Date(`${iso}T12:00:00`).toLocaleDateString(language, { day: "numeric", month: "short" }),
  });
}
