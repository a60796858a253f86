// A tab that notices what must not happen: errors on the console, requests to anybody else, failed requests.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

const axe = readFileSync(new URL('node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');

/** visit opens a page in a tab of its own, hands it to look, and judges what went on meanwhile. */
export async function visit(browser, url, options, look) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: 'reduce', bypassCSP: options.axe, ...options });
  const page = await context.newPage();
  const wrong = [];
  page.on('console', m => {
    if (['error', 'warning'].includes(m.type()) && !options.expected?.test(m.text())) wrong.push(`${m.type()} on the console: ${m.text()}`);
  });
  page.on('pageerror', e => wrong.push(`error in the page: ${e.message}`));
  page.on('request', r => {
    if (new URL(r.url()).origin !== new URL(url).origin && !r.url().startsWith('data:')) wrong.push(`request to ${r.url()}`);
  });
  try {
    await page.goto(url);
    await page.getByText('Live', { exact: true }).waitFor();
    await look(page);
    assert.deepEqual(wrong, []);
  } finally {
    await context.close();
  }
}

/** charted waits until every chart has been drawn. */
export const charted = page => page.waitForFunction(() => {
  const plots = [...document.querySelectorAll('[data-chart]')];
  return plots.length > 0 && plots.every(p => p.querySelector('canvas'));
});

/** fits asserts that nothing sticks out of the page. */
export async function fits(page) {
  const out = await page.evaluate(() => [...document.querySelectorAll('body *')]
    .filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.scroll, .away, .skip, pre'))
    .slice(0, 5).map(e => e.outerHTML.slice(0, 120)));
  assert.deepEqual(out, [], 'sticks out of the page');
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the page scrolls sideways');
}

/** accessible asserts that axe finds nothing to object to. */
export async function accessible(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run());
  assert.deepEqual(violations.map(v => `${v.id}: ${v.help}: ${v.nodes.map(n => n.html.slice(0, 160)).join(' | ')}`), []);
}
