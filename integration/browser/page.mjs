// The browser's side of the test. The plan is JSON in the environment. Prints one line of JSON per check.

import { chromium } from 'playwright-core';
import { checks } from './checks.mjs';

const plan = JSON.parse(process.env.PLAN);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
let failed = false;
for (const [name, check] of Object.entries(checks)) {
  if (!plan.checks.includes(name)) continue;
  let error = '';
  try {
    await check(browser, plan);
  } catch (e) {
    error = e.stack;
    failed = true;
  }
  console.log(JSON.stringify({ name, error }));
}
await browser.close();
process.exit(failed ? 1 : 0);
