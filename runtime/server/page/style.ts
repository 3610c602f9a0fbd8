// Light and dark, from 390 px on. Colours of box edges hold against any picture: a dark line under a light one.
export const PAGE_STYLE = `
:root {
  color-scheme: light dark;
  --back: #f4f5f7; --card: #fff; --ink: #16202c; --soft: #52606d; --line: #d5dbe1; --mark: #0b62c4; --bad: #b42318; --good: #146c43;
}
@media (prefers-color-scheme: dark) {
  :root { --back: #10151b; --card: #1a222c; --ink: #e6ebf0; --soft: #a3b1bf; --line: #33404d; --mark: #7db8ff; --bad: #ff9b8f; --good: #7fd6a4; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--ink); font: 16px/1.45 system-ui, sans-serif; }
body > header { display: flex; justify-content: space-between; align-items: baseline; gap: 1rem; padding: .75rem 1rem; border-bottom: 1px solid var(--line); background: var(--card); }
h1 { font-size: 1.1rem; margin: 0; } h2 { font-size: 1rem; margin: 0 0 .5rem; } h3 { font-size: 1rem; margin: 0; overflow-wrap: anywhere; }
p { margin: 0; }
main { display: grid; gap: 1rem; padding: 1rem; grid-template-columns: minmax(0, 1fr); }
@media (min-width: 1000px) { main { grid-template-columns: minmax(0, 3fr) minmax(16rem, 1fr); } }
#cameras { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(min(100%, 22rem), 1fr)); }
.camera { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; overflow: hidden; }
.camera > header { display: flex; justify-content: space-between; gap: .75rem; padding: .5rem .75rem; align-items: baseline; flex-wrap: wrap; }
.facts { color: var(--soft); font-size: .875rem; font-variant-numeric: tabular-nums; }
.facts .state { font-weight: 600; } .facts .state.live { color: var(--good); } .facts .state.back-off, .facts .state.failed { color: var(--bad); }
.picture { position: relative; background: #000; aspect-ratio: 16 / 9; }
.picture img { display: block; width: 100%; height: 100%; }
.picture img:not([src]) { visibility: hidden; }
.picture svg { position: absolute; inset: 0; width: 100%; height: 100%; overflow: hidden; }
svg rect { fill: none; vector-effect: non-scaling-stroke; }
svg .edge-under { stroke: #000; stroke-width: 4; stroke-opacity: .55; } svg .edge { stroke: #ffd84d; stroke-width: 2; }
svg .sigma { stroke: #ffd84d; stroke-width: 1; stroke-dasharray: 4 3; }
svg text { font-family: system-ui, sans-serif; fill: #fff; paint-order: stroke; stroke: #000; stroke-width: .25em; }
.reason { padding: .5rem .75rem; color: var(--bad); font-size: .875rem; overflow-wrap: anywhere; }
details { border-top: 1px solid var(--line); padding: .5rem .75rem; } summary { cursor: pointer; min-height: 1.5rem; }
.tracks { list-style: none; margin: .5rem 0 0; padding: 0; display: grid; gap: .5rem; }
.tracks li { display: grid; grid-template-columns: 8.5rem 1fr; gap: .5rem; align-items: center; font-size: .8125rem; font-variant-numeric: tabular-nums; }
.tracks svg { width: 100%; height: 2.5rem; border-bottom: 1px solid var(--line); }
.tracks .band { fill: var(--mark); opacity: .25; } .tracks .mean { fill: none; stroke: var(--mark); stroke-width: 2; vector-effect: non-scaling-stroke; }
form { display: grid; gap: .5rem; margin-top: .5rem; } .classes { display: grid; gap: .5rem; grid-template-columns: repeat(auto-fill, minmax(8rem, 1fr)); }
label { display: grid; gap: .125rem; font-size: .875rem; color: var(--soft); }
input, button { font: inherit; color: inherit; background: var(--back); border: 1px solid var(--soft); border-radius: .25rem; padding: .375rem .5rem; min-height: 2.5rem; width: 100%; }
button { background: var(--mark); border-color: var(--mark); color: var(--card); font-weight: 600; cursor: pointer; }
:focus-visible { outline: 3px solid var(--mark); outline-offset: 2px; }
#events { list-style: none; margin: 0; padding: 0; background: var(--card); border: 1px solid var(--line); border-radius: .5rem; }
#events li { display: grid; grid-template-columns: auto minmax(0, 1fr); overflow-wrap: anywhere; gap: .25rem .75rem; padding: .5rem .75rem; border-bottom: 1px solid var(--line); font-size: .875rem; align-items: center; }
#events li:last-child { border-bottom: 0; } #events time { color: var(--soft); font-variant-numeric: tabular-nums; }
#events img { grid-column: 1 / -1; width: 100%; max-width: 20rem; border-radius: .25rem; }
#events .review { color: var(--bad); font-weight: 600; }
#connection { color: var(--soft); font-size: .875rem; } #connection.lost { color: var(--bad); font-weight: 600; }
`;
