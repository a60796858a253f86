// The charts: where they stand, and keeping uPlot's canvases in step with the data. The morphing of the page leaves
// them alone (data-keep); they are found by name, made once, and fed with new data.

import { h } from '../dom.js';
import { brief, plural, rate } from '../format.js';
import { layers, lines, makeChart } from './plot.js';

const ranges = [[1, '1 h'], [6, '6 h'], [24, '24 h'], [48, '2 days']];
const made = new Map(); // name to {figure, chart, look}

/** phaseNames puts what workers do in words, busiest first in the pile. */
const phaseNames = {
  delete: 'deleting', scan: 'scanning', checkpoint: 'moving on',
  wait_throttle: 'held back', wait_retry: 'retrying', prepare: 'preparing', claim: 'looking for work',
};

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
      signals.map(name => figure(`signal-${name}`, `Signal: ${name.replaceAll('_', ' ')}`, signalText(series.signals[name]), false))));
}

function figure(name, title, text, empty) {
  return h('figure', { class: 'card chart', 'data-key': `chart-${name}` },
    h('figcaption', {}, h('h3', {}, title), h('p', {}, text)),
    h('div', { class: 'plot', 'data-keep': true, 'data-chart': name, role: 'img', 'aria-label': `${title}. ${text}` }),
    empty && h('p', { class: 'empty over' }, 'No samples in this time yet: nodes record one a minute.'));
}

function flowText(series) {
  if (!series) return 'Loading…';
  const due = series.totals.due === null ? 'how many became due is known after the second job' : `${plural(series.totals.due, 'row')} became due`;
  return `${plural(series.totals.deleted, 'row')} deleted, ${due}.`;
}

function phaseText(series) {
  if (!series) return 'Loading…';
  const times = Object.entries(series.phases).map(([name, values]) => [name, sum(values)]).sort((a, b) => b[1] - a[1]);
  const all = sum(times.map(([, v]) => v));
  if (!all) return 'No worker was busy.';
  return `Workers busy at a time. Of that ${times.slice(0, 3).map(([name, v]) => `${Math.round(100 * v / all)} % ${phaseNames[name] ?? name}`).join(', ')}.`;
}

function signalText(signal) {
  const last = signal.value.findLast(v => v !== null);
  const limit = signal.threshold.findLast(v => v !== null);
  return `Now ${brief(last)}${limit ? `, held back from ${brief(limit)}` : ', no threshold set'}.`;
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
  if (name === 'phases') return layers(series.times, series.phases, phaseNames);
  if (name.startsWith('signal-')) {
    const signal = series.signals[name.slice('signal-'.length)];
    return signal && lines(series.times, [
      { label: 'reading', values: signal.value, color: '--line-1', fill: true },
      { label: 'threshold', values: signal.threshold, color: '--bad', dash: true },
    ], brief);
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
