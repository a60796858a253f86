// The proxies that share the work.

import { h } from '../dom.js';
import { ago, plural, span } from '../format.js';

const goneShown = 3;

/** nodeList shows live nodes, and the last of those that left or vanished within the last day. */
export function nodeList(status) {
  const gone = status.nodes.filter(n => !n.live).toSorted((a, b) => b.id - a.id);
  const shown = [...status.nodes.filter(n => n.live), ...gone.slice(0, goneShown)];
  const hidden = gone.length - goneShown;
  return h('section', { class: 'card', 'data-key': 'nodes', 'aria-labelledby': 'nodes-title' },
    h('h2', { id: 'nodes-title' }, 'Nodes'),
    h('ul', { class: 'plain' }, shown.map(n => line(n, status.now))),
    hidden > 0 && h('p', { class: 'hint' }, `And ${plural(hidden, 'node')} that went before, all within a day.`),
    status.nodes.length === 0 && h('p', { class: 'empty' }, 'No node has joined.'));
}

function line(node, now) {
  return h('li', { class: 'node', 'data-key': `node-${node.id}` },
    h('span', { class: `dot ${node.live ? 'good' : 'rest'}`, 'aria-hidden': 'true' }),
    h('div', {},
      h('strong', {}, node.name),
      h('small', {}, [node.address, node.version, node.engine ? `${node.tasks} of ${plural(node.workers, 'worker')} busy` : 'relays only, engine off', node.leader && 'starts the jobs'].filter(Boolean).join(' · ')),
      node.status && h('small', { class: 'reason' }, node.status)),
    h('span', { class: 'push' }),
    h('small', { class: 'end' }, node.live
      ? `up ${span((new Date(now) - new Date(node.started)) / 1000)}`
      : `${node.left ? 'left' : 'vanished'} ${ago(node.left ?? node.heartbeat, now)}`));
}
