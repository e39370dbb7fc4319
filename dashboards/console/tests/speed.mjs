// Times of the console's pages on a whole controller, whose runs are named matrix-NODES and whose series 1 is long:
//   speed.mjs CHROMIUM LOGIN_URL NODES...
// Prints a JSON object a line. A matrix is opened twice: the controller reads it from its database, then has it.
import { launch } from './browser.mjs';
import { matrixTimes, seriesTime } from './times.mjs';

const [chromium, login, ...sizes] = process.argv.slice(2);
const origin = new URL(login).origin;
const browser = await launch(chromium);
const first = await browser.newPage();
await first.goto(login);
// The overview looks for suspects first.
await first.waitForNetworkIdle({ idleTime: 2000, timeout: 20_000 }).catch(() => {});
await first.goto('about:blank');

for (const nodes of sizes) {
  const url = `${origin}/#/matrix?run_id=matrix-${nodes}`;
  try {
    const cold = await matrixTimes(browser, url);
    const warm = await matrixTimes(browser, url);
    console.log(JSON.stringify({ what: 'matrix', nodes: Number(nodes), cold: cold.first, warm: warm.first, pan: warm.pan, draw: warm.draw }));
  } catch (error) {
    console.log(JSON.stringify({ what: 'matrix', nodes: Number(nodes), refused: String(error.message) }));
  }
}
console.log(JSON.stringify({ what: 'series', ...(await seriesTime(browser, `${origin}/#/series?series_id=1`)) }));
await browser.close();
