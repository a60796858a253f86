// What happened: events of policies and jobs, and rows that could not be deleted.

import { h } from '../dom.js';
import { ago, moment, plural, tablePath } from '../format.js';

/** errorLimit is how many rows are asked for. */
export const errorLimit = 200;

/** activity is the list of recent events and, when there are any, of errors. */
export function activity(state) {
  return h('div', { class: 'pile', 'data-key': 'activity' }, errorList(state), eventList(state));
}

function eventList({ events, status, place }) {
  return h('section', { class: 'card', 'data-key': 'events', 'aria-labelledby': 'events-title' },
    h('h2', { id: 'events-title' }, 'Events'),
    events.length === 0 ? h('p', { class: 'empty' }, 'Nothing has happened yet.') :
      h('ol', { class: 'plain events', tabindex: 0, 'aria-labelledby': 'events-title' }, events.map(e => h('li', { 'data-key': `event-${e.id}` },
        h('time', { datetime: e.at, title: moment(e.at) }, ago(e.at, status.now)),
        h('div', {},
          h('strong', {}, e.kind), ' ',
          e.table && !place && h('a', { href: `#/t/${tablePath(e)}` }, `${e.schema}.${e.table}`),
          e.text && h('p', {}, e.text),
          e.actor && h('small', {}, `by ${e.actor}`))))));
}

function errorList({ errors, status, place }) {
  if (!errors.length) return null;
  return h('section', { class: 'card', 'data-key': 'errors', 'aria-labelledby': 'errors-title' },
    h('h2', { id: 'errors-title' }, 'Rows that could not be deleted'),
    h('ul', { class: 'plain errors', tabindex: 0, 'aria-labelledby': 'errors-title' }, causes(errors).map(({ id, rows }) => cause(id, rows, status.now, place))),
    errors.length === errorLimit && h('p', { class: 'hint' }, `The latest ${errorLimit} rows. There are more.`),
    errors.every(e => !e.key) && h('p', { class: 'hint' }, 'Keys of rows, and what the server says of them, are shown with the token, or with ', h('code', {}, 'SHOW TTL ERRORS'), '.'));
}

/** causes puts rows together that have the same table, number and reason. */
function causes(errors) {
  const all = new Map();
  for (const e of errors) {
    const id = [e.schema, e.table, e.number, e.reason].join('\n');
    if (!all.has(id)) all.set(id, []);
    all.get(id).push(e);
  }
  return [...all].map(([id, rows]) => ({ id, rows }));
}

function cause(id, rows, now, place) {
  const [e] = rows;
  const at = (pick, field) => ago(rows.map(r => r[field]).toSorted().at(pick), now);
  return h('li', { 'data-key': `cause-${id}` },
    h('div', { class: 'head' },
      !place && h('a', { href: `#/t/${tablePath(e)}` }, `${e.schema}.${e.table}`),
      h('span', { class: 'chip bad' }, `error ${e.number}`),
      h('strong', {}, plural(rows.length, 'row'))),
    e.reason && h('p', {}, e.reason),
    h('small', {}, `last tried ${at(-1, 'last')}, again ${at(0, 'next')}`),
    e.key && h('details', { 'data-key': `keys-${id}` }, h('summary', {}, 'Keys'),
      h('ul', { class: 'plain keys' }, rows.map(r => h('li', {}, h('code', {}, r.key), ` ${plural(r.attempts, 'attempt')}`)))));
}
