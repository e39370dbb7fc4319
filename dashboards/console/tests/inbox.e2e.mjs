// The inbox of findings in the browser. Called by console.e2e.mjs.
import assert from 'node:assert/strict';
import { broken, isNarrow, open, says, settled } from './browser.mjs';
import { kInbox } from './samples.mjs';

async function checkGroups({ browser, page, origin, faults }) {
  const guest = await open(browser, origin, faults);
  await guest.setRequestInterception(true);
  guest.on('request', (request) => {
    if (new URL(request.url()).pathname !== '/api/v1/findings') return request.continue();
    return request.respond({ contentType: 'application/json', body: JSON.stringify(kInbox) });
  });
  await guest.goto(`${origin}/#/findings?by=event`);
  const said = await says(guest, '2 findings of one event: leaf-L0');
  for (const words of [/one finding: port-c/, /in [56] h/, /Measured: 1\.2 %/, /Budget of false alarms: 5 %/, /> 99\.9 %/, /99 %/, /skewed/, /downstream/, /running/, /k m 8 B/]) assert.match(said, words);
  assert.match(await guest.$eval('.noise', (one) => one.title), /one level/);
  for (const word of ['light', 'dark']) {
    await guest.evaluate((to) => { document.documentElement.dataset.theme = to; }, word);
    assert.deepEqual(await broken(guest), [], word);
  }
  await guest.evaluate(() => [...document.querySelectorAll('main summary')].find((one) => one.innerText.startsWith('Precision')).click());
  await says(guest, '9 of 12 settled findings were no false alarms: 75.0 %');
  const box = (label) => guest.$eval(`input[aria-label="${label}"]`, (one) => (one.indeterminate ? 'some' : one.checked ? 'all' : 'none'));
  await guest.click('input[aria-label="choose port-a"]');
  await says(guest, '1 chosen');
  await settled(guest);
  assert.deepEqual([await box('choose the 2 of the event leaf-L0'), await box('choose all 3')], ['some', 'some']);
  await guest.click('input[aria-label="choose the 2 of the event leaf-L0"]');
  await says(guest, '2 chosen');
  await settled(guest);
  assert.deepEqual([await box('choose the 2 of the event leaf-L0'), await box('choose the 1 of the event port-c')], ['all', 'none']);
  await guest.setViewport({ width: 390, height: 844 });
  await isNarrow(guest);
  await guest.close();
  await page.bringToFront();
}

async function checkFilters({ browser, page, origin, faults }) {
  const guest = await open(browser, origin, faults);
  await guest.setRequestInterception(true);
  guest.on('request', (request) => {
    if (new URL(request.url()).pathname !== '/api/v1/findings') return request.continue();
    return request.respond({ contentType: 'application/json', body: JSON.stringify(kInbox) });
  });
  await guest.goto(`${origin}/#/findings`);
  await says(guest, 'port-c is slow');
  const ids = () => guest.$$eval('tbody tr td a[href^="#/findings/"]', (all) => all.map((one) => one.getAttribute('href').split('/').pop()));
  const choose = async (label, value) => {
    await guest.select(`::-p-xpath(//label[starts-with(normalize-space(.), "${label}")]/select)`, value);
    await settled(guest);
  };
  await choose('Tag', 'cable');
  assert.deepEqual(await ids(), ['leaf-L0']);
  assert.match(await guest.evaluate(() => location.hash), /tag=cable/, 'a filter is a URL');
  await choose('Tag', '');
  await choose('Direction', 'better');
  assert.deepEqual(await ids(), ['port-c']);
  await choose('Direction', 'worse');
  assert.deepEqual(await ids(), ['leaf-L0', 'port-a']);
  await guest.close();
  await page.bringToFront();
}

export async function checkInbox(tools) {
  await tools.check('the inbox is filtered by tag and direction, and each filter is a URL', () => checkFilters(tools));
  await tools.check('findings are nested by event, and a master checkbox chooses all of one', () => checkGroups(tools));
}
