// What surrounds every page: the bar at the top, the notices, the line at the bottom.

import { token } from '../api.js';
import { h, morph } from '../dom.js';
import { ago, moment, span, tableName, zone } from '../format.js';
import { icon } from '../icons.js';
import { tidings, wantsPerson } from './verdict.js';

const staleAfter = 10_000;

/** frame draws the surroundings; it runs every second, so that ages are right. */
export function frame(state) {
  document.title = title(state);
  morph(document.getElementById('top'), [bar(state), notices(state)]);
  morph(document.getElementById('foot'), foot(state.status));
}

/** title tells how many tables want a person, for those who see no more of the page than its tab. */
function title({ status, place, problem }) {
  const look = status?.tables.filter(t => wantsPerson(t.verdict.word)).length ?? 0;
  const sign = problem ? '(!) ' : look ? `(${look}) ` : '';
  return `${sign}${place ? `${tableName(place)} · ` : ''}ttlproxy`;
}

function bar(state) {
  const { status } = state;
  return h('div', { class: 'bar' },
    h('a', { class: 'brand', href: '#/' }, h('img', { src: 'icon.svg', alt: '', width: 28, height: 28 }), h('span', {}, 'ttlproxy')),
    status && h('span', { class: 'server' }, status.server),
    h('span', { class: 'push' }),
    freshness(state),
    status?.actions && (status.paused ? action('resume', 'play', 'Resume all') : action('pause', 'paused', 'Pause all')),
    status?.actions && (token()
      ? h('button', { class: 'quiet', 'data-action': 'lock', title: 'Forget the token in this tab' }, icon('unlock'), h('span', { class: 'wide' }, 'Unlocked'))
      : h('button', { class: 'quiet', 'data-action': 'unlock', title: 'Enter the status token to act' }, icon('lock'), h('span', { class: 'wide' }, 'Unlock'))),
    h('button', { class: 'quiet', 'data-action': 'theme', title: 'Dark or light', 'aria-label': 'Switch between dark and light' }, icon('sun'), icon('moon')));
}

const action = (name, picture, text) => h('button', { class: 'quiet', 'data-action': name }, icon(picture), h('span', { class: 'wide' }, text));

function freshness({ seen, problem }) {
  const age = Date.now() - seen;
  if (!seen) return h('span', { class: 'fresh' }, problem ? 'Not connected' : 'Connecting…');
  const stale = problem || age > staleAfter;
  return h('span', { class: `fresh ${stale ? 'stale' : 'good'}` }, stale ? `${span(age / 1000)} old` : 'Live');
}

function notices({ status, problem, seen }) {
  return [
    problem && h('div', { class: 'notice bad', 'data-key': 'problem' }, icon('behind'),
      h('p', {}, h('strong', {}, `${problem[0].toUpperCase()}${problem.slice(1)}. `), seen ? 'You see what it last said; trying again.' : 'Trying again.')),
    status?.held && h('div', { class: 'notice bad', 'data-key': 'held' }, icon('hand'),
      h('p', {}, h('strong', {}, 'Nothing is deleted: this server is not the one the catalog knows. '), status.held,
        ' When it is the right one, run ', h('code', {}, 'TRUST TTL SERVER'), '.')),
    status?.paused && h('div', { class: 'notice', 'data-key': 'paused' }, icon('paused'),
      h('p', {}, h('strong', {}, 'Everything is paused'), pausedBy(status.paused, status.now))),
    status?.halted && !['held', 'paused'].includes(status.halted.code) && h('div', { class: 'notice', 'data-key': 'halted' }, icon('off'),
      h('p', {}, h('strong', {}, 'Nothing is deleted: '), `${status.halted.why}.`)),
    status?.stopped && h('div', { class: 'notice', 'data-key': 'stopped' }, icon('off'),
      h('p', {}, h('strong', {}, 'Stopped: '), `${status.stopped}.`)),
  ];
}

/** pausedBy is the end of a sentence about a pause. */
export function pausedBy(pause, now) {
  const by = pause.by ? ` by ${pause.by}` : '';
  const until = pause.until ? `, until ${moment(pause.until)}` : '';
  return `${by}, ${ago(pause.since, now)}${until}${pause.reason ? `: ${pause.reason}` : ''}.`;
}

function foot(status) {
  return status && h('p', {}, `ttlproxy ${status.version} · times are in your zone, ${zone} · `,
    h('a', { href: 'api/v1/openapi.json' }, 'API'), ' · ', h('a', { href: 'metrics' }, 'metrics'));
}

let told = '';

/** announce tells a screen reader when the state of health changes, and only then. */
export function announce({ status }) {
  const text = tidings(status);
  if (text !== told) document.getElementById('live').textContent = told = text;
}
