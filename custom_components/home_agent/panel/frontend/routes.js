// Addresses of the pages: /home_agent/<entry>/<page>/<id>.

const BASE = "/home_agent";

/** Returns the agent, the page and what of it an address names; missing parts are empty. */
export function parse(path) {
  const [entry = "", page = "", id = ""] = path.split("/").filter(Boolean).map(decodeURIComponent);
  return { entry, page, id };
}

/** Returns the address of a page. */
export function address({ entry, page, id }) {
  return [BASE, entry, page, id].filter((part, index) => !index || part).map((part, index) => (index ? encodeURIComponent(part) : part)).join("/");
}

/** Returns what an address stands for in Home Assistant's router now. */
export function current() {
  return parse(window.location.pathname.slice(BASE.length));
}

/** Goes to an address of Home Assistant without loading the page again. */
export function navigate(path, replace = false) {
  if (replace) window.history.replaceState(window.history.state, "", path);
  else window.history.pushState(null, "", path);
  window.dispatchEvent(new CustomEvent("location-changed", { detail: { replace } }));
}
