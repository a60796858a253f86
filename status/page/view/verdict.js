// How the words of a verdict look. The order is that of catalog/report: worst first.

import { h } from '../dom.js';
import { count, plural } from '../format.js';
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

/** health says in a few words how things are, and how that looks: well only if nothing waits for anything. */
export function health({ tables, halted }) {
  const look = tables.filter(t => wantsPerson(t.verdict.word)).length;
  if (look) return [`${plural(look, 'table')} ${look === 1 ? 'wants' : 'want'} a look`, 'slow'];
  if (halted) return ['nothing is deleted now'];
  const good = tables.filter(t => t.verdict.word === 'KEEPING UP').length;
  return good === tables.length ? ['all is well', 'good'] : [`${count(good)} ${good === 1 ? 'keeps' : 'keep'} up`];
}

/** tidings are those in whole sentences, with the tables that want a person. */
export function tidings({ tables, halted }) {
  const bad = tables.filter(t => wantsPerson(t.verdict.word));
  const said = bad.slice(0, 3).map(t => `${t.schema}.${t.table}: ${t.verdict.word.toLowerCase()}.`);
  if (bad.length > 3) said.push(`And ${bad.length - 3} more.`);
  if (halted) said.unshift(`Nothing is deleted: ${halted.why}.`);
  if (said.length) return said.join(' ');
  const good = tables.filter(t => t.verdict.word === 'KEEPING UP').length;
  return good === tables.length ? 'All tables are keeping up.' : `${count(good)} of ${plural(tables.length, 'table')} ${good === 1 ? 'is' : 'are'} keeping up.`;
}

/** chip shows a verdict in its colour, with a sign for those who do not see colours. */
export function chip(verdict) {
  const [look, sign] = looks[verdict.word] ?? ['rest', 'wait'];
  return h('span', { class: `chip ${look}`, title: verdict.detail || null }, icon(sign), verdict.word.toLowerCase());
}
