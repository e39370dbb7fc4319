// From the overview to the bad port's evidence, on what `railgauge demo` has made: demo.e2e.mjs CHROMIUM LOGIN_URL
// The demo's scenario has one slow port, rail 1 of a node at three quarters of its nodes, and an upgrade besides.
import assert from 'node:assert/strict';
import { broken, isNarrow, launch, open, says, settled } from './browser.mjs';

const kMostClicks = 3;
const kMostKeys = 6;
const kBadPort = /^sim\d+ rail 1, sending$/;

const [chromium, login] = process.argv.slice(2);
const origin = new URL(login).origin;
const faults = [];
const browser = await launch(chromium);
const page = await open(browser, origin, faults);
await page.goto(login);
await says(page, 'Open findings');
await page.waitForFunction(() => document.querySelector('main [data-row]'), { polling: 50 });
await settled(page);

const rows = await page.$$eval('.card.wide:first-child tbody tr', (all) => all.map((row) => [...row.cells].map((cell) => cell.innerText)));
const place = rows.findIndex((row) => kBadPort.test(row[2]));
assert.ok(place >= 0, `the overview has no finding of the port: ${JSON.stringify(rows)}`);
const port = rows[place][2].replace(', sending', '');
const node = port.split(' ')[0];

// The evidence: pairs that the port sends, each slower than what is expected of it.
async function checkEvidence() {
  await page.waitForSelector('#evidence tbody tr');
  const pairs = await page.$$eval('#evidence tbody tr', (all) => all.map((row) => [...row.cells].map((cell) => cell.innerText)));
  assert.ok(pairs.every((cells) => cells[0] === node && cells[2] === '1' && parseFloat(cells[5]) < 90), JSON.stringify(pairs));
  return pairs.length;
}
const home = async () => {
  await page.evaluate(() => { location.hash = '#/'; });
  await says(page, 'Open findings');
  await page.waitForFunction((text) => [...document.querySelectorAll('main [data-row]')].some((row) => row.innerText.includes(text)), { polling: 50 }, port);
  await settled(page);
};

let clicks = 0;
const click = async (handle) => {
  await handle.click();
  ++clicks;
};
await home();
await click(await page.waitForSelector(`.card.wide:first-child tbody tr:nth-child(${place + 1}) a`));
await says(page, 'Evidence');
const pairs = await checkEvidence();
assert.ok(clicks <= kMostClicks, `${clicks} clicks`);
console.log(`ok     the bad port's evidence, ${pairs} pairs, is ${clicks} click from the overview; its finding is row ${place + 1} of ${rows.length}`);
// And in the pair matrix.
await click(await page.waitForSelector('main ::-p-text(The part in the pair matrix)'));
await page.waitForFunction(() => window.matrixView, { polling: 50 });
await checkEvidence();
assert.ok(clicks <= kMostClicks, `${clicks} clicks to the matrix`);
console.log(`ok     its pairs in the matrix are ${clicks} clicks from the overview`);

let keys = 0;
const press = async (key) => {
  await page.keyboard.press(key);
  ++keys;
};
await page.keyboard.press('Escape');
await home();
do await press('j');
while (keys < kMostKeys && !(await page.$eval('main .chosen', (row, text) => row.innerText.includes(text), port)));
await press('Enter');
await checkEvidence();
assert.ok(keys <= kMostKeys, `${keys} keys`);
console.log(`ok     the evidence is ${keys} keys from the overview`);
// The story of the upgrade: free of faults that axe knows in both themes, on a telephone, and on paper with its mark.
await page.evaluate(() => { location.hash = '#/upgrades'; });
await page.waitForSelector('main tbody a[href^="#/upgrades/"]');
await page.click('main tbody a[href^="#/upgrades/"]');
await says(page, 'Before and after');
await settled(page);
const found = [];
for (const theme of ['light', 'dark']) {
  await page.evaluate((word) => { document.documentElement.dataset.theme = word; }, theme);
  for (const rule of await broken(page)) found.push(`${theme}: ${rule}`);
}
assert.deepEqual(found, []);
await page.setViewport({ width: 390, height: 844 });
await isNarrow(page);
await page.emulateMediaType('print');
const marks = await page.$$eval('.mark', (all) => all.filter((one) => one.checkVisibility()).map((one) => one.innerText).join());
assert.ok(marks.includes('SYNTHETIC'), `on paper the marks are "${marks}"`);
console.log('ok     the story of its upgrade has no fault that axe knows, fits a telephone, and says on paper that it is synthetic');
assert.deepEqual(faults, []);
await browser.close();
