// What a job would find now: EXPLAIN TTL on the page.

import { h } from '../dom.js';
import { brief, count, plural, span } from '../format.js';
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
  return [
    h('dl', { class: 'facts' },
      fact('Rows due', `${p.due.exact ? '' : 'about '}${count(p.due.rows)}`),
      fact('Share of the table', p.due.share === null ? '–' : `${(100 * p.due.share).toFixed(1)} % of about ${brief(p.due.table_rows)}`),
      fact('Expired before', p.cutoff),
      fact('Would take', span(p.seconds)),
      fact('Plan', p.plan.name, p.plan.reason),
      p.oldest && fact('Oldest due', p.oldest),
      p.newest && fact('Newest due', p.newest)),
    h('p', { class: 'hint' }, p.plan.reason),
    p.warnings.map(w => h('p', { class: 'reason' }, w)),
    p.days.length > 0 && days(p.days),
    h('details', { 'data-key': 'statements' }, h('summary', {}, plural(p.statements.length, 'statement')),
      h('pre', { tabindex: 0 }, p.statements.join(';\n\n'))),
    p.samples?.length > 0 && h('details', { 'data-key': 'samples' }, h('summary', {}, 'Keys of some rows that are due'),
      h('ul', { class: 'plain keys' }, p.samples.map(k => h('li', {}, h('code', {}, k))))),
  ];
}

/** days shows how many rows become due on each of the next days, as bars with their numbers. */
function days(list) {
  const most = Math.max(1, ...list.map(d => d.rows));
  return h('table', { class: 'days' },
    h('caption', {}, 'Rows that become due'),
    h('tbody', {}, list.map(d => h('tr', {},
      h('th', { scope: 'row' }, d.day),
      h('td', { class: 'number' }, `${d.exact ? '' : '~'}${count(d.rows)}`),
      h('td', { class: 'bar', 'aria-hidden': 'true' }, h('div', { style: { '--share': `${100 * d.rows / most}%` } }))))));
}
