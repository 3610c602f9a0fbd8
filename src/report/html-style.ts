// How a report looks: calm, one column, light or dark as the reader wants it, whole on a phone and on paper.
import { COLOURS, DARK_COLOURS } from './style.ts';

function variables(colours: Readonly<Record<string, string>>): string {
  return Object.entries(colours)
    .map(([name, value]) => `--${name}:${value}`)
    .join(';');
}

export const PAGE_STYLE = `
:root{color-scheme:light dark;${variables(COLOURS)};--raised:#f6f8fa}
@media screen and (prefers-color-scheme:dark){:root{${variables(DARK_COLOURS)};--raised:#1c2229}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0 auto;padding:24px 16px 64px;max-width:1120px;background:var(--surface);color:var(--text);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.75rem;line-height:1.2;margin:0 0 .75rem;color:var(--dark)}
h2{font-size:1.25rem;line-height:1.3;margin:2.75rem 0 .75rem;padding-top:.75rem;border-top:1px solid var(--grid);color:var(--dark)}
h3{font-size:1rem;margin:1.5rem 0 .5rem}
p{margin:0 0 .75rem;max-width:75ch}
.verdict{font-size:1.0625rem}
.facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(150px,1fr));gap:8px;margin:1rem 0}
.facts>div{background:var(--raised);border-radius:6px;padding:10px 12px}
.facts dt{font-size:.8125rem;color:var(--quiet)}
.facts dd{margin:0;font-size:1.375rem;font-variant-numeric:tabular-nums;color:var(--dark);line-height:1.3}
.facts .more{font-size:.8125rem;color:var(--quiet)}
nav ul{list-style:none;margin:1rem 0 0;padding:0;display:flex;flex-wrap:wrap;gap:4px 18px}
a{color:var(--main)}
.warning{border-left:4px solid var(--against);background:var(--raised);padding:8px 12px;border-radius:0 6px 6px 0}
figure{margin:0;min-width:0;max-width:100%}
.figures{display:flex;flex-wrap:wrap;gap:20px 12px;align-items:flex-start;margin:1rem 0 1.5rem}
figcaption{font-size:.875rem;color:var(--quiet);max-width:85ch;margin:0 0 .5rem}
figcaption strong,figcaption span{display:block}figcaption strong{color:var(--text)}
.panels{display:flex;flex-wrap:wrap;gap:8px 12px;align-items:flex-start}
.panels>div{max-width:100%;overflow-x:auto}
svg{display:block;font-family:Helvetica,Arial,"DejaVu Sans",sans-serif}
.scroll{overflow-x:auto;max-width:100%;margin:.5rem 0 1.25rem}
table{border-collapse:collapse;font-size:.875rem;font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--quiet);padding-bottom:.4rem}
th,td{padding:4px 12px 4px 0;text-align:right;white-space:nowrap;border-bottom:1px solid var(--grid)}
thead th{vertical-align:bottom;font-weight:600;color:var(--quiet)}
th:first-child,td:first-child,.words{text-align:left}
tbody th{font-weight:normal}
details{margin:.75rem 0}
summary{cursor:pointer;font-weight:600;padding:4px 0}
footer{margin-top:3rem;padding-top:.75rem;border-top:1px solid var(--grid);font-size:.8125rem;color:var(--quiet)}
:focus-visible{outline:2px solid var(--main);outline-offset:2px}
@media print{body{max-width:none;padding:0;font-size:11pt}nav{display:none}.scroll,.panels>div{overflow:visible}figure,tr,.facts>div{break-inside:avoid}h2,h3,figcaption{break-after:avoid}details::details-content{content-visibility:visible;block-size:auto}}
`.trim();
