// How the panel looks. Colours are those of Home Assistant's theme, so that it is dark where the rest is.

// Links and errors are mixed with the colour of the text: Home Assistant's own blue and red are too pale to read on white.
const FRAME = `
:host { --read-link: color-mix(in srgb, var(--primary-color) 65%, var(--primary-text-color));
  --read-error: color-mix(in srgb, var(--error-color) 75%, var(--primary-text-color));
  --chosen: var(--ha-color-fill-primary-normal-resting, var(--secondary-background-color));
  display: block; min-height: 100%; background: var(--primary-background-color); color: var(--primary-text-color);
  font-family: var(--ha-font-family-body, Roboto, sans-serif); font-size: 14px; line-height: 1.45; }
* { box-sizing: border-box; }
[hidden] { display: none !important; }
header { position: sticky; top: 0; z-index: 2; background: var(--app-header-background-color, var(--primary-color));
  color: var(--app-header-text-color, #fff); border-bottom: 1px solid var(--divider-color); }
.bar { display: flex; align-items: center; gap: 8px; min-height: 56px; padding: 0 12px; }
.bar h1 { font-size: 20px; font-weight: 400; margin: 0; flex: 1; white-space: nowrap; overflow: hidden;
  text-overflow: ellipsis; }
.bar select { max-width: 45vw; background: var(--card-background-color); color: var(--primary-text-color); }
nav { display: flex; overflow-x: auto; padding: 0 8px; scrollbar-width: none; min-height: 44px; }
nav a { display: flex; align-items: center; gap: 6px; color: inherit; text-decoration: none; padding: 10px 12px;
  white-space: nowrap; opacity: .8; border-bottom: 3px solid transparent; --mdc-icon-size: 20px; }
nav a[aria-current] { opacity: 1; font-weight: 500; border-bottom-color: currentColor; }
nav a ha-icon { width: 20px; height: 20px; }
.badge:not(:empty) { background: var(--warning-color, #ffa600); color: #000; border-radius: 10px; padding: 0 7px;
  font-size: 12px; font-weight: 500; }
main { max-width: 1080px; margin: 0 auto; padding: 16px; min-height: 60vh; }
main:focus { outline: none; }
#said { position: sticky; bottom: 0; padding: 0 16px; max-width: 1080px; margin: 0 auto; z-index: 2; }
#said p { background: var(--card-background-color); border: 1px solid var(--divider-color); border-radius: 8px;
  padding: 8px 12px; box-shadow: 0 2px 6px rgba(0, 0, 0, .2); }
`;

const TEXT = `
h2 { font-size: 18px; font-weight: 500; margin: 0 0 12px; }
h3 { font-size: 13px; font-weight: 500; margin: 16px 0 4px; color: var(--secondary-text-color); }
p { margin: 0 0 8px; overflow-wrap: anywhere; }
p:last-child { margin-bottom: 0; }
a { color: var(--read-link); }
ha-icon { width: 24px; height: 24px; flex: none; color: var(--secondary-text-color); }
ha-icon.good { color: var(--success-color, #43a047); } ha-icon.bad { color: var(--error-color); }
ha-icon.waits { color: var(--warning-color, #ffa600); }
header ha-icon { color: inherit; }
.nothing, .quiet, caption { color: var(--secondary-text-color); }
.quiet { font-size: 12px; }
.error { color: var(--read-error); }
.mark { display: inline-block; border-radius: 10px; padding: 0 8px; margin: 0 6px 2px 0; font-size: 12px;
  background: var(--secondary-background-color); border: 1px solid var(--divider-color); color: var(--primary-text-color); }
.mark.good { border-color: var(--success-color, #43a047); } .mark.waits { border-color: var(--warning-color, #ffa600); }
.mark.bad { border-color: var(--error-color); }
pre { background: var(--secondary-background-color); border-radius: 8px; padding: 8px 10px; margin: 4px 0;
  white-space: pre-wrap; overflow-wrap: anywhere; font-size: 12px; max-height: 320px; overflow-y: auto; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
caption { text-align: start; padding-bottom: 4px; font-size: 12px; }
th, td { text-align: start; vertical-align: top; padding: 6px 12px 6px 0; border-top: 1px solid var(--divider-color);
  font-weight: 400; }
.number { text-align: end; font-variant-numeric: tabular-nums; }
thead th { border-top: 0; color: var(--secondary-text-color); font-size: 12px; }
`;

