// The first page: how things are, at a glance and then in detail.

import { h } from '../dom.js';
import { brief, plural, rate, span, tableName } from '../format.js';
import { chartSection } from './charts.js';
import { jobCards, stateOf } from './jobs.js';
import { nodeList } from './nodes.js';
import { activity } from './activity.js';
import { tableList } from './tables.js';
import { speedList } from './throttle.js';
import { health } from './verdict.js';

/** overview is the page of the whole installation. */
export function overview(state) {
  const { status } = state;
  if (status.tables.length === 0) return [h('h1', { class: 'away' }, 'Overview'), welcome(status), h('div', { class: 'columns' }, activity(state), nodeList(status))];
  return [
    h('h1', { class: 'away' }, 'Overview'),
    tiles(state),
    jobCards(state, status.jobs),
    tableList(state),
    chartSection(state),
    h('div', { class: 'columns', 'data-key': 'columns' }, activity(state), nodeList(status)),
    status.throttle.readings.length > 0 && speedList(status),
  ];
}

/** waiting is the page before the server has answered. */
export const waiting = ({ problem }) => h('section', { class: 'card welcome', 'data-key': 'waiting' },
  h('h1', {}, problem ? 'Nothing to show yet' : 'Loading…'),
  problem && h('p', {}, `This page is drawn from the catalog on the database server, and ${problem}. Clients are served all the same where the server answers; nothing is deleted meanwhile.`),
  problem && h('p', { class: 'hint' }, 'The log of ttlproxy says more, and ', h('code', {}, 'ttlproxy check'), ' looks for causes.'));

function tiles({ status, series, hours }) {
  const { tables } = status;
  const running = status.jobs.filter(j => stateOf(j) === 'running');
  return h('dl', { class: 'tiles', 'data-key': 'tiles' },
    tile('Tables', brief(tables.length), ...health(status)),
    tile('Deleting now', rate(running.reduce((sum, j) => sum + j.rows_per_second, 0)), running.length ? plural(running.length, 'job') + ' running' : 'no job running'),
    tile(`Deleted in ${hours} h`, series ? brief(series.totals.deleted) : '–', series?.totals.due === null || !series ? 'rows' : `${brief(Math.round(series.totals.due))} became due`),
    oldestTile(tables));
}

/** oldestTile shows the largest lag there is. That no row is late is said only when it is known of every table. */
function oldestTile(tables) {
  const known = tables.filter(t => t.behind_seconds !== null);
  const worst = known.reduce((a, b) => b.behind_seconds > (a?.behind_seconds ?? 0) ? b : a, null);
  const unknown = tables.length - known.length;
  if (worst) return tile('Oldest expired row', span(worst.behind_seconds), tableName(worst));
  return unknown ? tile('Oldest expired row', '–', `not known for ${plural(unknown, 'table')}`) : tile('Oldest expired row', '0 s', 'none was left behind');
}

const tile = (name, value, more, look) => h('div', { class: `tile ${look ?? ''}` }, h('dt', {}, name), h('dd', {}, h('strong', {}, value), h('span', {}, more)));

function welcome({ nodes }) {
  const [host, port] = nodes.find(n => n.live)?.address.split(/:(?=\d+$)/) ?? [];
  return h('section', { class: 'card welcome' },
    h('h2', {}, 'No table has a policy yet'),
    h('p', {}, 'Connect through the proxy with any MySQL client', port && [': ', h('code', {}, `mysql -h ${host} -P ${port} -u … -p`), ','], ' and give a table one:'),
    h('pre', { tabindex: 0 }, 'ALTER TABLE session\n  TTL = created_at + INTERVAL 10 HOUR\n  TTL_JOB_INTERVAL = \'1h\';'),
    h('p', {}, 'It appears here within seconds. ', h('code', {}, 'EXPLAIN TTL ALTER TABLE …'), ' shows beforehand what would be deleted.'));
}
