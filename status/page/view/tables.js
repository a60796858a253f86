// The tables that have a policy, sorted so that those which want a person come first.

import { h } from '../dom.js';
import { ago, interval, moment, plural, rate, span, tableName, tablePath } from '../format.js';
import { icon } from '../icons.js';
import { chip, order } from './verdict.js';

const columns = [
  { id: 'table', text: 'Table', by: (a, b) => tableName(a).localeCompare(tableName(b)) },
  { id: 'policy', text: 'Policy' },
  { id: 'verdict', text: 'Verdict', by: (a, b) => order(a.verdict.word) - order(b.verdict.word) },
  { id: 'behind', text: 'Lag', by: (a, b) => (b.behind_seconds ?? -1) - (a.behind_seconds ?? -1), number: true },
  { id: 'flow', text: 'In / out', by: (a, b) => (b.inflow ?? -1) - (a.inflow ?? -1), number: true },
  { id: 'last', text: 'Last job', by: (a, b) => (b.last?.finished ?? '').localeCompare(a.last?.finished ?? '') },
  { id: 'next', text: 'Next', by: (a, b) => (a.next_run ?? '~').localeCompare(b.next_run ?? '~') },
];

/** tableList is the list, with a filter once it is long enough to want one. */
export function tableList({ status, filter, sort }) {
  const wanted = filter.toLowerCase();
  const shown = status.tables.filter(t => `${tableName(t)} ${t.verdict.word}`.toLowerCase().includes(wanted));
  const by = columns.find(c => c.id === sort)?.by ?? columns[2].by;
  shown.sort((a, b) => by(a, b) || columns[0].by(a, b));
  return h('section', { class: 'card', 'data-key': 'tables', 'aria-labelledby': 'tables-title' },
    h('div', { class: 'head' },
      h('h2', { id: 'tables-title' }, 'Tables'),
      h('span', { class: 'push' }),
      status.tables.length > 6 && h('label', { class: 'filter', 'data-key': 'filter' }, icon('search'),
        h('span', { class: 'away' }, 'Filter tables'), h('input', { type: 'search', 'data-input': 'filter', placeholder: 'Filter' }))),
    h('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': 'The tables; scrolls sideways' },
      h('table', { class: 'stack' },
        h('thead', {}, h('tr', {}, columns.map(c => heading(c, sort)))),
        h('tbody', {}, shown.map(t => line(t, status.now))))),
    shown.length === 0 && h('p', { class: 'empty' }, `No table matches “${filter}”.`));
}

function heading(column, sort) {
  const sorted = column.id === sort;
  return h('th', { scope: 'col', class: column.number ? 'number' : null, 'aria-sort': column.by ? (sorted ? 'ascending' : 'none') : null },
    column.by ? h('button', { class: 'sort', 'data-action': 'sort', 'data-sort': column.id }, column.text) : column.text);
}

function line(t, now) {
  return h('tr', { 'data-key': `table-${tableName(t)}` },
    h('th', { scope: 'row', 'data-name': 'Table' }, h('a', { href: `#/t/${tablePath(t)}` }, h('span', { class: 'schema' }, `${t.schema}.`), t.table),
      t.partition && h('small', {}, `partition ${t.partition}`)),
    h('td', { 'data-name': 'Policy' }, policyText(t), h('small', {}, `every ${t.job_interval}${t.time_zone ? `, ${t.time_zone}` : ''}`)),
    h('td', { 'data-name': 'Verdict' }, chip(t.verdict), t.verdict.detail && h('small', {}, t.verdict.detail)),
    h('td', { 'data-name': 'Lag', class: 'number', title: 'For how long the oldest row still there has been due' }, span(t.behind_seconds)),
    h('td', { 'data-name': 'In / out', class: 'number', title: 'Rows that become due, and rows that go while a job runs' }, `${rate(t.inflow)} / ${rate(t.outflow)}`),
    h('td', { 'data-name': 'Last job' }, lastText(t, now)),
    h('td', { 'data-name': 'Next', title: moment(t.next_run) }, nextText(t, now)));
}

/** policyText is the rule in short: created_at + 10 hours. */
export const policyText = t => h('span', { class: 'policy', title: t.ttl }, `${t.column} + ${interval(t.interval)}`);

function lastText(t, now) {
  if (!t.last) return '–';
  return [t.last.state === 'finished' ? plural(t.last.deleted, 'row') : t.last.state,
    h('small', { title: moment(t.last.finished) }, ago(t.last.finished, now))];
}

function nextText(t, now) {
  if (t.job) return ['KEEPING UP', 'FALLING BEHIND'].includes(t.verdict.word) ? 'running' : 'held back';
  if (!t.next_run) return '–';
  return new Date(t.next_run) <= new Date(now) ? 'due' : ago(t.next_run, now);
}
