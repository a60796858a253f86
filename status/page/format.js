// Values as people read them.

const whole = new Intl.NumberFormat('en');
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

/** count writes a number of things in full: 1,234,567. */
export const count = n => n === null || n === undefined ? '–' : whole.format(Math.round(n));

/** brief writes a number in three digits or so: 1.2M. */
export function brief(n) {
  if (n === null || n === undefined) return '–';
  const size = Math.abs(n);
  if (size > 0 && size < 0.001) return 'under 0.001'; // never with an exponent
  if (size > 0 && size < 1) return String(Number(n.toPrecision(2)));
  return size < 10 ? String(Math.round(n * 10) / 10) : short.format(n);
}

/** percent writes a share with as many digits as say something, as SHOW TTL STATUS does. */
export function percent(share) {
  const p = 100 * share;
  if (p <= 0) return '0 %';
  if (p < 0.1) return 'under 0.1 %';
  return `${p < 10 ? Number(p.toPrecision(2)) : Math.round(p)} %`;
}

/** rate writes rows per second. */
export const rate = n => n === null || n === undefined ? '–' : `${brief(n)}/s`;

const units = [['d', 86400], ['h', 3600], ['min', 60], ['s', 1]];

/** span writes seconds in the two largest units that matter: 3 h 12 min. */
export function span(seconds) {
  if (seconds === null || seconds === undefined) return '–';
  const total = Math.max(0, Math.round(seconds));
  const at = units.findIndex(([, size]) => total >= size);
  if (at < 0) return '0 s';
  const [unit, size] = units[at];
  const first = `${Math.floor(total / size)} ${unit}`;
  const next = units[at + 1];
  const rest = next ? Math.floor(total % size / next[1]) : 0;
  return rest ? `${first} ${rest} ${next[0]}` : first;
}

/** since says how long before now an instant was. */
export function ago(instant, now) {
  if (!instant) return '–';
  const seconds = (new Date(now) - new Date(instant)) / 1000;
  return seconds < 0 ? `in ${span(-seconds)}` : `${span(seconds)} ago`;
}

/** moment writes an instant in the reader's own time zone. */
export function moment(instant) {
  if (!instant) return '–';
  return new Date(instant).toLocaleString('sv', { dateStyle: 'short', timeStyle: 'medium' });
}

/** zone is the time zone that moments are written in. */
export const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** plural puts a number and the word for it together. */
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${Math.round(n) === 1 ? one : many}`;

/** capital begins a text with a capital. */
export const capital = text => text.charAt(0).toUpperCase() + text.slice(1);

/** interval writes an INTERVAL as people say it: 10 hours. Compound ones ('1:30' HOUR_MINUTE) stay as they are. */
export function interval(text) {
  const [, n, unit] = /^'?(\d+)'? ([A-Z]+)$/.exec(text) ?? [];
  return unit ? plural(Number(n), unit.toLowerCase()) : text;
}

/** tableName is schema.table, with the partition when there is one. */
export const tableName = t => `${t.schema}.${t.table}${t.partition ? ` / ${t.partition}` : ''}`;

/** tablePath is where the page and the API keep a table. */
export const tablePath = t => `${encodeURIComponent(t.schema)}/${encodeURIComponent(t.table)}`;
