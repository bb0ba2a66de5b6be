// The verdict of the self-test about the model, and the button that runs it.

import { button, folded, icon } from "./controls.js";
import { dotted, h, mark } from "./dom.js";

const LOOKS = {
  good: ["check-decagram-outline", "good"],
  usable: ["check-circle-outline", "waits"],
  poor: ["alert-circle-outline", "bad"],
  slow: ["timer-alert-outline", "bad"],
};

/** Returns the last report of the self-test, and a button that runs it and shows how far it is. */
export function selfTest(context) {
  const { t, call, subscribe, guarded, say } = context;
  const shown = h("div");
  const progress = h("progress", { "aria-label": t("self_test") });
  const told = h("p", { class: "quiet", role: "status" });
  const other = h("p", {}, mark(t("self_test_other_model"), "waits"));
  let last = null;
  let model = "";
  const compare = () => (other.hidden = !last || last.model === model);
  const show = (report) => {
    last = report;
    shown.replaceChildren(...(report ? verdict(report, t) : [h("p", {}, t("self_test_none"))]));
    compare();
  };
  const run = () =>
    guarded(async () => {
      progress.hidden = told.hidden = false;
      progress.removeAttribute("value");
      told.replaceChildren();
      try {
        show(await watched(subscribe, (done, total) => {
          Object.assign(progress, { max: total, value: done });
          told.replaceChildren(t("self_test_progress", { done: t.number(done), total: t.number(total) }));
        }));
        say(t("self_test_done"));
      } finally {
        progress.hidden = told.hidden = true;
      }
    });
  progress.hidden = told.hidden = true;
  return {
    elements: [other, shown, progress, told, h("div", { class: "row end" }, button(t("self_test_run"), run))],
    load: async () => show((await call("self_test/result")).result),
    about: (name) => {
      model = name;
      compare();
    },
  };
}

// Runs the test; the subscription ends with it.
async function watched(subscribe, step) {
  let stop = () => {};
  try {
    return await new Promise((resolve, reject) => {
      const listen = (event) => {
        if (event.type === "progress") step(event.done, event.total);
        else if (event.type === "result") resolve(event.result);
        else reject(event);
      };
      subscribe("self_test/run", listen).then((end) => (stop = end), reject);
    });
  } finally {
    stop();
  }
}

function verdict(report, t) {
  const [picture, kind] = LOOKS[report.verdict];
  const scores = Object.entries(report.capabilities);
  const failed = report.cases.filter((each) => !each.passed);
  return [
    h("p", { class: "asks" }, icon(picture, { kind }), h("strong", {}, t(`verdict_${report.verdict}`))),
    h(
      "p",
      { class: "quiet" },
      dotted(
        report.model,
        t("self_test_passed", { passed: t.number(report.passed), total: t.number(report.total) }),
        t("self_test_seconds", { seconds: t.score(report.median_seconds) }),
        t.moment(report.at),
      ),
    ),
    h("ul", { class: "advice" }, advice(report, t).map((line) => h("li", {}, line))),
    h(
      "div",
      { class: "marks" },
      scores.map(([name, { passed, total }]) =>
        mark(`${t(`capability_${name}`)} ${t.number(passed)}/${t.number(total)}`, report.weak.includes(name) ? "bad" : passed === total ? "good" : ""),
      ),
    ),
    failed.length > 0 &&
      folded(t("self_test_failed"), t.count("self_test_cases", failed.length), [
        h("ul", { class: "list" }, failed.map((each) => h("li", {}, h("strong", {}, `“${each.said}”`), h("p", { class: "quiet" }, each.problem), each.answer && h("p", {}, each.answer), each.calls.map((called) => h("pre", {}, called))))),
      ]),
  ].filter(Boolean);
}

// The report is in the language of Home Assistant, and the reader may have another one.
function advice(report, t) {
  if (report.verdict === "slow") return [];
  const weak = report.verdict === "poor" ? [] : report.weak.map((name) => t.of("self_test", `self_test_weak_${name}`));
  return [...(report.verdict === "good" ? [] : [t.of("spoken", `self_test_${report.verdict}`)]), ...weak];
}
