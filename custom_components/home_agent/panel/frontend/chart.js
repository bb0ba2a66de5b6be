// Bars, one for each day, the parts of a day on top of each other.

import { h, s } from "./dom.js";

const WIDE = 900;
const NARROW = 600; // pixels, as in the style
const LEAST = 330;
const DAY = 18; // pixels of a day on a phone, where older days are reached by scrolling
const HEIGHT = 160;
const LEFT = 56;
const TOP = 12;
const BOTTOM = 20;
const LABEL = 60; // width of a day's name

/** Returns a chart; `series` are class, name and what gives the figure of a day; `shown` writes a figure. */
export function chart(title, days, series, t, shown = t.number) {
  const totals = days.map((day) => series.reduce((sum, [, , of]) => sum + of(day), 0));
  const most = Math.max(...totals) || 1;
  const narrow = window.innerWidth <= NARROW;
  const width = narrow ? Math.max(LEAST, LEFT + DAY * days.length) : WIDE;
  const step = (width - LEFT) / days.length;
  const scale = (HEIGHT - TOP - BOTTOM) / most;
  const every = Math.ceil((days.length * LABEL) / (width - LEFT));
  return [
    h("p", { class: "key" }, series.map(([kind, name]) => h("span", {}, h("i", { class: kind }), name))),
    h("div", { class: "scroll", tabindex: "0" }, s(
      "svg",
      { class: "chart", viewBox: `0 0 ${width} ${HEIGHT}`, style: { "min-width": `${narrow ? width : 0}px` }, role: "img", "aria-label": `${title}: ${summary(days, totals, t, shown)}` },
      s("line", { class: "base", x1: LEFT, x2: width, y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM }),
      s("text", { x: LEFT - 6, y: TOP + 6, "text-anchor": "end" }, shown(most)),
      s("text", { x: LEFT - 6, y: HEIGHT - BOTTOM, "text-anchor": "end" }, "0"),
      days.map((day, index) => [
        bar(day, index, series, { step, scale, shown }, t),
        (days.length - 1 - index) % every === 0 &&
          s("text", { x: LEFT + step * (index + 0.5), y: HEIGHT - 5, "text-anchor": index === days.length - 1 ? "end" : "middle" }, t.day(day.day)),
      ]),
    )),
  ];
}

function bar(day, index, series, { step, scale, shown }, t) {
  let top = HEIGHT - BOTTOM;
  const words = series.map(([, name, of]) => `${name}: ${shown(of(day))}`).join(", ");
  return s(
    "g",
    {},
    s("title", {}, `${t.day(day.day)}: ${words}`),
    series.map(([kind, , of]) => {
      const height = of(day) * scale;
      top -= height;
      return height > 0 && s("rect", { class: kind, x: LEFT + step * index + step * 0.15, y: top, width: step * 0.7, height });
    }),
  );
}

function summary(days, totals, t, shown) {
  const first = days[0];
  const last = days[days.length - 1];
  const all = totals.reduce((sum, total) => sum + total, 0);
  return `${t.day(first.day)} – ${t.day(last.day)}, ${shown(all)}`;
}
