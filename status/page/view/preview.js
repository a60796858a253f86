// What a job would find now: EXPLAIN TTL on the page.

import { h } from '../dom.js';
import { brief, count, moment, span } from '../format.js';
import { fact } from './jobs.js';

/** preview shows the answer of EXPLAIN TTL, or that it is being asked. */
export function preview({ preview: p, previewError }) {
  return h('section', { class: 'card', 'data-key': 'preview', 'aria-labelledby': 'preview-title', 'aria-busy': String(!p && !previewError) },
    h('div', { class: 'head' },
      h('h2', { id: 'preview-title' }, 'If a job ran now'),
      h('span', { class: 'push' }),
      h('button', { 'data-action': 'preview' }, 'Look again')),
    previewError && h('p', { class: 'reason' }, previewError),
    !p && !previewError && h('p', { class: 'empty' }, 'Asking the database…'),
    p && content(p));
}

function content(p) {
  const { seen } = p;
  return [
    h('dl', { class: 'facts' },
      fact('Rows due', due(p)),
      fact('Share of the table', share(p)),
      fact('Older than', cutoff(p), 'What the column is compared with'),
      fact('Would take', span(p.estimated_seconds), p.speed_from),
      p.estimated_end && fact('Would end', p.estimated_end, 'Its windows interrupt the work'),
      fact('Plan', p.plan, p.plan_reason),
      p.partitions && fact('Partitions', `${p.partitions_that_may_be_due} of ${p.partitions} may hold rows that are due`),
      seen?.oldest_due && fact('Oldest due', date(seen.oldest_due), seen.dates_sampled ? 'Of the rows sampled' : null),
      seen?.newest_due && fact('Newest due', date(seen.newest_due), seen.dates_sampled ? 'Of the rows sampled' : null)),
    h('p', { class: 'hint' }, p.plan_reason),
    p.warnings?.map(w => h('p', { class: 'reason' }, w)),
    days(p.due_per_day),
    seen?.statements?.length > 0 && h('details', { 'data-key': 'statements' }, h('summary', {}, 'Statements that would run'),
      h('pre', { tabindex: 0 }, seen.statements.join(';\n\n'))),
    seen?.sample_keys?.length > 0 && h('details', { 'data-key': 'samples' }, h('summary', {}, 'Keys of some rows that are due'),
      h('ul', { class: 'plain keys' }, seen.sample_keys.map(key =>
        h('li', {}, h('code', {}, key.map((v, i) => `${seen.key_columns[i]} = ${v}`).join(', ')))))),
    p.rotation && rotation(p.rotation),
    !seen && h('p', { class: 'hint' }, 'Keys, dates and statements are shown with the token, or with ', h('code', {}, 'EXPLAIN TTL'), '.'),
  ];
}

/** rotation is the statement that would divide the table, or why there is none. */
const rotation = r => h('details', { 'data-key': 'rotation' }, h('summary', {}, 'Partitions that it could have'),
  r.note && h('p', { class: 'hint' }, r.note),
  r.statement && h('pre', { tabindex: 0 }, r.statement));

/** due, share and cutoff are the answers that the dialogs of the actions show too. */
export const due = p => `${p.exact ? '' : 'about '}${count(p.rows_due)}`;
export const share = p => `${p.percent_due.toFixed(1)} % of ${p.rows_exact ? '' : 'about '}${brief(p.rows)}`;
export const cutoff = p => isInstant(p.cutoff) ? date(p.cutoff) : p.cutoff.replace(/^'|'$/g, '') + (p.time_zone ? ` ${p.time_zone}` : '');

/** date writes a date of a row: an instant, as a TIMESTAMP is, in the reader's zone, any other one as it is. */
const date = text => isInstant(text) ? moment(text.replace(' ', 'T')) : text;
const isInstant = text => /[+-]\d\d:\d\d$/.test(text);

/** days shows how many rows become due on each of the next days, as bars with their numbers. */
function days(list) {
  const most = Math.max(1, ...list.map(d => d.rows));
  return h('table', { class: 'days' },
    h('caption', {}, 'Rows that become due in the next days'),
    h('tbody', {}, list.map(d => h('tr', {},
      h('th', { scope: 'row' }, `until ${moment(d.until.replace(' ', 'T')).slice(0, 16)}`),
      h('td', { class: 'number' }, `${d.exact ? '' : '~'}${count(d.rows)}`),
      h('td', { class: 'bar', 'aria-hidden': 'true' }, d.rows > 0 && h('div', { style: { '--share': `${100 * d.rows / most}%` } }))))));
}
