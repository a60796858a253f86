// What uPlot wants to know: series, axes, colours.

import { brief } from '../format.js';

const height = 190;
const layerColors = ['--line-1', '--line-2', '--line-3', '--line-4', '--line-5', '--line-6'];

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
export function layers(times, amounts, names) {
  const keys = Object.keys(amounts).sort((a, b) => rank(names, a) - rank(names, b));
  const sums = [];
  keys.forEach((key, i) => {
    sums.push(amounts[key].map((v, at) => v === null ? null : v + (i ? sums[i - 1][at] ?? 0 : 0)));
  });
  // Painted from the highest down, so that each layer covers all but its own share.
  const down = keys.map((_, i) => i).reverse();
  return {
    labels: keys, format: brief,
    data: [times, ...down.map(i => sums[i])],
    series: down.map(i => {
      const paint = color(keys[i] === 'idle' ? '--line-idle' : layerColors[i % layerColors.length]);
      return {
        label: names[keys[i]] ?? keys[i], stroke: paint, width: 1, fill: paint, points: { show: false },
        value: (_, __, ___, at) => at === null || amounts[keys[i]][at] === null ? '–' : amounts[keys[i]][at].toFixed(2),
      };
    }),
  };
}

const rank = (names, key) => {
  const at = Object.keys(names).indexOf(key);
  return at < 0 ? 99 : at;
};

/** makeChart draws into host. */
export function makeChart(host, { data, series, format }) {
  host.replaceChildren();
  const axis = { stroke: color('--dim'), grid: { stroke: color('--rule'), width: 1 }, ticks: { show: false }, font: '12px system-ui, sans-serif' };
  return new window.uPlot({
    width: host.clientWidth || 300, height,
    padding: [12, 8, 0, 0],
    cursor: { points: { size: 7 }, drag: { x: false, y: false } },
    legend: { live: true },
    scales: { y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] } },
    axes: [
      { ...axis, values: '{HH}:{mm}', space: 70, size: 30 },
      { ...axis, size: 52, values: (_, ticks) => ticks.map(v => format(v)) },
    ],
    series: [{ label: 'time', value: (_, v) => v ? new Date(v * 1000).toLocaleString('sv', { dateStyle: 'short', timeStyle: 'short' }) : '–' }, ...series],
  }, data, host);
}

let probe;

/** color is what a custom property means in the scheme on screen: a canvas does not know the properties. */
function color(property, alpha = 1) {
  probe ??= document.body.appendChild(Object.assign(document.createElement('i'), { hidden: true }));
  probe.style.color = `var(${property})`;
  const value = getComputedStyle(probe).color;
  return alpha === 1 ? value : value.replace(/^rgb\(([^)]+)\)$/, `rgba($1, ${alpha})`);
}