const CONTROLS = `
button, select, input, textarea { font: inherit; color: inherit; }
button { cursor: pointer; border: 1px solid var(--divider-color); border-radius: 18px; padding: 7px 16px;
  background: transparent; color: var(--read-link); }
button.first { background: var(--primary-color); border-color: var(--primary-color); color: var(--text-primary-color, #fff); }
button.danger { color: var(--read-error); }
button[aria-busy] { opacity: .5; cursor: default; }
:is(button, a, select, input, textarea, summary, .scroll, pre):focus-visible { outline: 2px solid var(--primary-color);
  outline-offset: 2px; }
header :focus-visible { outline-color: currentColor; outline-offset: -3px; }
select, input, textarea { background: var(--card-background-color); border: 1px solid var(--divider-color);
  border-radius: 8px; padding: 8px 10px; }
textarea, .plain input:not([type=checkbox]), .plain select { width: 100%; }
textarea { min-height: 64px; resize: vertical; }
.field { display: flex; flex-direction: column; gap: 2px; margin-bottom: 8px; }
.field.check { flex-direction: row; align-items: center; gap: 8px; }
.field span { color: var(--secondary-text-color); font-size: 12px; }
ha-form { display: block; min-height: 56px; }
.link { display: inline-flex; align-items: center; gap: 6px; padding: 6px 0; text-decoration: none; font-weight: 500;
  --mdc-icon-size: 20px; }
.link ha-icon { width: 20px; height: 20px; color: inherit; }
.links { display: flex; flex-wrap: wrap; gap: 4px 24px; }
.search { display: flex; align-items: center; gap: 8px; background: var(--card-background-color); padding: 0 12px;
  border: 1px solid var(--divider-color); border-radius: 20px; }
.search input { flex: 1; min-width: 0; border: 0; background: none; outline: none; padding: 9px 0; }
.search:focus-within { outline: 2px solid var(--primary-color); }
.filters { display: flex; flex-wrap: wrap; gap: 8px 16px; align-items: center; margin: 0 0 12px; }
.filters .search { flex: 1 1 240px; } .filters > :empty { display: none; }
:is(.chip, .mark, dt)::first-letter { text-transform: uppercase; }
.chips { display: flex; flex-wrap: wrap; gap: 6px; }
.chip { padding: 5px 12px; border-radius: 16px; color: var(--primary-text-color); background: var(--card-background-color); }
.chip[aria-pressed="true"] { background: var(--chosen); border-color: var(--primary-color); font-weight: 500; }
summary { cursor: pointer; padding: 6px 0; }
.folded { display: block; margin: 8px 0; --expansion-panel-content-padding: 0 12px; --expansion-panel-summary-padding: 0 12px; }
.inside { padding: 4px 0 12px; }
.row { display: flex; flex-wrap: wrap; gap: 8px 12px; align-items: center; margin: 0 0 12px; }
.grow { flex: 1 1 0; min-width: 0; }
.row.end { margin: 12px 0 0; justify-content: flex-end; }
`;

