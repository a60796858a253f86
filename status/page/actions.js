// What buttons do. Everything that changes something is confirmed in a dialog that shows the numbers it is about.

import { forgetToken, get, post, token, useToken } from './api.js';
import { h } from './dom.js';
import { count, plural, span, tableName, tablePath } from './format.js';
import { stateOf } from './view/jobs.js';
import { cutoff, due, share } from './view/preview.js';

let app;
const dialog = document.getElementById('dialog');

/** listen starts to answer clicks and input; the page's elements carry data-action and data-input. */
export function listen(theApp) {
  app = theApp;
  document.addEventListener('click', event => {
    const button = event.target.closest('[data-action]');
    if (button) actions[button.dataset.action]?.(button.dataset, button);
  });
  document.addEventListener('input', event => {
    if (event.target.dataset.input !== 'filter') return;
    app.state.filter = event.target.value;
    app.draw();
  });
}

const actions = {
  hours: ({ hours }) => app.setHours(Number(hours)),
  preview: () => app.readPreview(),
  theme: switchTheme,
  close: () => dialog.close(),
  unlock: () => askToken(),
  sort({ sort }) {
    app.state.sort = sort;
    app.draw();
  },
  more({ list }) {
    const { all } = app.state;
    if (!all.delete(list)) all.add(list);
    app.draw();
  },
  lock() {
    forgetToken();
    app.readAll();
  },
  pause: place => withToken(() => pause(place)),
  resume: place => withToken(() => act(place, 'resume')),
  run: place => withToken(() => confirmDue(place, 'run', 'Run a job now', 'Run now')),
  approve: place => withToken(() => confirmDue(place, 'approve', 'Approve this policy', 'Approve')),
  cancel: place => withToken(() => cancel(place)),
};

const jobOf = place => app.state.status.jobs.find(j => j.schema === place.schema && j.table === place.table);

function switchTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  root.dataset.theme = dark ? 'light' : 'dark';
  localStorage.setItem('ttlproxy.theme', root.dataset.theme);
  app.draw();
}

const kept = localStorage.getItem('ttlproxy.theme');
if (kept) document.documentElement.dataset.theme = kept;

/** withToken asks for the token first when this tab has none. */
function withToken(then) {
  if (token()) then();
  else askToken(then);
}

function askToken(then = () => dialog.close()) {
  const input = h('input', { id: 'token', type: 'password', autocomplete: 'off', required: true, 'aria-describedby': 'token-hint' });
  show('Status token', [
    h('label', { for: 'token' }, 'Token'), input,
    h('p', { id: 'token-hint', class: 'hint' }, 'It was given to ttlproxy with --status-token-file. This tab keeps it until it is closed.'),
  ], 'Unlock', async () => {
    await useToken(input.value.trim());
    app.readAll();
    then();
  });
  input.focus();
}

function pause(place) {
  const jobs = place.table ? [jobOf(place)].filter(Boolean) : app.state.status.jobs;
  const reason = h('input', { id: 'reason', type: 'text', maxlength: 200 });
  const minutes = h('select', { id: 'minutes' }, [[0, 'until somebody resumes'], [15, '15 minutes'], [60, '1 hour'], [480, '8 hours'], [1440, '1 day']].map(([n, text]) => h('option', { value: n }, text)));
  show(place.table ? `Pause ${tableName(place)}` : 'Pause everything', [
    jobs.length > 0 && numbers([
      [plural(jobs.length, 'open job'), jobs.length === 1 ? stateOf(jobs[0]) : `${jobs.filter(j => stateOf(j) === 'running').length} running`],
      ['Deleted so far', count(sum(jobs, j => j.rows.deleted))],
      ['Due when they began, about', count(sum(jobs, j => j.rows.due))],
    ]),
    h('p', {}, jobs.length ? '' : 'No job is running. ',
      'Once the answer is there, no node deletes anything more. A job resumes where it stopped.'),
    h('label', { for: 'minutes' }, 'For'), minutes,
    h('label', { for: 'reason' }, 'Reason (others see it)'), reason,
  ], 'Pause', () => act(place, 'pause', { reason: reason.value, minutes: Number(minutes.value) }));
}

const sum = (list, of) => list.reduce((total, one) => total + (of(one) ?? 0), 0);

function cancel(place) {
  const job = jobOf(place);
  if (!job) return;
  show(`Cancel the job of ${tableName(job)}`, [
    numbers([
      ['Deleted so far', count(job.rows.deleted)],
      ['Still due, about', job.rows.due === null ? 'not known' : count(Math.max(0, job.rows.due - job.rows.deleted))],
      ['Progress', job.percent === null ? 'not known' : `${job.percent.toFixed(1)} %`],
    ]),
    h('p', {}, 'Deleted rows stay deleted. The next job starts when it is due.'),
  ], 'Cancel job', () => act(place, 'cancel'), 'Keep it');
}

/** confirmDue shows what is due before a job is run or a policy approved: that is what is approved. */
async function confirmDue(place, action, title, verb) {
  const box = h('div', { class: 'pile' }, h('p', {}, 'Counting what is due…'));
  let shown = { version: version(place) };
  show(`${title}: ${tableName(place)}`, [box], verb, () => act(place, action, action === 'approve' ? shown : {}));
  try {
    const p = await get(`tables/${tablePath(place)}/preview`);
    shown = { version: p.version, seen: p.rows_due };
    box.replaceChildren(
      numbers([
        ['Rows due now', due(p)],
        ['Share of the table', share(p)],
        ['Older than', cutoff(p)],
        ['Would take', span(p.estimated_seconds)],
        ['Plan', p.plan],
      ]),
      ...(p.warnings ?? []).filter(w => action === 'run' || !p.brake || !w.includes(p.brake)).map(w => h('p', { class: 'reason' }, w)),
      h('p', {}, 'These rows will be deleted. This cannot be undone.'));
  } catch (error) {
    box.replaceChildren(h('p', { class: 'reason' }, `What is due could not be counted: ${error.message}`));
  }
}

const version = place => app.state.status.tables.find(t => t.schema === place.schema && t.table === place.table)?.version;

const numbers = pairs => h('dl', { class: 'facts' }, pairs.map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))));

async function act(place, action, body) {
  const answer = await post(place.table ? `tables/${tablePath(place)}/${action}` : action, body);
  app.readAll();
  show('Done', [h('p', {}, answer.message)], null, null, 'Close');
}

/** show opens the dialog. When done fails, its error is shown and the dialog stays. */
function show(title, content, verb, done, leave = 'Back') {
  const problem = h('p', { class: 'problem', role: 'alert' });
  const form = h('form', { method: 'dialog' },
    h('h2', { id: 'dialog-title' }, title), content, problem,
    h('div', { class: 'row end' },
      h('button', { type: 'button', 'data-action': 'close' }, leave),
      verb && h('button', { class: 'main', type: 'submit' }, verb)));
  form.addEventListener('submit', async event => {
    event.preventDefault();
    const button = form.querySelector('[type=submit]');
    button.disabled = true;
    problem.textContent = '';
    try {
      await done();
    } catch (error) {
      problem.textContent = error.message;
      button.disabled = false;
    }
  });
  dialog.replaceChildren(form);
  if (!dialog.open) dialog.showModal();
}
