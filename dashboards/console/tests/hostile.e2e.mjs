// Hostile names on every page: each text of the controller's answers that a stranger may have chosen is
// replaced. Called by console.e2e.mjs.
import assert from 'node:assert/strict';
import { answered, isNarrow, open, settled } from './browser.mjs';

const kHostile = ['<img src=x onerror=alert(1)>', `"'><script>alert(2)</script>`, 'x'.repeat(1000), '\u202egnihton\u202c\u2066', 'a\u0000b\u001b[31m', '${7*7}{{7*7}}'];
// Words of the interface, times, ids that paths are made of, and what the page itself was asked for.
const kOwnWords = new Set([
  'state', 'outcome', 'kind', 'severity', 'unit', 'verdict', 'order', 'mood', 'result', 'direction', 'data_kind', 'role', 'call', 'token', 'path', 'run_id', 'finding_id',
  'upgrade_id', 'event_id', 'noise', 'confirmation', 'version', 'cron', 'zone', 'against', 'memory', 'trigger', 'hop', 'needs', 'run_ids', 'day', 'schema_version', 'next_after',
]);
const isOwn = (key) => kOwnWords.has(key) || key.endsWith('_at') || key === 'now' || key === 'since';

let turn = 0;
function spoil(value, key = '') {
  if (typeof value === 'string') return isOwn(key) || value === '' ? value : kHostile[turn++ % kHostile.length];
  if (Array.isArray(value)) return value.map((one) => spoil(one, key));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, spoil(one, name)]));
}

async function spoilt(browser, origin, faults) {
  const guest = await open(browser, origin, faults);
  await guest.setRequestInterception(true);
  guest.on('request', async (request) => {
    const { pathname } = new URL(request.url());
    if (!pathname.startsWith('/api/v1/') || pathname.includes('/live/') || /tile$|openapi|actions$/.test(pathname)) {
      answered(guest, request);
      return request.continue();
    }
    try {
      const answer = await fetch(request.url(), { headers: request.headers() });
      const document = await answer.json();
      await request.respond({ status: answer.status, contentType: 'application/json', body: JSON.stringify(answer.ok ? spoil(document) : document) });
    } catch {
      await request.abort().catch(() => undefined); // the page has left
    }
    answered(guest, request);
  });
  return guest;
}

async function checkPages({ browser, page, origin, faults, cli }) {
  const [{ finding_id: finding }] = cli('findings').findings;
  const [{ run_id: run }] = cli('runs').runs;
  const { series } = await page.evaluate(async () => {
    const headers = { 'X-Railgauge-Session': localStorage.getItem('railgauge-session') };
    return (await fetch('api/v1/series?run_id=all&limit=1', { headers })).json();
  });
  const id = series[0].series_id;
  const pages = [
    '', 'findings', 'findings?by=event', `findings/${finding}`, 'matrix', 'matrix?suspect=1&order=pod', 'series', `series?series_id=${id}&peers=yes`, `playground?series_id=${id}`, 'runs', `runs/${run}`,
    'upgrades', 'nodes', 'nodes/sim0012', 'schedules', 'report?hours=72', 'audit', `nodes/${encodeURIComponent(kHostile[0])}`, `${encodeURIComponent(kHostile[1])}`,
  ];
  const guest = await spoilt(browser, origin, faults);
  const found = [];
  const seen = new Set();
  for (const name of pages) {
    await guest.setViewport({ width: 1280, height: 900 });
    await guest.goto(`${origin}/#/${name}`);
    await guest.reload();
    await settled(guest, 60);
    await guest.evaluate(() => document.querySelectorAll('main details').forEach((one) => (one.open = true)));
    await settled(guest, 60);
    const { made, text } = await guest.evaluate(() => ({ made: document.querySelectorAll('main img, main script, main iframe').length, text: document.querySelector('main').innerText }));
    if (made > 0) found.push(`${name || 'overview'}: ${made} elements of a name`);
    for (const one of kHostile.slice(0, 2)) if (text.includes(one)) seen.add(name);
    for (const width of [1280, 390]) {
      await guest.setViewport({ width, height: 844 });
      await isNarrow(guest).catch((error) => found.push(`${name || 'overview'} at ${width}: ${error.message}`));
    }
  }
  await guest.close();
  await page.bringToFront();
  assert.deepEqual(found, []);
  // What is replaced is shown: else the loop proves nothing.
  assert.ok(seen.size >= pages.length - 4, `names are seen on ${[...seen].join(' ')} alone`);
}

export async function checkHostile(tools) {
  await tools.check('hostile names are text on every page, and widen none', () => checkPages(tools));
}
