// What may hold deletion back.

import { h } from '../dom.js';
import { capital, moment, percent, span } from '../format.js';

/** speedList shows what each signal says, how old that is, and how long it has held deletion back. */
export function speedList({ throttle, now }) {
  return h('section', { class: 'card', 'data-key': 'speed', 'aria-labelledby': 'speed-title' },
    h('h2', { id: 'speed-title' }, 'Speed'),
    h('p', { class: throttle.share < 1 ? 'reason' : 'hint' }, throttle.share < 1
      ? `${percent(throttle.share)} of the full speed, held back by ${throttle.held_by}`
      : 'Nothing holds deletion back.'),
    h('ul', { class: 'plain' }, throttle.readings.map(r => line(r, now))));
}

function line(r, now) {
  const high = r.state === 'holds' || r.state === 'unknown' || r.value !== null && r.value > r.threshold;
  return h('li', { class: 'node', 'data-key': `reading-${r.node}-${r.signal}-${r.source}` },
    h('span', { class: `dot ${r.state === 'not seen' ? 'rest' : high ? 'slow' : 'good'}`, 'aria-hidden': 'true' }),
    h('div', {},
      h('strong', {}, capital(r.signal.replaceAll('_', ' '))),
      h('small', {}, [r.source, r.state === 'measured' ? `${digits(r.value)} of ${digits(r.threshold)} ${r.unit}` : r.state, r.detail].filter(Boolean).join(' · '),
        ' · ', h('time', { datetime: r.at, title: moment(r.at) }, `${span((new Date(now) - new Date(r.at)) / 1000)} ago`))),
    h('span', { class: 'push' }),
    r.held > 0 && h('small', { class: 'end' }, `held ${percent(r.held)} of the last hour`));
}

const digits = v => Number(v.toPrecision(3)).toLocaleString('en');
