// What happened: events of policies and jobs, and rows that could not be deleted.

import { h } from '../dom.js';
import { ago, moment, plural, tablePath } from '../format.js';

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
    h('ul', { class: 'plain errors', tabindex: 0, 'aria-labelledby': 'errors-title' }, errors.map(e => h('li', {},
      h('div', {},
        !place && h('a', { href: `#/t/${tablePath(e)}` }, `${e.schema}.${e.table}`), ' ',
        h('span', { class: 'chip bad' }, `error ${e.number}`),
        e.key && h('code', {}, e.key)),
      h('p', {}, e.reason),
      h('small', {}, `${plural(e.attempts, 'attempt')}, last ${ago(e.last, status.now)}, next ${ago(e.next, status.now)}`)))),
    errors.every(e => !e.key) && h('p', { class: 'empty' }, 'Keys of rows are shown with the token, or by SHOW TTL ERRORS.'));
}
