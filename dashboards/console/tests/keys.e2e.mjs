// Keys of the pages, and the choice of a row while the list changes. Called by console.e2e.mjs.
import assert from 'node:assert/strict';
import { open, says, settled, until } from './browser.mjs';
import { kInbox } from './samples.mjs';

const chosen = (page) => page.evaluate(() => document.querySelector('main .chosen')?.dataset.href?.split('/').pop());

async function checkRows({ browser, page, origin, faults }) {
  const guest = await open(browser, origin, faults);
  let list = kInbox;
  await guest.setRequestInterception(true);
  guest.on('request', (request) => {
    if (new URL(request.url()).pathname !== '/api/v1/findings') return request.continue();
    return request.respond({ contentType: 'application/json', body: JSON.stringify(list) });
  });
  // As each 10 s, and after each action.
  const readAgain = async (findings) => {
    list = { ...kInbox, findings };
    await guest.evaluate(() => dispatchEvent(new Event('railgauge-acted')));
    await until(async () => (await guest.$$('main [data-row]')).length === findings.length, 'the list is not read again');
    await settled(guest);
  };
  await guest.goto(`${origin}/#/findings`);
  await says(guest, 'port-c is slow');
  const [first, second, third] = kInbox.findings;
  for (const [key, id] of [['j', 'leaf-L0'], ['j', 'port-a'], ['k', 'leaf-L0'], ['k', 'leaf-L0'], ['j', 'port-a']]) {
    await guest.keyboard.press(key);
    assert.equal(await chosen(guest), id, key);
  }
  await readAgain([{ ...first, finding_id: 'newer', summary: 'newer is slow' }, first, second, third]);
  assert.equal(await chosen(guest), 'port-a', 'the choice is of the finding, wherever its row is');
  await readAgain([first, third]);
  assert.equal(await chosen(guest), undefined, 'it has left');
  await guest.keyboard.press('j');
  assert.equal(await chosen(guest), 'port-c', 'the one that has its place is next');
  await guest.close();
  await page.bringToFront();
}

async function checkOthers({ page, go, cli }) {
  const [{ finding_id: id, summary }] = cli('findings').findings;
  await go('findings');
  await page.keyboard.press('/');
  await page.keyboard.type('no finding has this');
  await says(page, 'No finding is of this kind');
  assert.match(await page.evaluate(() => location.hash), /text=no/);
  await page.keyboard.press('Escape');
  assert.ok(await page.evaluate(() => document.activeElement === document.body), 'Escape leaves the filter');
  await page.keyboard.press('?');
  await page.waitForSelector('dialog.help');
  await says(page, 'the filter of this page');
  await page.keyboard.press('?');
  await page.waitForFunction(() => !document.querySelector('dialog.help'), { polling: 50 });
  await go(`findings/${id}`);
  await says(page, 'Triage');
  await page.evaluate(() => document.activeElement.blur());
  await page.waitForSelector('#steps [data-key="i"] button');
  await page.keyboard.press('i');
  await page.waitForSelector('dialog.ask[open]');
  const asked = await page.$eval('dialog.ask', (one) => one.innerText);
  assert.ok(asked.includes('Mark as false') && asked.includes(id) && asked.includes(summary), asked);
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => !document.querySelector('dialog.ask'), { polling: 50 });
}

// The browser's clock is hours ahead of the controller's.
async function checkClock({ browser, page, origin, faults, cli }) {
  const guest = await open(browser, origin, faults);
  const sent = [];
  await guest.setRequestInterception(true);
  guest.on('request', (request) => {
    const { pathname } = new URL(request.url());
    if (!pathname.endsWith('/steps')) return request.continue();
    sent.push(JSON.parse(request.postData()));
    return request.respond({ contentType: 'application/json', body: JSON.stringify(kInbox.findings[0]) });
  });
  await guest.evaluateOnNewDocument(() => {
    const real = Date.now;
    Date.now = () => real() + 200 * 60_000;
  });
  const [{ finding_id: id }] = cli('findings').findings;
  await guest.goto(`${origin}/#/findings/${id}`);
  const said = await says(guest, /Opened\s+[^\n]* ago\)/);
  await until(async () => /Opened\s+[^\n]*\(\d+ (s|min) ago\)/.test(await guest.evaluate(() => document.body.innerText)), `the finding of this test is older than a test: ${said.match(/Opened[^)]*/)?.[0]}`);
  await guest.waitForSelector('#steps [data-key="a"] button');
  await guest.keyboard.press('a');
  await guest.waitForSelector('dialog.ask[open]');
  await guest.select('dialog.ask [name="seconds"]', '3600');
  await guest.click('dialog.ask button[type=submit]');
  await until(async () => sent.length === 1, 'no acknowledgement was sent');
  const { now: here } = await guest.evaluate(async () => (await fetch('api/v1/session', { headers: { 'X-Railgauge-Session': localStorage.getItem('railgauge-session') } })).json());
  const seconds = sent[0].until_unix_seconds - Date.parse(here) / 1000;
  assert.ok(seconds > 3500 && seconds <= 3600, `it ends ${seconds} s from now`);
  await guest.close();
  await page.bringToFront();
}

// A refusal for the moment is no end: it is said as such, and the page asks again by itself.
async function checkBusy({ browser, page, origin, faults }) {
  const guest = await open(browser, origin, faults);
  let refusals = 2;
  await guest.setRequestInterception(true);
  guest.on('request', (request) => {
    if (new URL(request.url()).pathname !== '/api/v1/audit' || refusals-- <= 0) return request.continue();
    return request.respond({ status: 503, contentType: 'text/plain', headers: { 'Retry-After': '5' }, body: 'too many pages are being read\n' });
  });
  await guest.goto(`${origin}/#/audit`);
  const said = await says(guest, 'The controller is busy');
  assert.doesNotMatch(said, /does not answer/);
  await says(guest, /Control\./);
  await until(async () => !(await guest.$('.banner')), 'the banner stays');
  assert.ok(refusals < 0, 'it was asked again');
  await guest.close();
  await page.bringToFront();
}

export async function checkKeys(tools) {
  await tools.check('j and k stay with their finding while the list changes', () => checkRows(tools));
  await tools.check('the keys /, ? and i do what the help says, and a dialog says what the finding is', () => checkOthers(tools));
  await tools.check('times are by the controller, whatever the clock of the browser says', () => checkClock(tools));
  await tools.check('a controller that is busy is no controller that is away', () => checkBusy(tools));
}
