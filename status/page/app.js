// Reads the server every few seconds and shows what it said. State lives in one object; every change of it ends in draw().

import { get } from './api.js';
import { morph } from './dom.js';
import { listen } from './actions.js';
import { announce, frame } from './view/frame.js';
import { overview, waiting } from './view/overview.js';
import { tablePage } from './view/table.js';
import { errorLimit } from './view/activity.js';
import { drawCharts } from './view/charts.js';
import { tablePath } from './format.js';

const state = {
  status: null, series: null, events: [], errors: [], history: [], preview: null, previewError: '',
  hours: Number(localStorage.getItem('ttlproxy.hours')) || 6,
  filter: '', sort: 'verdict', all: new Set(), problem: '', seen: 0, place: null,
};

/** What is read, how often in milliseconds, and where it goes. */
const sources = [
  { every: 2_000, path: () => 'status', take: v => { state.status = v; } },
  { every: 10_000, path: () => `series?hours=${state.hours}${inTable('&')}`, take: v => { state.series = v; } },
  { every: 5_000, path: () => `events?limit=40${inTable('&')}`, take: v => { state.events = v.events; } },
  { every: 10_000, path: () => `errors?limit=${errorLimit}${inTable('&')}`, take: v => { state.errors = v.errors; } },
  { every: 5_000, path: () => state.place && `history?limit=40${inTable('&')}`, take: v => { state.history = v.jobs; } },
];

const inTable = before => state.place
  ? `${before}schema=${encodeURIComponent(state.place.schema)}&table=${encodeURIComponent(state.place.table)}` : '';

/** read asks one source now, and again after its time. A hidden page asks nothing. */
async function read(source) {
  clearTimeout(source.timer);
  const turn = source.turn = (source.turn ?? 0) + 1;
  const path = document.hidden ? null : source.path();
  if (path) {
    try {
      const value = await get(path);
      if (turn !== source.turn) return; // asked again meanwhile, perhaps for something else
      source.take(value);
      source.problem = '';
      if (path === 'status') state.seen = Date.now();
    } catch (error) {
      if (turn !== source.turn) return;
      source.problem = error.name === 'TypeError' || error.name === 'TimeoutError' ? 'the proxy does not answer' : error.message;
    }
    state.problem = sources.find(s => s.problem)?.problem ?? '';
    draw();
  }
  source.timer = setTimeout(read, source.every, source);
}

const readAll = () => sources.forEach(read);

/** readPreview asks what a job would find now. It costs the database a little, so it is asked once a visit and by the button. */
async function readPreview() {
  const place = state.place;
  state.preview = null;
  state.previewError = '';
  draw();
  try {
    const preview = await get(`tables/${tablePath(place)}/preview`);
    if (place === state.place) state.preview = preview;
  } catch (error) {
    if (place === state.place) state.previewError = error.message;
  }
  draw();
}

function draw() {
  frame(state);
  const main = document.getElementById('main');
  if (!state.status) {
    morph(main, waiting(state));
    return;
  }
  morph(main, state.place ? tablePage(state) : overview(state));
  drawCharts(state);
  announce(state);
}

/** placeOf reads an address: #/ is the overview, #/t/schema/table a table. */
function placeOf(hash) {
  try {
    const [, kind, schema, table] = hash.split('/').map(decodeURIComponent);
    return kind === 't' && schema && table ? { schema, table } : null;
  } catch {
    return null; // not one of ours
  }
}

function route() {
  state.place = placeOf(location.hash);
  Object.assign(state, { series: null, events: [], errors: [], history: [], preview: null, previewError: '' });
  readAll();
  if (state.place) readPreview();
  draw();
}

window.addEventListener('hashchange', () => {
  route();
  document.getElementById('main').focus({ preventScroll: true });
  window.scrollTo(0, 0);
});
document.querySelector('.skip').addEventListener('click', event => {
  event.preventDefault(); // the address says which table is shown
  document.getElementById('main').focus();
});
document.addEventListener('visibilitychange', () => document.hidden || readAll());

listen({
  state, draw, readAll, readPreview,
  setHours(hours) {
    state.hours = hours;
    localStorage.setItem('ttlproxy.hours', hours);
    readAll();
  },
});
setInterval(frame, 1_000, state);
route();
