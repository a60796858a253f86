// Jobs that have not ended: how far, how fast, until when, and why not.

import { h } from '../dom.js';
import { ago, brief, count, moment, rate, span, tableName, tablePath } from '../format.js';
import { icon } from '../icons.js';
import { first, more } from './more.js';

const looks = {
  'needs approval': ['ask', 'hand'],
  running: ['good', 'play'],
  paused: ['rest', 'paused'],
  'waiting for window': ['rest', 'wait'],
};

/** stateOf is a job's state as it matters to people: one whose policy is paused does not run. */
export const stateOf = job => job.state === 'running' && job.verdict.word === 'PAUSED' ? 'paused' : job.state;

const rank = job => Object.keys(looks).indexOf(stateOf(job));

/** jobCards shows open jobs; nothing when there are none. Those that want a person come first, then those at work. */
export function jobCards({ status, all }, jobs) {
  if (!jobs.length) return null;
  const sorted = jobs.toSorted((a, b) => rank(a) - rank(b) || a.id - b.id);
  return h('section', { class: 'jobs', 'data-key': 'jobs', 'aria-labelledby': 'jobs-title' },
    h('h2', { id: 'jobs-title' }, 'Jobs'),
    h('ul', { class: 'cards' }, first(sorted, 'jobs', all).map(j => card(status, j))),
    more(sorted, 'jobs', all));
}

function card(status, job) {
  const { now } = status;
  const state = stateOf(job);
  const behind = state === 'running' && job.verdict.word === 'FALLING BEHIND';
  const reason = job.reason || (behind ? '' : job.verdict.detail);
  const [look, sign] = looks[state] ?? ['rest', 'wait'];
  const { rows } = job;
  return h('li', { class: 'card job', 'data-key': `job-${job.id}` },
    h('div', { class: 'head' },
      h('h3', {}, h('a', { href: `#/t/${tablePath(job)}` }, tableName(job))),
      h('span', { class: 'push' }),
      h('span', { class: `chip ${look}` }, icon(sign), state)),
    reason && h('p', { class: 'reason' }, reason),
    job.verdict.word === 'FALLING BEHIND' && h('p', { class: 'reason' }, `falling behind: ${job.verdict.detail}`),
    meter(job),
    h('dl', { class: 'facts' },
      fact('Deleted', [count(rows.deleted), rows.due !== null && h('small', {}, `of about ${brief(rows.due)}`)]),
      fact('Rate', rate(job.rows_per_second)),
      fact('Ends', job.expected_end ? `in ${span((new Date(job.expected_end) - new Date(now)) / 1000)}` : '–', moment(job.expected_end)),
      rows.refreshed > 0 && fact('Refreshed', count(rows.refreshed), 'Expired when found, no longer when they were to be deleted'),
      rows.skipped > 0 && fact('Left', count(rows.skipped), 'For the next job: they were locked'),
      rows.failed > 0 && fact('Failed', count(rows.failed), 'See the rows that could not be deleted')),
    h('p', { class: 'hint' }, [
      h('span', { title: moment(job.started) }, `started ${ago(job.started, now)}`), ` by ${job.started_by}`,
      ` · ${brief(rows.examined)} examined`,
      ` · ${job.tasks_finished} of ${job.tasks} tasks`,
      job.plan && [' · plan ', h('span', { title: job.plan_reason }, job.plan)],
    ]),
    status.actions && h('div', { class: 'row' },
      job.state === 'needs approval' && act('approve', job, 'Approve…', 'main'),
      act('cancel', job, 'Cancel job…')));
}

const act = (name, job, text, look) => h('button', {
  class: look ?? null, 'data-action': name, 'data-schema': job.schema, 'data-table': job.table,
  'aria-label': `${text.replace('…', '')} ${job.schema}.${job.table}`,
}, text);

/** meter shows how far a job has come. */
function meter(job) {
  const percent = job.percent ?? 0;
  const known = job.percent !== null;
  const running = stateOf(job) === 'running';
  const text = known ? `${percent.toFixed(1)} %` : 'not known yet';
  return h('div', { class: `progress ${running ? '' : 'still'}` },
    h('div', {
      class: `meter ${running ? 'moving' : ''} ${known ? '' : 'unknown'}`, style: { '--done': `${percent}%` }, role: 'progressbar',
      'aria-label': `Progress of ${tableName(job)}`, 'aria-valuemin': 0, 'aria-valuemax': 100,
      'aria-valuenow': known ? percent.toFixed(1) : null, 'aria-valuetext': text,
    }, h('div', {})),
    h('span', { class: 'percent' }, text));
}

/** fact is a name and a value in a list of facts. */
export const fact = (name, value, hint) => h('div', { title: hint ?? null }, h('dt', {}, name), h('dd', {}, value));
