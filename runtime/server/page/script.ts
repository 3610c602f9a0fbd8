// What the page does: it listens, and draws boxes, scores over time, states and events. Text goes in as text alone.
export const PAGE_SCRIPT = `
const SVG = 'http://www.w3.org/2000/svg';
const MINUTE = 60_000;
const cards = new Map();
const histories = new Map();
const connection = document.querySelector('#connection');

const svg = (name, attributes, text) => {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
};
const percent = (value) => Math.round(100 * value) + ' %';
const sureness = ({ score, scoreStd }) => score.toFixed(2) + (scoreStd === undefined ? '' : ' ±' + scoreStd.toFixed(2));

function cardOf(name) {
  const known = cards.get(name);
  if (known) return known;
  const card = document.querySelector('#camera').content.firstElementChild.cloneNode(true);
  card.dataset.camera = name;
  card.querySelector('h3').textContent = name;
  card.querySelector('img').alt = 'Picture of ' + name;
  card.querySelector('svg').setAttribute('aria-label', 'Boxes of ' + name);
  card.querySelector('form').addEventListener('submit', (event) => save(event, name, card));
  document.querySelector('#cameras').append(card);
  cards.set(name, card);
  return card;
}

function showCamera(camera, mayChange) {
  const card = cardOf(camera.name);
  const { seen, state } = camera;
  const facts = [state, camera.light, seen && seen.boxes.length + (seen.boxes.length === 1 ? ' box' : ' boxes'),
    camera.frames + ' frames', camera.dropped > 0 && camera.dropped + ' dropped',
    camera.skipped > 0 && camera.skipped + ' without motion',
    camera.frameAgeMs !== undefined && camera.frameAgeMs + ' ms old'].filter(Boolean);
  const line = card.querySelector('.facts');
  const word = document.createElement('span');
  word.className = 'state ' + state;
  word.textContent = state;
  line.replaceChildren(word, ' · ' + facts.slice(1).join(' · '));
  const reason = card.querySelector('.reason');
  reason.hidden = !camera.reason;
  reason.textContent = camera.reason ?? '';
  const picture = card.querySelector('img');
  if (state === 'live' && !picture.getAttribute('src')) picture.src = '/cameras/' + encodeURIComponent(camera.name) + '.mjpeg';
  if (state !== 'live' && picture.getAttribute('src')) picture.removeAttribute('src');
  drawBoxes(card, seen);
  remember(camera.name, seen);
  drawTracks(card, camera.name);
  showThresholds(card, camera, mayChange);
}

function drawBoxes(card, seen) {
  const layer = card.querySelector('.picture svg');
  if (!seen) return layer.replaceChildren();
  const { width, height } = seen.size;
  card.querySelector('.picture').style.aspectRatio = width + ' / ' + height;
  layer.setAttribute('viewBox', '0 0 ' + width + ' ' + height);
  const size = Math.max(12, width / 32);
  layer.replaceChildren(...seen.boxes.map((found) => {
    const { box, boxSigma } = found;
    const group = svg('g', { class: 'box', 'data-track': found.trackId ?? '', role: 'img' });
    const label = found.className + ' ' + sureness(found);
    group.append(svg('title', {}, label));
    const rect = (kind, dx1, dy1, dx2, dy2) => svg('rect', { class: kind, x: box.x1 - dx1, y: box.y1 - dy1,
      width: Math.max(0, box.x2 - box.x1 + dx1 + dx2), height: Math.max(0, box.y2 - box.y1 + dy1 + dy2) });
    group.append(rect('edge-under', 0, 0, 0, 0), rect('edge', 0, 0, 0, 0));
    if (boxSigma) group.append(rect('sigma', boxSigma.x1, boxSigma.y1, boxSigma.x2, boxSigma.y2));
    group.append(svg('text', { x: box.x1 + 2, y: Math.max(size, box.y1 - 4), 'font-size': size }, label));
    return group;
  }));
}

function remember(name, seen) {
  if (!seen) return;
  const tracks = histories.get(name) ?? new Map();
  histories.set(name, tracks);
  for (const { trackId, className, score, scoreStd = 0 } of seen.boxes) {
    if (trackId === undefined) continue;
    const track = tracks.get(trackId) ?? { className, points: [] };
    tracks.set(trackId, track);
    if (track.points.at(-1)?.at !== seen.atMs) track.points.push({ at: seen.atMs, score, std: scoreStd });
    if (track.points.length > 400) track.points.shift();
  }
  for (const [id, { points }] of tracks) if (points.at(-1).at < seen.atMs - MINUTE) tracks.delete(id);
}

function drawTracks(card, name) {
  const list = card.querySelector('.tracks');
  if (!card.querySelector('.lines').open) return;
  const tracks = [...(histories.get(name) ?? [])].filter(([, { points }]) => points.length > 1);
  const newest = tracks.sort(([, a], [, b]) => b.points.at(-1).at - a.points.at(-1).at).slice(0, 8);
  list.replaceChildren(...newest.map(([id, { className, points }]) => {
    const item = document.createElement('li');
    const last = points.at(-1);
    const label = document.createElement('span');
    label.textContent = className + ' ' + id + ': ' + last.score.toFixed(2) + ' ±' + last.std.toFixed(2);
    const end = last.at;
    const x = ({ at }) => 100 * (1 - (end - at) / MINUTE);
    const y = (value) => 40 * (1 - Math.min(1, Math.max(0, value)));
    const shown = points.filter(({ at }) => at >= end - MINUTE);
    const path = (value) => shown.map((point) => x(point).toFixed(2) + ',' + y(value(point)).toFixed(2));
    const chart = svg('svg', { viewBox: '0 0 100 40', preserveAspectRatio: 'none', role: 'img', 'aria-label': label.textContent + ' over the last minute' });
    chart.append(svg('polygon', { class: 'band', points: [...path(({ score, std }) => score + std), ...path(({ score, std }) => score - std).reverse()].join(' ') }),
      svg('polyline', { class: 'mean', points: path(({ score }) => score).join(' ') }));
    item.append(label, chart);
    return item;
  }));
}

function showThresholds(card, { thresholds }, mayChange) {
  const part = card.querySelector('.thresholds');
  part.hidden = !mayChange;
  const holder = card.querySelector('.classes');
  if (!mayChange || holder.contains(document.activeElement)) return;
  const values = Object.entries({ '*': thresholds.base, ...thresholds.classes });
  const now = JSON.stringify(values);
  if (holder.dataset.values === now) return;
  holder.dataset.values = now;
  holder.replaceChildren(...values.map(([name, value]) => {
    const label = document.createElement('label');
    const input = document.createElement('input');
    Object.assign(input, { type: 'number', min: '0', max: '1', step: '0.01', name, value: String(value), required: true });
    label.append(name === '*' ? 'other classes' : name, input);
    return label;
  }));
}

async function save(event, name, card) {
  event.preventDefault();
  const answer = card.querySelector('output');
  const inputs = [...card.querySelectorAll('.classes input')];
  const token = card.querySelector('[name=token]').value;
  answer.textContent = 'saving';
  try {
    const response = await fetch('/api/cameras/' + encodeURIComponent(name) + '/thresholds', {
      method: 'PUT',
      headers: { 'content-type': 'application/json', ...(token && { authorization: 'Bearer ' + token }) },
      body: JSON.stringify(Object.fromEntries(inputs.map((input) => [input.name, Number(input.value)]))),
    });
    answer.textContent = response.ok ? 'saved' : (await response.json()).error;
  } catch (fault) {
    answer.textContent = String(fault);
  }
}

const TEXTS = {
  object: ({ type, after }) => after.className + ' ' + { new: 'came', update: 'is there', end: 'went' }[type] + ', median score ' +
    after.medianScore.toFixed(2) + (after.medianStd === undefined ? '' : ' ±' + after.medianStd.toFixed(2)),
  zone: ({ type, zone, object }) => object.className + ' ' + type + ' ' + zone,
  line: ({ line, direction, object }) => object.className + ' crossed ' + line + ', ' + direction,
  camera: ({ state, reason }) => state + (reason ? ': ' + reason : ''),
  light: ({ state, before }) => 'light: ' + (before ? before + ' to ' : '') + state,
  drift: ({ state, measure, light, change, w1, w1Expected, tracks }) => (measure === 'std' ? 'uncertainty' : 'scores') +
    (light ? ' by ' + light : '') + (state === 'begins' ? ' drift: ' : ' are back: ') + (change < 0 ? '' : '+') + change.toFixed(2) +
    ' on average, W1 ' + w1.toFixed(3) + ' (by chance ' + w1Expected.toFixed(3) + ') over ' + tracks + ' tracks',
  clip: ({ startMs, endMs }) => 'clip of ' + Math.round((endMs - startMs) / 1000) + ' s',
  notice: ({ message }) => message,
};

function showEvent(event) {
  if (!TEXTS[event.kind] || (event.kind === 'object' && event.type === 'update')) return;
  const list = document.querySelector('#events');
  const item = document.createElement('li');
  const time = document.createElement('time');
  time.dateTime = new Date(event.atMs).toISOString();
  time.textContent = new Date(event.atMs).toLocaleTimeString();
  const words = document.createElement('span');
  words.textContent = event.camera + ': ' + TEXTS[event.kind](event);
  item.append(time, words);
  const { review = [], snapshot } = event.after ?? event.object ?? {};
  if (review.length > 0) {
    const mark = document.createElement('span');
    mark.className = 'review';
    mark.textContent = ' look at it (' + review.join(', ') + ')';
    words.append(mark);
  }
  if (snapshot && event.type === 'end') {
    const picture = document.createElement('img');
    Object.assign(picture, { src: '/snapshots/' + snapshot, alt: 'Best picture of this ' + event.after.className, loading: 'lazy' });
    item.append(picture);
  }
  if (event.kind === 'clip') {
    const link = document.createElement('a');
    Object.assign(link, { href: '/clips/' + event.file, textContent: 'watch' });
    link.setAttribute('aria-label', 'Watch the ' + words.textContent);
    item.append(link);
  }
  list.prepend(item);
  while (list.childElementCount > 100) list.lastElementChild.remove();
}

fetch('/api/events').then((response) => response.json()).then((events) => events.forEach(showEvent));
const live = new EventSource('/api/live');
live.addEventListener('state', ({ data }) => {
  connection.textContent = 'live';
  connection.className = '';
  const { cameras, mayChange } = JSON.parse(data);
  for (const camera of cameras) showCamera(camera, mayChange);
});
live.addEventListener('event', ({ data }) => showEvent(JSON.parse(data)));
live.addEventListener('error', () => {
  connection.textContent = 'connection lost, trying again';
  connection.className = 'lost';
});
`;
