// Long lists show their beginning until somebody asks for the rest.

import { h } from '../dom.js';
import { count } from '../format.js';

const beginnings = { tables: 20, jobs: 6 };

/** first is the part of a list that is shown; all names the lists that are shown whole. */
export const first = (list, name, all) => all.has(name) ? list : list.slice(0, beginnings[name]);

/** more is the button for the rest, or for less. */
export function more(list, name, all) {
  if (list.length <= beginnings[name]) return null;
  return h('button', { class: 'more', 'data-key': `more-${name}`, 'data-action': 'more', 'data-list': name, 'aria-expanded': String(all.has(name)) },
    all.has(name) ? 'Show fewer' : `Show all ${count(list.length)} ${name}`);
}
