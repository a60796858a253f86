// How the words of a verdict look. The order is that of catalog/report: worst first.

import { h } from '../dom.js';
import { icon } from '../icons.js';

const looks = {
  DISARMED: ['bad', 'stop'],
  'NEEDS APPROVAL': ['ask', 'hand'],
  'FALLING BEHIND': ['slow', 'behind'],
  PAUSED: ['rest', 'paused'],
  'WAITING FOR WINDOW': ['rest', 'wait'],
  OFF: ['rest', 'off'],
  WAITING: ['rest', 'wait'],
  'KEEPING UP': ['good', 'ok'],
};

export const order = word => Object.keys(looks).indexOf(word);

/** wantsPerson reports whether somebody should look. */
export const wantsPerson = word => order(word) <= order('FALLING BEHIND');

/** chip shows a verdict in its colour, with a sign for those who do not see colours. */
export function chip(verdict) {
  const [look, sign] = looks[verdict.word] ?? ['rest', 'wait'];
  return h('span', { class: `chip ${look}`, title: verdict.detail || null }, icon(sign), verdict.word.toLowerCase());
}
