// The page of one table: its policy, what would be deleted now, and every job it had.

import { h } from '../dom.js';
import { ago, count, interval, moment, rate, span, tableName } from '../format.js';
import { icon } from '../icons.js';
import { activity } from './activity.js';
import { chartSection } from './charts.js';
import { pausedBy } from './frame.js';
import { fact, jobCards } from './jobs.js';
import { preview } from './preview.js';
import { chip } from './verdict.js';

/** tablePage is the page of the table the address names. */
export function tablePage(state) {
  const { status, place } = state;
  const here = t => t.schema === place.schema && t.table === place.table;
  const parts = status.tables.filter(here);
  const back = h('a', { class: 'back', href: '#/' }, icon('back'), 'All tables');
  if (!parts.length) {
    return [back, h('section', { class: 'card' }, h('h1', {}, tableName(place)), h('p', {}, 'This table has no policy.')), history(state), activity(state)];
  }
  return [
    back,
    title(status, parts),
    jobCards(state, status.jobs.filter(here)),
    preview(state),
    chartSection(state),
    history(state),
    activity(state),
  ];
}

function title(status, parts) {
  const [t] = parts;
  return h('section', { class: 'card', 'data-key': 'policy' },
    h('div', { class: 'head' }, h('h1', {}, h('span', { class: 'schema' }, `${t.schema}.`), t.table), h('span', { class: 'push' }), parts.length === 1 && chip(t.verdict)),
    t.verdict.detail && parts.length === 1 && !t.paused && h('p', { class: 'reason' }, t.verdict.detail),
    t.paused && h('p', { class: 'reason' }, `Paused${pausedBy(t.paused, status.now)}`),
    h('p', { class: 'sentence' }, 'A row expires ', h('strong', {}, interval(t.interval)), ' after its ', h('code', {}, t.column), '. Jobs start: ', h('strong', {}, t.schedule), '.'),
    h('dl', { class: 'facts' },
      fact('State', t.state + (t.enabled ? '' : ', TTL_ENABLE=OFF'), t.reason),
      ...Object.entries(t.options).map(([name, value]) => fact(name, value)),
      fact('Time zone', t.time_zone ? `${t.time_zone} (from the ${t.time_zone_from})` : 'none needed'),
      fact('Lag', span(t.behind_seconds)),
      fact('Watermark', t.processed_watermark ? ago(t.processed_watermark, status.now) : '–', moment(t.processed_watermark)),
      t.undeletable_rows > 0 && fact('Undeletable rows', String(t.undeletable_rows), t.oldest_undeletable && `the oldest expired ${ago(t.oldest_undeletable, status.now)}`),
      fact('Next job', t.job ? 'running' : t.next_run ? ago(t.next_run, status.now) : '–', moment(t.next_run)),
      fact('Plan', t.plan || '–', t.plan_reason),
      fact('Declared by', t.owner || '–'),
      fact('Changed', ago(t.changed, status.now), moment(t.changed)),
      fact('Version', `${t.version}${t.approved_by ? `, approved by ${t.approved_by}` : ''}`)),
    parts.length > 1 && h('ul', { class: 'plain parts' }, parts.map(p => h('li', { 'data-key': `part-${p.partition}` }, h('strong', {}, p.partition), chip(p.verdict),
      h('small', {}, p.verdict.detail || `lag ${span(p.behind_seconds)}`)))),
    status.actions && buttons(t));
}

function buttons(t) {
  const button = (action, text, look) => h('button', { 'data-action': action, 'data-schema': t.schema, 'data-table': t.table, class: look ?? null }, text);
  return h('div', { class: 'row' },
    t.verdict.word === 'NEEDS APPROVAL' && button('approve', 'Approve…', 'main'),
    !t.job && button('run', 'Run now…'),
    t.paused ? button('resume', 'Resume') : button('pause', 'Pause…'));
}

function history({ history: jobs, status }) {
  return h('section', { class: 'card', 'data-key': 'history', 'aria-labelledby': 'history-title' },
    h('h2', { id: 'history-title' }, 'History'),
    jobs.length === 0 ? h('p', { class: 'empty' }, 'No job has ended yet.') :
      h('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': 'The jobs; scrolls sideways' },
        h('table', { class: 'stack' },
          h('thead', {}, h('tr', {}, ['Ended', 'Result', 'Deleted', 'Became due', 'Refreshed', 'Failed', 'Took', 'Rate', 'Plan'].map((text, i) =>
            h('th', { scope: 'col', class: i > 1 && i < 8 ? 'number' : null }, text)))),
          h('tbody', {}, jobs.map(j => ended(j, status.now))))));
}

function ended(j, now) {
  const idle = j.rows.deleted + j.rows.refreshed + j.rows.failed + j.rows.skipped === 0;
  const seconds = (new Date(j.finished) - new Date(idle ? j.started : j.first_started)) / 1000; // those with rows follow close
  const cell = (name, value, hint) => h('td', { class: 'number', 'data-name': name, title: hint ?? null }, value);
  return h('tr', { 'data-key': `ended-${j.id}` },
    h('th', { scope: 'row', 'data-name': 'Ended', title: moment(j.finished) }, ago(j.finished, now), j.partition && h('small', {}, j.partition)),
    h('td', { 'data-name': 'Result' }, h('span', { class: `chip ${j.state === 'finished' ? 'good' : j.state === 'cancelled' ? 'rest' : 'bad'}` }, j.state), j.reason && h('small', {}, j.reason), j.note && h('small', {}, j.note),
      j.runs > 1 && h('small', { title: moment(j.first_started) }, `${idle ? `${count(j.runs)} jobs found nothing` : `stands for ${count(j.runs)} jobs`}; the first ${ago(j.first_started, now)}`)),
    cell('Deleted', count(j.rows.deleted)),
    cell('Became due', count(j.inflow_rows), 'Rows whose expiry fell between this cutoff and the one before'),
    cell('Refreshed', count(j.rows.refreshed)),
    cell('Failed', count(j.rows.failed)),
    cell('Took', span(seconds)),
    cell('Rate', rate(j.rows_per_second)),
    h('td', { 'data-name': 'Plan', title: j.plan_reason }, j.plan || '–'));
}
