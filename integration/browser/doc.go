// Package browser holds the test of the status page: a real server, real proxies with a real engine
// behind them, and a Chromium without a window that looks at the page and clicks on it.
//
// The Go side prepares what there is to see and judges what became of it in the database. The
// browser's side is page.mjs, which drives Chromium with playwright-core; accessibility is judged
// by axe-core. Both come from npm (package-lock.json), the browser from the system: `make browser`
// gets what is missing. With -update the pictures in docs/images are retaken.
package browser
