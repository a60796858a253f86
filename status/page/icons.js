import { h } from './dom.js';

// Line icons on a grid of 16, drawn for this page.
const paths = {
  ok: 'M3 8.5l3.2 3.2L13 5',
  behind: 'M8 2.5l6 11H2zM8 6.5v3.2M8 11.6v.2',
  paused: 'M5.5 3.5v9M10.5 3.5v9',
  stop: 'M4 4l8 8M12 4l-8 8',
  hand: 'M8 2a6 6 0 100 12A6 6 0 008 2zM8 5v3.5M8 10.8v.2',
  wait: 'M8 2a6 6 0 100 12A6 6 0 008 2zM8 4.8V8l2.2 1.6',
  off: 'M3 8h10',
  play: 'M5 3.5v9l7-4.5z',
  lock: 'M4 7.5h8v6H4zM5.5 7.5V5.3a2.5 2.5 0 015 0v2.2',
  unlock: 'M4 7.5h8v6H4zM5.5 7.5V5.3a2.5 2.5 0 014.8-.9',
  sun: 'M8 5.2a2.8 2.8 0 100 5.6 2.8 2.8 0 000-5.6zM8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M3.4 12.6l.7-.7M11.9 4.1l.7-.7',
  moon: 'M13 9.5A5.5 5.5 0 016.5 3 5.5 5.5 0 1013 9.5z',
  back: 'M9.5 3.5L5 8l4.5 4.5',
  search: 'M7 3a4 4 0 100 8 4 4 0 000-8zM10 10l3.5 3.5',
};

/** icon is decoration: what it means stands beside it in words. */
export function icon(name) {
  return h('svg', { class: 'icon', viewBox: '0 0 16 16', 'aria-hidden': 'true' }, h('path', { d: paths[name] }));
}
