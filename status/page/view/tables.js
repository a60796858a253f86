// The tables that have a policy, sorted so that those which want a person come first.

import { h } from '../dom.js';
import { ago, brief, interval, moment, plural, span, tableName, tablePath } from '../format.js';
import { icon } from '../icons.js';
import { stateOf } from './jobs.js';
import { first, more } from './more.js';
import { chip, order } from './verdict.js';

const down = value => (a, b) => (value(b) ?? -1) - (value(a) ?? -1);

const columns = [
  { id: 'table', text: 'Table', by: (a, b) => tableName(a).localeCompare(tableName(b)) },
  { id: 'policy', text: 'Policy' },
  { id: 'verdict', text: 'Verdict', by: (a, b) => order(a.verdict.word) - order(b.verdict.word) },
  { id: 'behind', text: 'Lag', by: down(t => t.behind_seconds), down: true, number: true },
  { id: 'inflow', text: 'Due/s', by: down(t => t.inflow), down: true, number: true },
  { id: 'outflow', text: 'Deleted/s', by: down(t => t.outflow), down: true, number: true },
  { id: 'last', text: 'Last job', by: (a, b) => (b.last?.finished ?? '').localeCompare(a.last?.finished ?? ''), down: true },
  { id: 'next', text: 'Next job', by: (a, b) => (a.next_run ?? '~').localeCompare(b.next_run ?? '~') },
];

/** tableList is the list, with a filter once it is long enough to want one. */
export function tableList({ status, filter, sort, all }) {
  const wanted = filter.toLowerCase();
  const found = status.tables.filter(t => `${tableName(t)} ${t.verdict.word}`.toLowerCase().includes(wanted));
  const by = columns.find(c => c.id === sort)?.by ?? columns[2].by;
  found.sort((a, b) => by(a, b) || columns[0].by(a, b));
  return h('section', { class: 'card', 'data-key': 'tables', 'aria-labelledby': 'tables-title' },
    h('div', { class: 'head' },
      h('h2', { id: 'tables-title' }, 'Tables'),
      h('span', { class: 'push' }),
      status.tables.length > 5 && h('label', { class: 'filter', 'data-key': 'filter' }, icon('search'),
        h('span', { class: 'away' }, 'Filter by name or verdict'), h('input', { type: 'search', 'data-input': 'filter', placeholder: 'Name or verdict' }))),
    h('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': 'The tables; scrolls sideways' },
      h('table', { class: 'stack tables' },
        h('thead', {}, h('tr', {}, columns.map(c => heading(c, sort)))),
        h('tbody', {}, first(found, 'tables', all).map(t => line(t, status))))),
    more(found, 'tables', all),
    found.length === 0 && h('p', { class: 'empty' }, `No table matches “${filter}”.`));
}

function heading(column, sort) {
  const direction = column.id !== sort ? 'none' : column.down ? 'descending' : 'ascending';
  return h('th', { scope: 'col', class: column.number ? 'number' : null, 'aria-sort': column.by ? direction : null },
    column.by ? h('button', { class: 'sort', 'data-action': 'sort', 'data-sort': column.id }, column.text) : column.text);
}

function line(t, status) {
  return h('tr', { 'data-key': `table-${tableName(t)}` },
    h('th', { scope: 'row', 'data-name': 'Table' }, h('a', { href: `#/t/${tablePath(t)}` }, h('span', { class: 'schema' }, `${t.schema}.`), t.table),
      t.partition && h('small', {}, `partition ${t.partition}`)),
    h('td', { 'data-name': 'Policy' }, policyText(t), h('small', {}, [t.schedule, t.options.TTL_WINDOW && `window ${t.options.TTL_WINDOW}`, t.time_zone].filter(Boolean).join(', '))),
    h('td', { 'data-name': 'Verdict' }, chip(t.verdict), t.verdict.detail && h('small', {}, t.verdict.detail)),
    number('Lag', span(t.behind_seconds), 'How long the oldest row still there has been due'),
    number('Due/s', brief(t.inflow), 'Rows per second that become due, as the last jobs found'),
    number('Deleted/s', brief(t.outflow), 'Rows per second that are deleted while a job runs'),
    h('td', { 'data-name': 'Last job' }, lastText(t, status.now)),
    h('td', { 'data-name': 'Next job', title: moment(t.next_run) }, nextText(t, status)));
}

const number = (name, value, hint) => h('td', { class: 'number', 'data-name': name, title: hint }, value);

/** policyText is the rule in short: created_at + 10 hours. */
const policyText = t => h('span', { class: 'policy', title: t.ttl }, `${t.column} + ${interval(t.interval)}`);

function lastText(t, now) {
  if (!t.last) return '–';
  return [t.last.state === 'finished' ? plural(t.last.deleted, 'row') : t.last.state,
    h('small', { title: moment(t.last.finished) }, ago(t.last.finished, now))];
}

function nextText(t, { jobs, now }) {
  const job = jobs.find(j => j.id === t.job);
  if (job) return [stateOf(job), h('small', {}, job.percent === null ? 'how far is not known yet' : `${job.percent.toFixed(1)} % done`)];
  if (!t.next_run) return '–';
  return new Date(t.next_run) <= new Date(now) ? 'due' : ago(t.next_run, now);
}
