// Pictures of each page in light and in dark, of what `railgauge demo` has made: the gallery of the documentation.
//   gallery.mjs CHROMIUM LOGIN_URL FOLDER
// Fails where a page has no mark of synthetic data, where axe finds a fault, or where a page of the demo lacks what the
// gallery is to show. Prints a line a picture.
import { launch, broken, open, says } from './browser.mjs';

const [chromium, login, folder] = process.argv.slice(2);
const origin = new URL(login).origin;
const faults = [];
const browser = await launch(chromium);
const page = await open(browser, origin, faults);
await page.setViewport({ width: 1280, height: 860 });
await page.goto(login);
await says(page, 'Open findings');

const secret = await page.evaluate(() => localStorage.getItem('railgauge-session'));
const read = (path) => fetch(`${origin}/api/v1/${path}`, { headers: { 'X-Railgauge-Session': secret } }).then((answer) => answer.json());
const { findings } = await read('findings');
const { upgrades } = await read('upgrades?limit=1');
const { runs } = await read('runs?limit=200');
const finding = findings.find((one) => one.kind === 'part') ?? findings[0];
const run = runs.find((one) => one.state === 'ended' && one.run_id === finding?.run_id) ?? runs.find((one) => one.state === 'ended');
const { suspects } = await read(`suspects?run_id=${run.run_id}`).catch(() => ({ suspects: [] }));
const node = suspects?.[0]?.node ?? run.nodes[0];
// What the bad port sends: the series of its own rail.
const rail = suspects?.[0]?.rail;
const { series } = await read(`series?run_id=${run.run_id}&node_set=${node}${rail === null || rail === undefined ? '' : `&rail=${rail}`}&limit=200`);
const longest = series.find((one) => one.metric.startsWith('bandwidth') && one.endpoints[0]?.startsWith(`${node}/`)) ?? series[0];
if (!finding || !upgrades.length || !run || !longest) throw new Error('the demo has no finding, upgrade, run or series to show');

const kPages = [
  ['overview', ''],
  ['findings', 'findings'],
  ['finding', `findings/${encodeURIComponent(finding.finding_id)}`],
  ['matrix', `matrix?run_id=${run.run_id}${suspects?.length ? '&suspect=1' : ''}`],
  ['series', `series?series_id=${longest.series_id}&peers=yes`],
  ['playground', `playground?series_id=${longest.series_id}`],
  ['runs', 'runs'],
  ['run', `runs/${run.run_id}`],
  ['upgrades', 'upgrades'],
  ['upgrade', `upgrades/${upgrades[0].upgrade_id}`],
  ['nodes', 'nodes'],
  ['node', `nodes/${node}`],
  ['schedules', 'schedules'],
  ['report', 'report?hours=720'],
  ['audit', 'audit'],
];

async function settle() {
  await page.waitForFunction(() => !document.body.innerText.includes('Reading …'), { timeout: 30_000, polling: 50 });
  await page.waitForNetworkIdle({ idleTime: 500, timeout: 10_000 }).catch(() => {});
  await new Promise((done) => setTimeout(done, 400));
}

const go = (hash) => page.evaluate((to) => { location.hash = to; }, `#/${hash}`);
const theme = (word) => page.evaluate((to) => { document.documentElement.dataset.theme = to; }, word);
// The whole page, up to a bound that a picture of the documentation can have.
const kMostHeight = 4000;
async function take(name, word) {
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  await page.screenshot({ path: `${folder}/${name}_${word}.png`, captureBeyondViewport: true, clip: { x: 0, y: 0, width: 1280, height: Math.min(Math.max(height, 860), kMostHeight) } });
  const mark = await page.$eval('.mark', (one) => one.innerText).catch(() => '');
  if (!mark.includes('SYNTHETIC')) faults.push(`${name}: no mark of synthetic data`);
  const errors = await page.$$eval('main .error', (all) => all.map((one) => one.innerText));
  for (const error of errors) faults.push(`${name}: ${error}`);
  for (const rule of await broken(page)) faults.push(`${name} ${word}: ${rule}`);
  console.log(`${name}_${word}.png`);
}

// Its preflight is asked for, so that the picture has the answers and their remedies.
async function checkNode() {
  const pressed = await page.evaluate(() => {
    const button = [...document.querySelectorAll('main button')].find((one) => one.textContent === 'Check it now');
    button?.click();
    return button !== undefined;
  });
  if (!pressed) return faults.push('node: it has no preflight to ask for');
  await page.waitForSelector('dialog.ask[open]');
  await page.click('dialog.ask button[type=submit]');
  await says(page, /checks need a look|checks passed/).catch((error) => faults.push(`node: ${error.message.split('\n')[0]}`));
  return settle();
}

for (const [name, hash] of kPages) {
  await go(hash);
  await new Promise((done) => setTimeout(done, 100));
  await settle();
  if (name === 'node') await checkNode();
  for (const word of ['light', 'dark']) {
    await theme(word);
    await new Promise((done) => setTimeout(done, 300));
    await take(name, word);
  }
}

// A run under way, one for each picture: the last, since what it measures is new on all other pages.
const { token } = await read('actions');
for (const word of ['light', 'dark']) {
  await theme(word);
  const begun = await fetch(`${origin}/api/v1/runs`, {
    method: 'POST', body: JSON.stringify({ suite: { name: 'upgrade' } }),
    headers: { 'X-Railgauge-Session': secret, 'X-Railgauge-Token': token, 'Content-Type': 'application/json', Origin: origin },
  }).then((answer) => answer.json());
  await go(`runs/${begun.run_id}`);
  const isLive = await page.waitForSelector('#live', { timeout: 20_000 }).then(() => true, () => false);
  if (isLive) await take('live', word);
  else faults.push(`live ${word}: ${begun.run_id ? 'the run ended before its picture' : JSON.stringify(begun)}`);
}
await browser.close();
for (const fault of faults) console.error(`gallery: ${fault}`);
process.exit(faults.length === 0 ? 0 : 1);
