// How the panel looks. Colours are those of Home Assistant's theme, so that it is dark where the rest is.

export const STYLE = `
:host { display: block; min-height: 100%; background: var(--primary-background-color); color: var(--primary-text-color);
  font-family: var(--ha-font-family-body, Roboto, sans-serif); font-size: 14px; line-height: 1.45; }
* { box-sizing: border-box; }
[hidden] { display: none !important; }
header { position: sticky; top: 0; z-index: 2; background: var(--app-header-background-color, var(--primary-color));
  color: var(--app-header-text-color, #fff); }
.bar { display: flex; align-items: center; gap: 8px; min-height: 56px; padding: 0 12px; }
.bar h1 { font-size: 20px; font-weight: 400; margin: 0; flex: 1; white-space: nowrap; overflow: hidden;
  text-overflow: ellipsis; }
.bar select { max-width: 45vw; }
nav { display: flex; overflow-x: auto; padding: 0 8px; }
nav button { background: none; border: 0; border-bottom: 3px solid transparent; border-radius: 0; color: inherit;
  opacity: .8; padding: 10px 12px; white-space: nowrap; text-transform: none; }
nav button[aria-selected="true"] { opacity: 1; border-bottom-color: currentColor; font-weight: 500; }
main { max-width: 1080px; margin: 0 auto; padding: 16px; }
.card { background: var(--ha-card-background, var(--card-background-color)); border-radius: 12px;
  border: 1px solid var(--ha-card-border-color, var(--divider-color)); padding: 16px; margin: 0 0 12px; }
h2 { font-size: 18px; font-weight: 500; margin: 0 0 12px; }
h3 { font-size: 15px; font-weight: 500; margin: 20px 0 8px; }
main:focus { outline: none; }
p { margin: 0 0 8px; overflow-wrap: anywhere; }
button, select, input, textarea { font: inherit; color: inherit; }
button { cursor: pointer; border: 1px solid var(--divider-color); border-radius: 18px; padding: 7px 16px;
  background: transparent; color: var(--primary-color); }
button.first { background: var(--primary-color); border-color: var(--primary-color);
  color: var(--text-primary-color, #fff); }
button.danger { color: var(--error-color); }
button:disabled { opacity: .5; cursor: default; }
button:focus-visible, select:focus-visible, input:focus-visible, textarea:focus-visible, summary:focus-visible,
.scroll:focus-visible { outline: 2px solid var(--primary-color); outline-offset: 2px; }
header button:focus-visible, header select:focus-visible { outline-color: currentColor; outline-offset: -3px; }
header select, header option { background: var(--card-background-color); color: var(--primary-text-color); }
select, input, textarea { background: var(--secondary-background-color); border: 1px solid var(--divider-color);
  border-radius: 8px; padding: 8px 10px; }
textarea, .grow input { width: 100%; }
textarea { min-height: 64px; resize: vertical; }
.field { display: flex; flex-direction: column; gap: 2px; }
.field.check { flex-direction: row-reverse; align-items: center; justify-content: flex-end; gap: 8px; }
.field span { color: var(--secondary-text-color); font-size: 12px; }
.row { display: flex; flex-wrap: wrap; gap: 8px 12px; align-items: end; margin: 0 0 12px; }
.row .grow { flex: 1 1 200px; }
.row.end { margin: 12px 0 0; }
.nothing, .quiet, caption { color: var(--secondary-text-color); }
.quiet { font-size: 12px; }
.error { color: var(--error-color); }
.mark { display: inline-block; border-radius: 10px; padding: 0 8px; margin-inline-end: 6px; font-size: 12px;
  background: var(--secondary-background-color); border: 1px solid var(--divider-color); }
.mark.good { border-color: var(--success-color); }
.mark.waits { border-color: var(--warning-color, #ffa600); }
.mark.bad { border-color: var(--error-color); color: var(--error-color); }
ul.list { list-style: none; margin: 0; padding: 0; }
ul.list > li { border-top: 1px solid var(--divider-color); padding: 12px 0; overflow-wrap: anywhere; }
ul.list > li:first-child { border-top: 0; padding-top: 0; }
button.turn { display: block; width: 100%; text-align: start; border: 0; border-radius: 8px; padding: 4px;
  color: inherit; white-space: normal; }
button.turn:hover { background: var(--secondary-background-color); }
button.turn strong { display: block; font-weight: 500; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
caption { text-align: start; padding-bottom: 4px; font-size: 12px; }
th, td { text-align: start; vertical-align: top; padding: 6px 10px 6px 0; border-top: 1px solid var(--divider-color);
  overflow-wrap: anywhere; font-weight: 400; }
thead th { border-top: 0; color: var(--secondary-text-color); font-size: 12px; white-space: nowrap; }
pre { background: var(--secondary-background-color); border-radius: 8px; padding: 8px 10px; margin: 4px 0;
  white-space: pre-wrap; overflow-wrap: anywhere; font-size: 12px; max-height: 320px; overflow-y: auto; }
summary { cursor: pointer; padding: 4px 0; }
.falls { display: grid; grid-template-columns: minmax(90px, 200px) 1fr auto; gap: 4px 10px; align-items: center; }
.falls .track { position: relative; height: 14px; background: var(--secondary-background-color); border-radius: 4px; }
.falls .stretch { position: absolute; top: 0; bottom: 0; min-width: 2px; border-radius: 4px; }
.falls .name { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.falls .time { font-variant-numeric: tabular-nums; color: var(--secondary-text-color); white-space: nowrap; }
.context { background: var(--disabled-text-color, #9e9e9e); } .waiting { background: var(--warning-color, #ffa600); }
.writing { background: var(--primary-color); } .tool { background: var(--success-color, #43a047); }
.failed { background: var(--error-color); } .asks { background: var(--warning-color, #ffa600); }
svg.chart { width: 100%; min-width: 560px; display: block; }
svg.chart text { fill: var(--secondary-text-color); font-size: 11px; }
svg.chart .base { stroke: var(--divider-color); }
svg .one { fill: var(--primary-color); } svg .two { fill: var(--warning-color, #ffa600); }
svg .three { fill: var(--error-color); }
.key { display: flex; flex-wrap: wrap; gap: 4px 14px; margin: 4px 0 8px; font-size: 12px; }
.key i { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-inline-end: 5px; }
.key .one { background: var(--primary-color); } .key .two { background: var(--warning-color, #ffa600); }
.key .three { background: var(--error-color); }
#said { position: sticky; bottom: 0; padding: 0 16px; max-width: 1080px; margin: 0 auto; }
#said p { background: var(--card-background-color); border: 1px solid var(--divider-color); border-radius: 8px;
  padding: 8px 12px; }
@media (max-width: 600px) { main { padding: 8px; } .card { padding: 12px; }
  .falls { grid-template-columns: 90px 1fr auto; } nav button { padding: 10px 8px; } }
`;
