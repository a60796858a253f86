// What the page must show and do. Each check opens its own tabs; the Go side says which ones run, and when.

import assert from 'node:assert/strict';
import { accessible, charted, fits, visit } from './tab.mjs';

const overview = plan => `${plan.page}#/`;
const table = (plan, name) => `${plan.page}#/t/${plan.schema}/${name}`;
const number = text => Number(text.replaceAll(',', '').match(/\d+(\.\d+)?/)[0]);

export const checks = {
  /** The page before anybody has a policy tells what to do. */
  async empty(browser, plan) {
    await visit(browser, overview(plan), { axe: true }, async page => {
      await page.getByRole('heading', { name: 'No table has a policy yet' }).waitFor();
      await accessible(page);
    });
  },

  /** What was deleted before the restart of the proxy is in the chart, to the row. */
  async charts(browser, plan) {
    await visit(browser, overview(plan), {}, async page => {
      await charted(page);
      const flow = page.locator('[data-key="chart-flow"]');
      const caption = await flow.locator('figcaption').innerText();
      assert.ok(number(caption.match(/([\d,]+) rows? deleted/)[1]) >= plan.deleted, caption);
      assert.equal(number(await page.locator('.tile', { has: page.getByText('Tables', { exact: true }) }).locator('strong').innerText()), plan.tables);
      assert.match(await page.locator('[data-key="chart-phases"] .u-legend').innerText(), /deleting/);
      await page.waitForFunction(async () => { // the latest point of the chart is that of the API; a new sample may come between the two
        const { deleted } = await (await fetch('api/v1/series?hours=6')).json();
        const last = deleted.findLast(v => v !== null);
        const line = [...document.querySelectorAll('[data-key="chart-flow"] .u-series')].find(e => e.textContent.startsWith('deleted'));
        const [, number, thousands] = line.querySelector('.u-value').textContent.match(/([\d.]+)(K?)\/s/);
        return Math.abs(number * (thousands ? 1000 : 1) - last) <= 0.05 * last + 0.1;
      });
    });
    await visit(browser, table(plan, 'session'), {}, async page => {
      await charted(page);
      const caption = await page.locator('[data-key="chart-flow"] figcaption').innerText();
      assert.equal(number(caption.match(/([\d,]+) rows? deleted/)[1]), plan.deleted, 'rows in the chart of the table');
      assert.equal(number(await page.locator('[data-name="Deleted"]').first().innerText()), plan.deleted, 'rows in its history');
    });
  },

  /** A running job moves without a reload. */
  async live(browser, plan) {
    await visit(browser, overview(plan), {}, async page => {
      const bar = page.getByRole('progressbar', { name: `Progress of ${plan.schema}.audit_log` });
      await bar.waitFor();
      await page.evaluate(() => { window.sameDocument = true; });
      const before = Number(await bar.getAttribute('aria-valuenow'));
      await page.waitForFunction(([name, n]) => {
        const now = [...document.querySelectorAll('[role=progressbar]')].find(e => e.getAttribute('aria-label') === name);
        return Number(now?.getAttribute('aria-valuenow')) > n;
      }, [`Progress of ${plan.schema}.audit_log`, before]);
      assert.equal(await page.evaluate(() => window.sameDocument), true, 'the page was loaded again');
    });
  },

  /** Nothing sticks out, on a phone and on a wide screen. */
  async layout(browser, plan) {
    for (const width of [390, 768, 1600]) {
      for (const url of [overview(plan), table(plan, 'audit_log')]) {
        await visit(browser, url, { viewport: { width, height: 900 } }, async page => {
          await charted(page);
          await fits(page);
        });
      }
    }
  },

  /** axe has no objections, in either scheme and with a dialog open. */
  async accessibility(browser, plan) {
    for (const colorScheme of ['light', 'dark']) {
      for (const url of [overview(plan), table(plan, 'audit_log')]) {
        await visit(browser, url, { axe: true, colorScheme }, async page => {
          await charted(page);
          await accessible(page);
          await page.getByRole('button', { name: 'Unlock', exact: true }).click();
          await page.locator('#token').waitFor();
          await accessible(page);
        });
      }
    }
  },

  /** The keyboard reaches everything, sees where it is, and is not thrown out by an update. */
  async keyboard(browser, plan) {
    await visit(browser, overview(plan), {}, async page => {
      await page.keyboard.press('Tab');
      assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Skip to content');
      await page.getByRole('button', { name: 'Lag' }).focus();
      await page.keyboard.press('Enter');
      await page.waitForFunction(() => document.querySelector('[aria-sort="descending"]')?.textContent === 'Lag');
      await page.waitForTimeout(3_000); // more than one update
      assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Lag', 'focus after an update');
    });
    await visit(browser, table(plan, 'audit_log'), {}, async page => {
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      assert.equal(await page.evaluate(() => document.activeElement.id), 'main', 'where the link past the bar leads');
      await page.getByRole('heading', { level: 1, name: `${plan.schema}.audit_log` }).waitFor();
    });
  },

  /** What is old is said to be old, why, and no longer than it is so. */
  async outages(browser, plan) {
    await visit(browser, overview(plan), { expected: /ERR_INTERNET_DISCONNECTED|502/ }, async page => {
      await charted(page);
      const problem = page.locator('[data-key="problem"]');
      await page.context().setOffline(true);
      await problem.getByText('The proxy does not answer').waitFor();
      await page.getByText(/ old$/).waitFor({ timeout: 60_000 });
      await page.context().setOffline(false);
      await problem.waitFor({ state: 'detached' });
      await page.route('**/api/v1/status', route => route.fulfill({ status: 502, json: { error: 'the catalog does not answer' } }));
      await problem.getByText('The catalog does not answer').waitFor();
      await page.getByRole('link', { name: `${plan.schema}.audit_log` }).first().waitFor();
      await page.unroute('**/api/v1/status');
      await problem.waitFor({ state: 'detached' });
      await page.getByText('Live', { exact: true }).waitFor();
    });
  },

  /** A table in each state, with the reason. */
  async states(browser, plan) {
    await visit(browser, overview(plan), {}, async page => {
      for (const [name, word] of Object.entries(plan.verdicts)) {
        const line = page.getByRole('row').filter({ has: page.getByRole('link', { name: `${plan.schema}.${name}`, exact: true }) });
        await line.locator('.chip', { hasText: word }).waitFor();
      }
      await page.getByRole('button', { name: 'Verdict' }).click();
      const words = await page.locator('.tables .chip').allInnerTexts();
      assert.deepEqual(words.slice(0, 2), ['disarmed', 'needs approval'], 'what wants a person comes first');
      await page.getByLabel('Filter by name or verdict').fill('disarmed');
      assert.equal(await page.locator('.tables tbody tr').count(), 1);
      assert.equal(await page.title(), '(2) ttlproxy', 'what the tab says of the two');
    });
  },

  /** Values are written as people read them, and what is said of everything is true of each table. */
  async values(browser, plan) {
    await visit(browser, overview(plan), {}, async page => {
      const wrong = await page.evaluate(async () => {
        const { brief, moment, percent, rate } = await import('./format.js');
        const { cutoff } = await import('./view/preview.js');
        const { health, tidings } = await import('./view/verdict.js');
        const of = (words, halted = null) => ({ halted, tables: words.map((word, i) => ({ schema: 's', table: `t${i}`, verdict: { word } })) });
        const off = { code: 'switched off', why: 'ttl_job_enable is OFF' };
        const up = 'KEEPING UP';
        return [
          [brief(0), '0'], [brief(3.9e-7), 'under 0.001'], [brief(0.0012345), '0.0012'], [brief(1234567), '1.2M'],
          [rate(3.9e-7), 'under 0.001/s'],
          [percent(0), '0 %'], [percent(3.9e-7), 'under 0.1 %'], [percent(0.01234), '1.2 %'], [percent(0.996), '100 %'], [percent(0.5), '50 %'],
          [cutoff({ cutoff: "'2026-01-02 03:04:05'", time_zone: 'Europe/Berlin' }), '2026-01-02 03:04:05 Europe/Berlin'],
          [cutoff({ cutoff: '2026-01-02 03:04:05+00:00', time_zone: 'Europe/Berlin' }), moment('2026-01-02T03:04:05Z')],
          [health(of([up, up])), ['all is well', 'good']], [health(of([up, up], off)), ['nothing is deleted now']],
          [health(of([up, 'PAUSED', 'OFF'])), ['1 keeps up']], [health(of([up, 'DISARMED'], off)), ['1 table wants a look', 'slow']],
          [tidings(of([up, up])), 'All tables are keeping up.'], [tidings(of([up], off)), 'Nothing is deleted: ttl_job_enable is OFF.'],
          [tidings(of([up, up, 'PAUSED'])), '2 of 3 tables are keeping up.'], [tidings(of([up, 'DISARMED'])), 's.t1: disarmed.'],
        ].filter(([got, want]) => JSON.stringify(got) !== JSON.stringify(want));
      });
      assert.deepEqual(wrong, []);
    });
  },

  /** A line of the history that stands for several jobs says so, and took as long as they did. */
  async history(browser, plan) {
    await visit(browser, table(plan, 'session'), {}, async page => {
      const line = page.locator('[data-key="history"] tbody tr', { hasText: 'stands for 5 jobs; the first' });
      await line.waitFor();
      assert.match(await line.locator('[data-name="Took"]').innerText(), /^[4-9]\d s/);
    });
  },

  /** When jobs of a table start is said in words. */
  async schedule(browser, plan) {
    await visit(browser, table(plan, 'session'), {}, async page => {
      const sentence = page.locator('p.sentence', { hasText: 'Jobs start' });
      await sentence.waitFor();
      assert.match(await sentence.innerText(), /A row expires 1 day after its at\. Jobs start: every 1h\./);
    });
  },

  /** What keeps everything from being deleted stands above all, and goes with it. */
  async halted(browser, plan) {
    await visit(browser, overview(plan), { axe: true }, async page => {
      await page.locator('[data-key="halted"]').getByText('Nothing is deleted: ttl_job_enable is OFF').waitFor();
      await accessible(page);
    });
    await visit(browser, table(plan, 'session'), {}, async page => {
      await page.locator('[data-key="halted"]').waitFor();
    });
  },

  /** Nothing is in the way any more. */
  async resumed(browser, plan) {
    await visit(browser, overview(plan), {}, async page => {
      await page.getByText('Live', { exact: true }).waitFor();
      assert.equal(await page.locator('[data-key="halted"], [data-key="stopped"]').count(), 0, 'a notice of what is over');
    });
  },

  /** One engine of two that is stopped by a file is said, with the file. */
  async stopped(browser, plan) {
    await visit(browser, overview(plan), { axe: true }, async page => {
      const notice = page.locator('[data-key="stopped"]');
      await notice.getByText(plan.stopFile).waitFor();
      assert.equal(await page.locator('[data-key="halted"]').count(), 0, 'the other engine deletes');
      await accessible(page);
    });
  },

  /** A proxy without a token offers no actions. */
  async readonly(browser, plan) {
    await visit(browser, `${plan.other}#/`, {}, async page => {
      await page.getByRole('link', { name: `${plan.schema}.audit_log` }).first().waitFor();
      await page.locator('[data-key="nodes"]').getByText('relays only, engine off').first().waitFor();
      for (const name of ['Pause all', 'Unlock', /Cancel/, /Approve/]) {
        assert.equal(await page.getByRole('button', { name }).count(), 0, `a button ${name}`);
      }
    });
  },

  /** An action asks for the token, refuses a wrong one, shows the numbers, and does it. */
  async pause(browser, plan) {
    await visit(browser, table(plan, 'audit_log'), { expected: /401/ }, async page => {
      await page.getByRole('button', { name: 'Pause…' }).click();
      await page.locator('#token').fill('not the right token');
      await page.getByRole('button', { name: 'Unlock', exact: true }).last().click();
      await page.getByRole('alert').filter({ hasText: 'status token' }).waitFor();
      await page.locator('#token').fill(plan.token);
      await page.getByRole('button', { name: 'Unlock', exact: true }).last().click();
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('heading', { name: `Pause ${plan.schema}.audit_log` }).waitFor();
      assert.match(await dialog.innerText(), /Deleted so far\n[\d,]+\n.*about\n[\d,]+/);
      await dialog.getByLabel('Reason').fill('the browser wants it');
      await dialog.getByRole('button', { name: 'Pause' }).click();
      await dialog.getByText('Nothing more is deleted').waitFor();
      await dialog.getByRole('button', { name: 'Close' }).click();
      await page.getByText('the browser wants it').first().waitFor();
    });
  },

  /** What is due is shown before it is approved, and that is what is approved. */
  async approve(browser, plan) {
    await visit(browser, table(plan, 'cart'), {}, async page => {
      await page.getByRole('heading', { name: 'If a job ran now' }).waitFor();
      await page.getByRole('button', { name: 'Approve…' }).click();
      await page.locator('#token').fill(plan.token);
      await page.getByRole('button', { name: 'Unlock', exact: true }).last().click();
      const dialog = page.getByRole('dialog');
      const due = dialog.locator('div', { has: page.getByText('Rows due now', { exact: true }) }).locator('dd').first();
      await due.waitFor();
      assert.equal(await page.getByText('Invalid Date').count(), 0, 'the page shows a day that is none');
      const shown = number(await due.innerText());
      assert.ok(Math.abs(shown - plan.held) <= 0.1 * plan.held, `shows ${shown} rows due, there are ${plan.held}`);
      await dialog.getByRole('button', { name: 'Approve' }).click();
      await dialog.getByText(/Approved version \d+: the run that is open, or else the next one, may delete up to \d+ rows/).waitFor();
    });
  },

  /** Cancelling shows how far the job is. */
  async cancel(browser, plan) {
    await visit(browser, table(plan, 'audit_log'), {}, async page => {
      await page.getByRole('button', { name: `Cancel job ${plan.schema}.audit_log` }).click();
      await page.locator('#token').fill(plan.token);
      await page.getByRole('button', { name: 'Unlock', exact: true }).last().click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText('Deleted so far').waitFor();
      await dialog.getByRole('button', { name: 'Cancel job' }).click();
      await dialog.getByText('Cancelled').waitFor();
    });
  },

  /** Once a sample has been taken, a limit stands beside what it limits. */
  async signals(browser, plan) {
    await visit(browser, overview(plan), {}, async page => {
      const chart = page.locator('[data-key="chart-signal-deleted_rows_per_second"]');
      await chart.locator('canvas').waitFor({ timeout: 90_000 });
      assert.match(await chart.innerText(), /limit 100\/s/);
    });

    // Each signal in the list Speed says how old what it says is.
    await visit(browser, overview(plan), {}, async page => {
      const lines = page.locator('[data-key="speed"] li');
      await lines.first().waitFor();
      for (const line of await lines.all()) {
        const time = line.locator('time');
        assert.match(await time.innerText(), /^\d+ (s|min)( \d+ s)? ago$/);
        assert.ok(Date.now() - Date.parse(await time.getAttribute('datetime')) < 5 * 60_000);
      }
    });
  },

  /** The pictures of the documentation. */
  async pictures(browser, plan) {
    for (const [name, url, options] of [
      ['status', overview(plan), { viewport: { width: 1440, height: 1000 }, colorScheme: 'dark' }],
      ['status-table', table(plan, 'audit_log'), { viewport: { width: 1280, height: 1000 }, colorScheme: 'light' }],
      ['status-phone', overview(plan), { viewport: { width: 390, height: 844 }, colorScheme: 'light', deviceScaleFactor: 2 }],
    ]) {
      await visit(browser, url, options, async page => {
        await charted(page);
        await page.waitForTimeout(500); // transitions
        await page.screenshot({ path: `${plan.pictures}/${name}.png` });
      });
    }
  },
};
