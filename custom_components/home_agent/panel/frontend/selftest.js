// The result of the self-test, and the button that runs it.

import { h } from "./dom.js";

/** Returns the last result of the self-test; with a running one its progress. */
export async function selfTest({ t }) {
  return h("p", { class: "quiet" }, t("self_test_action"));
}
