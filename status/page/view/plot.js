// What uPlot wants to know: series, axes, colours.

import { brief } from '../format.js';

const height = 190;

/** lines describes lines over time. A gap in the data is a gap in the line. */
export const lines = (times, series, format) => ({
  labels: series.map(s => s.label), format,
  data: [times, ...series.map(s => s.values)],
  series: series.map(s => ({
    label: s.label, stroke: color(s.color), width: 2, dash: s.dash ? [6, 4] : undefined,
    fill: s.fill ? color(s.color, 0.14) : undefined, points: { show: false }, value: (_, v) => v === null ? '–' : format(v),
  })),
});

/** layers describes amounts that add up, drawn on top of each other. */
export function layers(times, amounts) {
  const sums = [];
  for (const { values } of amounts) {
    const below = sums.at(-1);
    sums.push(values.map((v, at) => v === null ? null : v + (below?.[at] ?? 0)));
  }
  // Painted from the highest down, so that each layer covers all but its own share.
  const down = amounts.map((_, i) => i).reverse();
  return {
    labels: amounts.map(a => a.label), format: brief,
    data: [times, ...down.map(i => sums[i])],
    series: down.map(i => {
      const { label, values } = amounts[i];
      const paint = color(amounts[i].color);
      return {
        label, stroke: paint, width: 1, fill: paint, points: { show: false },
        value: (_, __, ___, at) => values[at]?.toFixed(2) ?? '–',
      };
    }),
  };
}

/** makeChart draws into host. */
export function makeChart(host, { data, series, format }) {
  host.replaceChildren();
  const axis = { stroke: color('--dim'), grid: { stroke: color('--rule'), width: 1 }, ticks: { show: false }, font: '12px system-ui, sans-serif' };
  return new window.uPlot({
    width: host.clientWidth || 300, height,
    padding: [12, 8, 0, 0],
    cursor: { points: { size: 7 }, drag: { x: false, y: false } },
    legend: { live: true },
    hooks: { ready: [showLatest], setData: [showLatest], setCursor: [showLatest] },
    scales: { y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] } },
    axes: [
      { ...axis, values: '{HH}:{mm}', space: 70, size: 30 },
      { ...axis, size: 52, values: (_, ticks) => ticks.map(v => format(v)) },
    ],
    series: [{ label: 'time', value: (_, v) => v ? new Date(v * 1000).toLocaleString('sv', { dateStyle: 'short', timeStyle: 'short' }) : '–' }, ...series],
  }, data, host);
}

/** showLatest puts the latest values into the legend while nobody points at others. */
function showLatest(chart) {
  if (chart.cursor.idx !== null && chart.cursor.idx !== undefined) return;
  const last = chart.data[0].findLastIndex((_, i) => chart.data.slice(1).some(values => values[i] !== null));
  if (last >= 0) chart.setLegend({ idx: last }, false);
}

let probe;

/** color is what a custom property means in the scheme on screen: a canvas does not know the properties. */
function color(property, alpha = 1) {
  probe ??= document.body.appendChild(Object.assign(document.createElement('i'), { hidden: true }));
  probe.style.color = `var(${property})`;
  const value = getComputedStyle(probe).color;
  return alpha === 1 ? value : value.replace(/^rgb\(([^)]+)\)$/, `rgba($1, ${alpha})`);
}
