// A zoom of a series in the browser, which is a part of the URL. Called by console.e2e.mjs.
import assert from 'node:assert/strict';
import { open, until } from './browser.mjs';
import { kNights, nightOf } from './samples.mjs';

const kDaySeconds = 86_400;
const secondsOf = (night) => new Date(nightOf(night)).getTime() / 1000;

// The samples' nights as lists, as a chart reads them.
const kColumns = {
  schema_version: 1, series: kNights.series, first_unix_ms: secondsOf(0) * 1000, steps_ms: kNights.points.map((_, i) => (i === 0 ? 0 : kDaySeconds * 1000)),
  headlines: kNights.points.map((point) => point.headline), lows: kNights.points.map((point) => point.median_low), highs: kNights.points.map((point) => point.median_high),
  run_ids: kNights.points.map((point) => point.run_id), points_of_run: kNights.points.map(() => 1), epochs: [1], points_of_epoch: [kNights.points.length], synthetic: true,
};

export async function checkZoom({ check, browser, page, origin, faults }) {
  await check('a zoom of a series is in the URL, and a URL opens it', async () => {
    const guest = await open(browser, origin, faults);
    await guest.setRequestInterception(true);
    guest.on('request', (request) => {
      const answer = (document) => request.respond({ contentType: 'application/json', body: JSON.stringify(document) });
      const { pathname } = new URL(request.url());
      if (pathname === '/api/v1/series/columns') return answer(kColumns);
      if (pathname === '/api/v1/series/changes') return answer({ schema_version: 1, too_few: false, noise_percent: null, changes: [], spikes: [] });
      return request.continue();
    });
    // The day at the left end of the chart.
    const first = async () => {
      const box = await (await guest.waitForSelector('.u-over')).boundingBox();
      await guest.mouse.move(box.x + 2, box.y + box.height / 2);
      return guest.$eval('.u-legend .u-value', (one) => one.innerText.slice(0, 10));
    };
    await guest.goto(`${origin}/#/series?series_id=7&from=${secondsOf(5) - 3600}&until=${secondsOf(9)}`);
    await until(async () => (await first()) === nightOf(5).slice(0, 10), async () => `the chart begins ${await first()}`);
    const box = await (await guest.$('.u-over')).boundingBox();
    await guest.mouse.click(box.x + box.width / 2, box.y + 20, { count: 2 });
    await until(async () => !(await guest.evaluate(() => location.hash)).includes('from='), 'the URL keeps the zoom');
    await until(async () => (await first()) === nightOf(0).slice(0, 10), async () => `all of it begins ${await first()}`);
    await guest.mouse.move(box.x + box.width / 2, box.y + 60);
    await guest.mouse.down();
    await guest.mouse.move(box.x + box.width - 4, box.y + 60, { steps: 4 });
    await guest.mouse.up();
    await until(async () => /from=\d+\.\d&until=\d+\.\d/.test(await guest.evaluate(() => location.hash)), 'the URL has no zoom');
    const from = Number(new URLSearchParams((await guest.evaluate(() => location.hash)).split('?')[1]).get('from'));
    assert.ok(Math.abs(from - secondsOf(10)) < 2 * kDaySeconds, String(from));
    await guest.close();
    await page.bringToFront();
  });
}
