// The charts: where they stand, and keeping uPlot's canvases in step with the data. The morphing of the page leaves
// them alone (data-keep); they are found by name, made once, and fed with new data.

import { h } from '../dom.js';
import { brief, plural, rate } from '../format.js';
import { layers, lines, makeChart } from './plot.js';

const ranges = [[1, '1 h'], [6, '6 h'], [24, '24 h'], [48, '2 days']];
const made = new Map(); // name to {figure, chart, look}

/** phaseNames puts what workers do in words, busiest first in the pile. */
const phaseNames = {
  delete: 'deleting', scan: 'scanning', query: 'scanning', commit: 'committing', checkpoint: 'checkpoint',
  wait_throttle: 'held back', wait_retry: 'retrying', plan: 'planning', idle: 'idle',
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
  const busy = Object.entries(series.phases).map(([name, values]) => [name, mean(values)]).filter(([, v]) => v > 0.005).sort((a, b) => b[1] - a[1]);
  return busy.length ? `Workers on average: ${busy.slice(0, 3).map(([name, v]) => `${v.toFixed(1)} ${phaseNames[name] ?? name}`).join(', ')}.` : 'No worker was busy.';
}

function signalText(signal) {
  const last = signal.value.findLast(v => v !== null);
  const limit = signal.threshold.findLast(v => v !== null);
  return `Now ${brief(last)}${limit ? `, held back from ${brief(limit)}` : ', no threshold set'}.`;
}

const mean = values => {
  const known = values.filter(v => v !== null);
  return known.length ? known.reduce((a, b) => a + b, 0) / known.length : 0;
};

/** drawCharts brings every chart on the page up to date. */
export function drawCharts({ series }) {
  for (const [name, entry] of made) {
    if (entry.host.isConnected) continue;
    entry.chart.destroy();
    made.delete(name);
  }
  if (!series) return;
  for (const host of document.querySelectorAll('[data-chart]')) draw(host, content(host.dataset.chart, series));
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
