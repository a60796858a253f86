// Jobs that have not ended: how far, how fast, until when, and why not.

import { h } from '../dom.js';
import { ago, brief, count, moment, rate, span, tableName, tablePath } from '../format.js';
import { icon } from '../icons.js';

/** jobCards shows open jobs; nothing when there are none. */
export function jobCards(status, jobs) {
  if (!jobs.length) return null;
  return h('section', { class: 'jobs', 'data-key': 'jobs', 'aria-labelledby': 'jobs-title' },
    h('h2', { id: 'jobs-title' }, 'Jobs'),
    h('ul', { class: 'cards' }, jobs.map(j => card(status, j))));
}

function card(status, job) {
  const running = job.state === 'running';
  return h('li', { class: `card job ${running ? '' : 'still'}`, 'data-key': `job-${job.id}` },
    h('div', { class: 'head' },
      h('h3', {}, h('a', { href: `#/t/${tablePath(job)}` }, tableName(job))),
      h('span', { class: 'push' }),
      h('span', { class: `chip ${running ? 'good' : job.state === 'needs approval' ? 'ask' : 'rest'}` },
        icon(running ? 'play' : job.state === 'needs approval' ? 'hand' : 'paused'), job.state)),
    job.reason && h('p', { class: 'reason' }, job.reason),
    bar(job, running),
    h('dl', { class: 'facts' },
      fact('Deleted', [count(job.rows.deleted), job.rows.due !== null && h('small', {}, `of about ${brief(job.rows.due)} due`)]),
      fact('Rate', rate(job.rows_per_second)),
      fact('Ends', job.expected_end ? `in ${span((new Date(job.expected_end) - new Date(status.now)) / 1000)}` : '–'),
      fact('Examined', brief(job.rows.examined)),
      fact('Tasks', `${job.tasks_finished} of ${job.tasks}`),
      fact('Started', ago(job.started, status.now), `${moment(job.started)} by ${job.started_by}`),
      job.rows.refreshed > 0 && fact('Refreshed', count(job.rows.refreshed), 'Expired when found, not any more when they were to be deleted'),
      job.rows.failed > 0 && fact('Failed', count(job.rows.failed), 'See the errors below'),
      job.plan && fact('Plan', job.plan, job.plan_reason)),
    status.actions && h('div', { class: 'row' },
      job.state === 'needs approval' && act('approve', job, 'Approve…', 'main'),
      act('cancel', job, 'Cancel job…')));
}

const act = (name, job, text, look) => h('button', {
  class: look ?? null, 'data-action': name, 'data-schema': job.schema, 'data-table': job.table,
  'aria-label': `${text.replace('…', '')} ${job.schema}.${job.table}`,
}, text);

function bar(job, running) {
  const percent = job.percent ?? 0;
  const text = job.percent === null ? 'not known yet' : `${percent.toFixed(1)} %`;
  return h('div', { class: 'progress' },
    h('div', {
      class: `meter ${running ? 'moving' : ''} ${job.percent === null ? 'unknown' : ''}`, role: 'progressbar',
      'aria-label': `Progress of ${tableName(job)}`, 'aria-valuemin': 0, 'aria-valuemax': 100,
      'aria-valuenow': job.percent === null ? null : percent.toFixed(1), 'aria-valuetext': text,
      style: { '--done': `${percent}%` },
    }, h('div', {})),
    h('span', { class: 'percent' }, text));
}

/** fact is a name and a value in a list of facts. */
export const fact = (name, value, hint) => h('div', { title: hint ?? null }, h('dt', {}, name), h('dd', {}, value));

