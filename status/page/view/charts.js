// The charts: where they stand, and keeping uPlot's canvases in step with the data. The morphing of the page leaves
// them alone (data-keep); they are found by name, made once, and fed with new data.

import { h } from '../dom.js';
import { brief, capital, plural, rate } from '../format.js';
import { layers, lines, makeChart } from './plot.js';

const ranges = [[1, '1 h'], [6, '6 h'], [24, '24 h'], [48, '2 days']];
const milliseconds = n => `${brief(n)} ms`;
const percent = n => `${brief(n)} %`;
/** readings puts the signals of the throttle in words: title, how values are written, what the threshold is. */
const readings = {
  latency: ['Latency of the application', milliseconds, 'threshold'],
  probe: ['Time of a small commit', milliseconds, 'threshold'],
  replica_lag: ['Replica lag', milliseconds, 'threshold'],
  checkpoint_age: ['Checkpoint age', percent, 'threshold'],
  flow_control: ['Flow control', percent, 'threshold'],
  deleted_rows_per_second: ['Rows deleted per second, by node', rate, 'limit'],
  delete_statements_per_second: ['Deletes per second, by node', rate, 'limit'],
  examined_rows_per_second: ['Rows examined per second, by node', rate, 'limit'],
  batch_time: ['Time of one batch, by node', milliseconds, 'target'],
};
const reading = name => readings[name] ?? [capital(name.replaceAll('_', ' ')), brief, 'threshold'];

const made = new Map(); // name to {figure, chart, look}

/** phases puts what workers do in words and colours, in the order of the pile. */
const phases = {
  delete: ['deleting', '--line-1'],
  scan: ['scanning', '--line-3'],
  checkpoint: ['moving on', '--line-5'],
  prepare: ['preparing', '--line-4'],
  claim: ['looking for work', '--line-6'],
  wait_retry: ['retrying', '--bad'],
  wait_throttle: ['held back', '--line-2'],
};
const phase = name => phases[name] ?? [name.replaceAll('_', ' '), '--line-idle'];

/** chartSection is the section with the charts of the installation, or of one table. */
export function chartSection({ series, hours, place }) {
  const signals = place ? [] : Object.keys(series?.signals ?? {});
  return h('section', { 'data-key': 'charts', 'aria-labelledby': 'charts-title' },
    h('div', { class: 'head' },
      h('h2', { id: 'charts-title' }, 'Over time'),
      h('span', { class: 'push' }),
      h('div', { class: 'segments', role: 'group', 'aria-label': 'Time range' }, ranges.map(([n, text]) =>
        h('button', { 'data-action': 'hours', 'data-hours': n, 'aria-pressed': String(n === hours) }, text)))),
    h('div', { class: 'charts' },
      figure('flow', 'Rows per second', flowText(series), !series?.times.length),
      !place && figure('phases', 'What the workers do', phaseText(series), !Object.keys(series?.phases ?? {}).length),
      signals.map(name => figure(`signal-${name}`, reading(name)[0], signalText(name, series.signals[name]), false))));
}

function figure(name, title, text, empty) {
  return h('figure', { class: 'card chart', 'data-key': `chart-${name}` },
    h('figcaption', {}, h('h3', {}, title), h('p', {}, text)),
    h('div', { class: 'plot', 'data-keep': true, 'data-chart': name, role: 'img', 'aria-label': `${title}. ${text}` }),
    empty && h('p', { class: 'empty over' }, 'No samples for this time yet: nodes record one a minute.'));
}

function flowText(series) {
  if (!series) return 'Loading…';
  const due = series.totals.due === null ? 'how many became due is known after the second job' : `${plural(series.totals.due, 'row')} became due`;
  const deleted = series.totals.deleted === null ? 'how many were deleted is known within a minute' : `${plural(series.totals.deleted, 'row')} deleted`;
  return capital(`${deleted}, ${due}.`);
}

function phaseText(series) {
  if (!series) return 'Loading…';
  const times = Object.entries(series.phases).map(([name, values]) => [name, sum(values)]).sort((a, b) => b[1] - a[1]);
  const all = sum(times.map(([, v]) => v));
  if (!all) return 'No worker was busy.';
  return `Workers busy at a time. Of that ${times.slice(0, 3).map(([name, v]) => `${Math.round(100 * v / all)} % ${phase(name)[0]}`).join(', ')}.`;
}

function signalText(name, { value, threshold }) {
  const [, format, word] = reading(name);
  const now = value.findLast(v => v !== null);
  const limit = threshold.findLast(v => v !== null);
  return `Highest of any node: ${format(now)} now, ${limit ? `${word} ${format(limit)}` : `no ${word} is set`}.`;
}

const sum = values => values.reduce((a, b) => a + (b ?? 0), 0);

/** drawCharts brings every chart on the page up to date. */
export function drawCharts({ series }) {
  for (const [name, entry] of made) {
    if (entry.host.isConnected) continue;
    entry.chart.destroy();
    made.delete(name);
  }
  if (!series) return;
  series = recorded(series);
  for (const host of document.querySelectorAll('[data-chart]')) draw(host, content(host.dataset.chart, series));
}

/** recorded leaves out the time before the first sample when that is most of the chart: a new installation is no flat line. */
function recorded(series) {
  const first = series.deleted.findIndex(v => v !== null);
  const from = Math.min(first, series.times.length - 30);
  if (from < series.times.length / 2) return series;
  const cut = values => values.slice(from);
  return {
    ...series, times: cut(series.times), deleted: cut(series.deleted), due: cut(series.due),
    phases: Object.fromEntries(Object.entries(series.phases).map(([k, v]) => [k, cut(v)])),
    signals: Object.fromEntries(Object.entries(series.signals).map(([k, s]) => [k, { value: cut(s.value), threshold: cut(s.threshold) }])),
  };
}

function content(name, series) {
  if (name === 'phases') {
    const known = Object.keys(phases);
    const keys = Object.keys(series.phases).sort((a, b) => known.indexOf(a) - known.indexOf(b));
    return layers(series.times, keys.map(k => ({ label: phase(k)[0], color: phase(k)[1], values: series.phases[k] })));
  }
  if (name.startsWith('signal-')) {
    const key = name.slice('signal-'.length);
    const [, format, word] = reading(key);
    const signal = series.signals[key];
    return signal && lines(series.times, [
      { label: 'highest', values: signal.value, color: '--line-1', fill: true },
      { label: word, values: signal.threshold, color: '--bad', dash: true },
    ], format);
  }
  return lines(series.times, [
    { label: 'deleted', values: series.deleted, color: '--line-1', fill: true },
    { label: 'became due', values: series.due, color: '--line-2' },
  ], rate);
}

function draw(host, next) {
  if (!next) return;
  const name = host.dataset.chart;
  let entry = made.get(name);
  const look = `${next.labels.join()}|${document.documentElement.dataset.theme ?? ''}|${matchMedia('(prefers-color-scheme: dark)').matches}`;
  if (entry && (entry.host !== host || entry.look !== look)) {
    entry.chart.destroy();
    entry = null;
  }
  if (entry) {
    entry.chart.setData(next.data);
  } else {
    made.set(name, { host, look, chart: makeChart(host, next) });
  }
}

new ResizeObserver(() => {
  for (const { host, chart } of made.values()) {
    if (host.clientWidth && host.clientWidth !== chart.width) chart.setSize({ width: host.clientWidth, height: chart.height });
  }
}).observe(document.documentElement);