const PAGES = `
.card { display: block; background: var(--ha-card-background, var(--card-background-color)); padding: 16px; margin: 0 0 12px;
  border: 1px solid var(--ha-card-border-color, var(--divider-color)); border-radius: var(--ha-card-border-radius, 12px); }
.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(180px, 1fr)); gap: 12px; margin: 0 0 12px; }
.card .tiles { margin: 0; }
.ghosts { display: grid; grid-template-columns: repeat(auto-fill, minmax(180px, 1fr)); gap: 12px; }
.ghosts div { height: 76px; border-radius: 12px; background: var(--secondary-background-color); }
.tile { display: grid; grid-template-columns: auto 1fr; column-gap: 12px; align-items: center; color: inherit;
  text-decoration: none; background: var(--ha-card-background, var(--card-background-color)); padding: 12px;
  border: 1px solid var(--divider-color); border-radius: 12px; min-width: 0; }
.tile ha-icon { grid-row: 1 / span 3; } .tile span { grid-column: 2; overflow-wrap: anywhere; }
.tile .value { font-size: 16px; font-weight: 500; }
.tile.waits { border-color: var(--warning-color, #ffa600); } .tile.bad { border-color: var(--error-color); }
a.tile:hover, a.exchange:hover { background: var(--secondary-background-color); }
ul.list { list-style: none; margin: 0; padding: 0; }
ul.list > li { border-top: 1px solid var(--divider-color); padding: 12px 0; overflow-wrap: anywhere; }
ul.list > li:first-child { border-top: 0; padding-top: 0; } ul.list > li:last-child { padding-bottom: 0; }
.entry { display: flex; flex-wrap: wrap; gap: 4px 12px; } .entry .row { margin: 0; }
.asks { display: flex; gap: 8px; align-items: center; font-size: 16px; }
.exchange { display: flex; flex-direction: column; gap: 6px; padding: 8px; margin: 0 -8px; border-radius: 12px;
  color: inherit; text-decoration: none; }
.bubble { display: block; max-width: min(85%, 640px); padding: 8px 14px; border-radius: 16px; overflow-wrap: anywhere;
  font: inherit; margin: 0; white-space: pre-line; }
.bubble.person { align-self: flex-end; background: var(--chosen); border-end-end-radius: 4px; }
.bubble.agent { align-self: flex-start; background: var(--secondary-background-color); border-end-start-radius: 4px; }
.bubble.agent.error { color: var(--read-error); }
.answer { display: flex; gap: 8px; align-items: center; } .answer .bubble { max-width: min(85%, 640px); }
.exchange > .quiet { display: block; padding-inline-start: 32px; }
.marks:empty, .advice:empty { display: none; } .advice { margin: 0 0 8px; padding-inline-start: 20px; }
progress { width: 100%; accent-color: var(--primary-color); }
.figures { display: flex; flex-wrap: wrap; gap: 8px 24px; margin: 0 0 12px; }
.figures dt { color: var(--secondary-text-color); font-size: 12px; } .figures dd { margin: 0; font-variant-numeric: tabular-nums; }
.falls { display: grid; grid-template-columns: minmax(90px, 200px) 1fr auto; gap: 4px 10px; align-items: center; }
.falls .track { position: relative; height: 14px; background: var(--secondary-background-color); border-radius: 4px; }
.falls .stretch { position: absolute; top: 0; bottom: 0; min-width: 2px; border-radius: 4px; }
.falls .name { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.falls .time { font-variant-numeric: tabular-nums; color: var(--secondary-text-color); white-space: nowrap; text-align: end; }
.stretch.context, i.context { background: var(--disabled-text-color, #9e9e9e); }
.stretch.waiting, i.waiting { background: var(--info-color, #039be5); opacity: .5; }
.stretch.queued, i.queued { background: var(--warning-color, #ffa600); opacity: .5; }
.stretch.writing, i.writing { background: var(--primary-color); }
.stretch.tool, i.tool { background: var(--success-color, #43a047); }
.stretch.failed { background: var(--error-color); } .stretch.asks { background: var(--warning-color, #ffa600); }
svg.chart { width: 100%; display: block; }
svg.chart text { fill: var(--secondary-text-color); font-size: 11px; }
svg.chart .base { stroke: var(--divider-color); }
svg .one { fill: var(--primary-color); } svg .two { fill: var(--warning-color, #ffa600); } svg .three { fill: var(--error-color); }
.key { display: flex; flex-wrap: wrap; gap: 4px 14px; margin: 4px 0 8px; font-size: 12px; }
.key span { display: inline-block; } .key i { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-inline-end: 5px; }
.key .one { background: var(--primary-color); } .key .two { background: var(--warning-color, #ffa600); }
.key .three { background: var(--error-color); }
`;

const PHONE = `
@media (max-width: 600px) {
  main { padding: 8px; } .card { padding: 12px; } nav a { padding: 10px 8px; }
  .tiles { grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 8px; }
  .tile { padding: 10px; column-gap: 8px; } .tile .value { font-size: 15px; }
  .falls { grid-template-columns: 90px 1fr auto; }
  .bubble, .answer .bubble { max-width: 92%; }
  .many, .many :is(caption, tbody, tr, th) { display: block; } .many thead { display: none; }
  .many tr { border: 1px solid var(--divider-color); border-radius: 12px; padding: 8px 12px; margin-bottom: 8px; }
  .many th { border: 0; font-weight: 500; } .many td { display: flex; justify-content: space-between; border: 0; padding: 2px 0; }
  .many td::before { content: attr(data-name); color: var(--secondary-text-color); }
  .entry .row { flex-basis: 100%; justify-content: flex-end; }
}
`;

export const STYLE = FRAME + TEXT + CONTROLS + PAGES + PHONE;
