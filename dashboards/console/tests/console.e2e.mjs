// The console in a real browser on a real controller:
//   node console.e2e.mjs CHROMIUM LOGIN_URL CONTROLLER_PID [PICTURES]
// The controller has a run of a modelled fleet whose port sim0012 rail 1 sends slowly, and a suite `slow`
// that takes some seconds. With a folder PICTURES it also writes a screenshot of each page. Ends the
// controller and starts it again: the environment has RAILGAUGE_BIN and the script RAILGAUGE_RESTART.
import { spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import assert from 'node:assert/strict';
import { broken, isNarrow, launch, open, says, settled, until } from './browser.mjs';
import { checkHostile } from './hostile.e2e.mjs';
import { checkInbox } from './inbox.e2e.mjs';
import { checkKeys } from './keys.e2e.mjs';
import { checkMatrix } from './matrix.e2e.mjs';
import { checkZoom } from './zoom.e2e.mjs';
import { kCause, kNightly, kNights, nightOf } from './samples.mjs';

const [chromium, login, pid, pictures] = process.argv.slice(2);
const origin = new URL(login).origin;
const kPages = ['', 'findings', 'matrix', 'series', 'runs', 'upgrades', 'nodes', 'schedules', 'report', 'playground', 'audit'];
const faults = [];
let passed = 0;
const failed = []; // names, with the first line of the cause

async function check(name, act) {
  try {
    await act();
    ++passed;
    console.log(`ok     ${name}`);
  } catch (error) {
    failed.push(`${name}: ${String(error.message).split('\n')[0].slice(0, 300)}`);
    console.log(`FAILED ${name}\n    ${String(error.message).replace(/\n/g, '\n    ')}`);
  }
}

const browser = await launch(chromium);
const page = await open(browser, origin, faults);
const go = async (hash) => {
  await page.evaluate((to) => { location.hash = to; }, `#/${hash}`);
  await page.waitForFunction((to) => location.hash === to, { polling: 50 }, new URL(`#/${hash}`, origin).hash);
  await settled(page);
  await page.waitForFunction(() => !document.body.innerText.includes('Reading …'), { polling: 50 });
};
const picture = async (name) => {
  if (!pictures) return;
  await settled(page);
  await page.screenshot({ path: `${pictures}/${name}.png` });
};
const theme = (word) => page.evaluate((to) => { document.documentElement.dataset.theme = to; }, word);

// The same by the command line, as JSON.
const cli = (...words) => {
  const { stdout, stderr } = spawnSync(`${process.env.RAILGAUGE_BIN}/railgauge`, [...words, '-o', 'json'], { encoding: 'utf8', maxBuffer: 64 << 20 }); // a run's tasks
  assert.ok(stdout, stderr);
  return JSON.parse(stdout);
};
const trail = (rpc) => cli('audit').entries.filter((entry) => entry.rpc === rpc && entry.outcome !== 'begun');
const button = (label, where = 'main') =>
  page.waitForFunction((words, root) => [...document.querySelectorAll(`${root} button`)].find((one) => one.textContent === words), { polling: 50 }, label, where);
const press = async (label) => (await button(label)).evaluate((one) => one.click());
// Fills the dialog that is open, and sends it.
const confirm = async (given = {}) => {
  await page.waitForSelector('dialog.ask[open]');
  for (const [name, text] of Object.entries(given))
    await page.$eval(`dialog.ask [name="${name}"]`, (field, value) => {
      field.value = value;
      field.dispatchEvent(new Event(field.tagName === 'SELECT' ? 'change' : 'input', { bubbles: true }));
    }, text);
  await settled(page);
  await page.click('dialog.ask button[type=submit]');
  await page.waitForFunction(() => !document.querySelector('dialog.ask'), { polling: 50 });
};
const runOfPage = async () => {
  await page.waitForFunction(() => /^#\/runs\/./.test(location.hash), { polling: 50 });
  return page.evaluate(() => decodeURIComponent(location.hash.split('/')[2]));
};

// Waits for the state of the run whose page is open.
const isRun = (word, seconds) =>
  page.waitForFunction((text) => document.querySelector('h1 + p .state')?.textContent.includes(text), { polling: 50, timeout: 1000 * seconds }, word);

await check('the one-time URL opens the overview, once', async () => {
  await page.goto(login);
  await says(page, 'Open findings');
  const other = await open(browser, origin, []);
  const answer = await other.goto(login);
  assert.equal(answer.status(), 401);
  await other.close();
});

await check('from the overview one click leads to the bad port and its evidence', async () => {
  await go('');
  await says(page, /sim0012 rail 1/);
  await page.evaluate(() => [...document.querySelectorAll('main a')].find((a) => a.textContent.includes('sim0012 rail 1')).click());
  await says(page, /sim0012 rail 1 sends/);
  await page.waitForSelector('#evidence table');
  const senders = await page.$$eval('#evidence tbody tr td:first-child', (cells) => cells.map((cell) => cell.innerText));
  assert.ok(senders.length > 0 && senders.every((name) => name === 'sim0012'), senders.join());
  await picture('suspect_light');
});

await check('and so do at most six keys', async () => {
  await go('');
  await says(page, /sim0012 rail 1/);
  let keys = 0;
  for (; keys < 5; ++keys) {
    await page.keyboard.press('j');
    if (await page.$eval('main .chosen', (row) => row.innerText.includes('sim0012 rail 1'))) break;
  }
  await page.keyboard.press('Enter');
  await page.waitForSelector('#evidence table');
  assert.ok(keys + 2 <= 6, `${keys + 2} keys`);
});

// The colours of worse classes, counted on the canvas.
const slowPixels = () => page.$eval('canvas.matrix', (canvas) => {
  const { data } = canvas.getContext('2d').getImageData(110, 110, canvas.width - 110, canvas.height - 110);
  let count = 0;
  for (let at = 0; at < data.length; at += 4) {
    const rgb = `${data[at]},${data[at + 1]},${data[at + 2]}`;
    if (rgb === '244,165,130' || rgb === '214,96,77' || rgb === '178,24,43') ++count;
  }
  return count;
});

await check('the matrix shows the slow pairs of that rail, and none on the other', async () => {
  await go('matrix?rail=1');
  await says(page, /pairs tested/);
  await page.waitForFunction(() => window.matrixView);
  await until(async () => (await slowPixels()) > 20, async () => `${await slowPixels()} pixels of slow pairs`);
  // The view of the other rail is another one, and it has read its tiles.
  await page.evaluate(() => { window.viewBefore = window.matrixView; });
  await go('matrix?rail=0');
  await page.waitForFunction(() => window.matrixView !== window.viewBefore, { polling: 50 });
  await settled(page);
  assert.equal(await slowPixels(), 0);
});

await check('a cell tells its pair, and a click pins it', async () => {
  await go('matrix?rail=1&order=worst');
  await says(page, /pairs tested/);
  // Suspects and marks that come later move the picture, so its place is asked for each time.
  // The first row is the slow node; which of its pairs were tested is the night's choice.
  let column = 0;
  const place = async () => {
    const box = await (await page.$('canvas.matrix')).boundingBox();
    const cell = (Math.min(box.width, box.height) - 106) / 32;
    return [box.x + 106 + cell * (column + 0.5), box.y + 106 + cell * 0.5];
  };
  // The cell has no figure before its tile was read, and a click that the picture moved away from pins another one.
  const text = () => page.evaluate(() => document.body.innerText);
  await until(async () => {
    column = (column % 31) + 1;
    await page.mouse.click(...(await place()));
    await settled(page);
    return /sim0012 → sim\d+: [\d.]+ GB.s, 8\d\.\d %[^]*Its series over time/.test(await text());
  }, async () => `no click pins the slow pair; the page says: ${(await text()).slice(0, 1200)}`, 90);
  await until(async () => {
    await page.mouse.move(...(await place()));
    return page.evaluate(() => document.body.innerText.includes('95 % interval'));
  }, 'the page does not say 95 % interval');
});

await check('a series has its points as a picture and as a table', async () => {
  await go('series');
  await says(page, /verbs\.write_bw/);
  await page.evaluate(() => document.querySelector('main [data-row] a').click());
  await page.waitForSelector('.chart canvas');
  await says(page, /The same as a table: \d+ points/);
});

await check('the list of series narrows by a choice, and is split by a key', async () => {
  await go('series');
  await says(page, 'Split by');
  const count = async () => Number((await says(page, /\d+ of [^]*series/)).match(/(\d+) of [^\n]*series/)[1]);
  const before = await count();
  const value = await page.$eval('#facets select', (field) => {
    field.value = field.options[1].value;
    field.dispatchEvent(new Event('change', { bubbles: true }));
    return field.value;
  });
  assert.ok(value);
  await page.waitForFunction(() => location.hash.includes('is.'), { polling: 50 });
  const after = await count();
  assert.ok(after > 0 && after < before, `${after} of ${before}`);
  await page.$$eval('#facets select', (fields) => {
    const split = fields[fields.length - 1];
    split.value = split.options[1].value;
    split.dispatchEvent(new Event('change', { bubbles: true }));
  });
  await page.waitForSelector('main details summary');
  assert.deepEqual(await broken(page), []);
});

await check('a block of the matrix is chosen by a drag and measured again, and is saved as CSV and SVG', async () => {
  await go('matrix?rail=1');
  await says(page, /pairs tested/);
  await page.waitForFunction(() => window.matrixView);
  await settled(page);
  const box = await (await page.$('canvas.matrix')).boundingBox();
  const cell = (Math.min(box.width, box.height) - 106) / 32;
  const at = (row, column) => [box.x + 106 + cell * (column + 0.5), box.y + 106 + cell * (row + 0.5)];
  await page.keyboard.down('Shift');
  await page.mouse.move(...at(2, 4));
  await page.mouse.down();
  await page.mouse.move(...at(3, 6), { steps: 3 });
  await page.mouse.up();
  await page.keyboard.up('Shift');
  const said = await says(page, /2 senders, .*3 receivers/s);
  assert.match(said, /sim0003/);
  assert.deepEqual(await page.evaluate(() => window.matrixView.block), { row: 2, rows: 2, column: 4, columns: 3 });
  await (await button('Measure this block again')).evaluate((one) => one.click());
  await page.waitForSelector('dialog.ask[open]');
  assert.equal(await page.$eval('dialog.ask [name="nodes"]', (field) => field.value), 'sim[0003-0007]');
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => !document.querySelector('dialog.ask'), { polling: 50 });
  // What is saved never leaves the page here: its text is looked at.
  await page.evaluate(() => {
    window.saved = [];
    const make = URL.createObjectURL;
    URL.createObjectURL = (blob) => {
      void blob.text().then((text) => window.saved.push(text));
      return make.call(URL, blob);
    };
    window.followed = HTMLAnchorElement.prototype.click;
    HTMLAnchorElement.prototype.click = function () {};
  });
  await press('CSV');
  await press('SVG');
  await page.waitForFunction(() => window.saved.length === 2, { polling: 50 });
  await page.evaluate(() => { HTMLAnchorElement.prototype.click = window.followed; });
  const [csv, svg] = (await page.evaluate(() => window.saved)).sort();
  assert.match(svg.startsWith('from') ? svg : csv, /^from,to,bytes_per_second[^]*"sim0012","sim0001",/);
  assert.match(svg.startsWith('<svg') ? svg : csv, /SYNTHETIC/);
});

await check('the keyboard chooses what is seen, and each colour has its legend', async () => {
  await settled(page);
  await page.focus('canvas.matrix');
  await page.keyboard.press('b');
  await says(page, /32 senders/);
  for (const [mode, words] of [['far', 'within 3 σ'], ['value', 'least'], ['coverage', 'least'], ['age', 'of the newest run']]) {
    await go(`matrix?rail=1&mode=${mode}${mode === 'age' ? '&runs=7' : ''}`);
    await says(page, words);
  }
  await go('matrix?rail=1&order=slot');
  await page.waitForFunction(() => window.matrixView?.frame.order === 'slot', { polling: 50 });
  assert.deepEqual(await page.evaluate(() => window.matrixView.frame.nodes.slice(0, 5)), ['sim0001', 'sim0009', 'sim0017', 'sim0025', 'sim0002']);
  assert.deepEqual(await page.evaluate(() => [window.matrixView.borders[0], window.matrixView.frame.slots[4]]), [4, '2']);
  await go('matrix?rail=1&hop=within_leaf');
  await says(page, /32 nodes, \d+ pairs tested/);
});

await check('an action that the archive may lack is said above the page', async () => {
  await go('nodes');
  await page.evaluate(() => dispatchEvent(new Event('railgauge-behind')));
  await says(page, 'the archive may lack it still');
  assert.deepEqual(await broken(page), []);
  await page.reload();
  await says(page, 'sim0012');
  assert.equal(await page.$('#late'), null);
});

await check('the node has its topology, its events and a preflight with remedies', async () => {
  await go('nodes/sim0012');
  await page.waitForSelector('svg.topology .device');
  await says(page, 'What happened to it');
  await press('Check it now');
  await confirm();
  await says(page, /checks need a look|checks passed/);
  assert.equal(trail('Control.RunPreflight')[0].outcome, 'ok');
  assert.deepEqual(await broken(page), []);
});

await check('schedules have a calendar with coverage, and the report is of the time that was asked for', async () => {
  cli('schedules', 'add', 'nightly', 'pairs', '--cron', '0 1 * * *');
  await go('schedules');
  await says(page, 'The last 28 days');
  await says(page, /measured \d+ nodes/);
  const days = await page.$$eval('table.calendar tbody tr', (rows) => rows.map((row) => [row.cells[0].innerText, row.querySelectorAll('td.day').length]));
  assert.ok(days.some(([name]) => name === 'nightly') && days.every(([, count]) => count === 28), JSON.stringify(days));
  assert.deepEqual(await broken(page), []);
  await go('report?hours=72');
  await says(page, /SYNTHETIC[^]*sim0012/);
  await go('findings?by=event');
  await says(page, /one finding|findings of one event/);
  assert.deepEqual(await broken(page), []);
});

await check('the playground shows the detector by other parameters, and stores nothing', async () => {
  await go('series');
  await page.evaluate(() => document.querySelector('main [data-row] a').click());
  await page.waitForSelector('.chart canvas');
  await page.evaluate(() => [...document.querySelectorAll('main a')].find((a) => a.textContent === 'playground').click());
  await says(page, 'By these parameters');
  await page.waitForSelector('.slider input');
  assert.deepEqual(await broken(page), []);
});

await check('every page is free of faults that axe knows, in light and in dark', async () => {
  const found = [];
  for (const name of [...kPages, 'nodes/sim0012'])
    for (const word of ['light', 'dark']) {
      await go(name);
      await theme(word);
      await picture(`${name.replace('/', '_') || 'overview'}_${word}`);
      for (const rule of await broken(page)) found.push(`${name || 'overview'} ${word}: ${rule}`);
    }
  assert.deepEqual(found, []);
});

await check('each page says that its data is synthetic, on paper too', async () => {
  const silent = [];
  for (const media of ['screen', 'print']) {
    await page.emulateMediaType(media);
    for (const name of [...kPages, 'nodes/sim0012']) {
      await go(name);
      const words = await page.$$eval('.mark', (all) => all.filter((one) => one.checkVisibility()).map((one) => one.innerText).join());
      if (!words.includes('SYNTHETIC')) silent.push(`${name || 'overview'} (${media})`);
    }
  }
  await page.emulateMediaType('screen');
  assert.deepEqual(silent, []);
});

await check('no page is wider than a telephone', async () => {
  await page.setViewport({ width: 390, height: 844 });
  const wide = [];
  for (const name of [...kPages, 'nodes/sim0012']) {
    await go(name);
    // A chart follows the window with a frame or two.
    await isNarrow(page).catch((error) => wide.push(`${name || 'overview'}: ${error.message}`));
  }
  await go('matrix');
  await picture('matrix_telephone');
  await page.setViewport({ width: 1280, height: 900 });
  assert.deepEqual(wide, []);
});

const tools = { check, browser, page, origin, faults, go, cli };
await checkHostile(tools);
await checkMatrix(tools);
await checkKeys(tools);

await check('the audit trail is a page with its filters, and is not asked for by a role that may not read it', async () => {
  await go('audit');
  await says(page, /Control\.StartRun/);
  const calls = () => page.$$eval('main tbody tr', (rows) => rows.map((row) => row.cells[3].innerText));
  const field = (await page.$$('main input[type=search]'))[1];
  await field.focus();
  for (const letter of 'AddSchedule') {
    await page.keyboard.type(letter);
    // The list is read again, as it is each 10 s, while the word is half typed.
    await page.evaluate(() => dispatchEvent(new Event('railgauge-acted')));
    await new Promise((done) => setTimeout(done, 150));
  }
  assert.equal(await field.evaluate((one) => one.value), 'AddSchedule');
  await page.waitForFunction(() => [...document.querySelectorAll('main tbody tr')].every((row) => row.cells[3].innerText === 'Control.AddSchedule'), { polling: 50 });
  assert.ok((await calls()).length > 0);
  await go('audit?who=nobody-of-this-name');
  await says(page, 'Nothing of this kind');
  const guest = await open(browser, origin, faults);
  const asked = [];
  await guest.setRequestInterception(true);
  guest.on('request', (request) => {
    const url = new URL(request.url());
    if (url.pathname === '/api/v1/audit') asked.push(url.pathname);
    if (url.pathname !== '/api/v1/session') return request.continue();
    return request.respond({ contentType: 'application/json', body: JSON.stringify({ who: 'vic', role: 'viewer', read_only: true, ends_at: null, version: '0' }) });
  });
  await guest.goto(`${origin}/#/audit`);
  await says(guest, 'Your role may not read the trail');
  assert.deepEqual(asked, []);
  await guest.close();
  await page.bringToFront();
});

await check('a begin is moved by its buttons with its range beside it, and a bundle is taken apart with a preview of reboots', async () => {
  const guest = await open(browser, origin, faults);
  const sent = [];
  await guest.setRequestInterception(true);
  guest.on('request', (request) => {
    const { pathname } = new URL(request.url());
    const answer = (document) => request.respond({ contentType: 'application/json', body: JSON.stringify(document) });
    if (pathname === '/api/v1/findings/step-x') return answer(kNightly);
    if (pathname === '/api/v1/series/history') return answer(kNights);
    if (pathname !== '/api/v1/findings/step-x/steps') return request.continue();
    sent.push(JSON.parse(request.postData()));
    return answer(kNightly);
  });
  await guest.goto(`${origin}/#/findings/step-x`);
  await says(guest, /90 % range: 2026-11-13 00:00 UTC to 2026-11-15 00:00 UTC/);
  await says(guest, 'The judge has it at 2026-11-13');
  await guest.waitForSelector('#begin canvas');
  const bundle = await says(guest, 'Would be rebooted: sim0003.');
  assert.match(bundle, /Not known whether a reboot is needed: sim0005\./);
  assert.doesNotMatch(bundle, /No node would be rebooted/);
  await says(guest, /4 of 4\s+1 of 28/);
  await says(guest, /sim0004[^]*runs nothing|sim0004[^]*busy/);
  await guest.evaluate(() => [...document.querySelectorAll('main summary')].find((one) => one.innerText.includes('2 changes that came together')).click());
  assert.deepEqual(await guest.$$eval('main details[open] li', (all) => all.map((one) => one.innerText)), kCause.changes);
  for (const word of ['light', 'dark']) {
    await guest.evaluate((to) => { document.documentElement.dataset.theme = to; }, word);
    assert.deepEqual(await broken(guest), [], word);
  }
  // By the keyboard alone.
  for (const figures of [-2, -1, 1, 2]) {
    const label = `${figures < 0 ? '−' : '+'}${Math.abs(figures)}: it began ${Math.abs(figures)} figure${Math.abs(figures) === 1 ? '' : 's'} ${figures < 0 ? 'earlier' : 'later'}`;
    await guest.focus(`button[aria-label="${label}"]`);
    await guest.keyboard.press('Enter');
    await guest.waitForSelector('dialog.ask[open]');
    await guest.keyboard.press('Enter');
    await guest.waitForFunction(() => !document.querySelector('dialog.ask'), { polling: 50 });
  }
  assert.deepEqual(sent, [-2, -1, 1, 2].map((figures) => ({ action: 'nudge', figures, since_seen: nightOf(13) })));
  await guest.setViewport({ width: 390, height: 844 });
  await isNarrow(guest);
  await guest.close();
  await page.bringToFront();
});

await check('a view is saved by the keyboard, survives a new sign-in, and what others have left does not', async () => {
  await go('findings?side=worse&text=sim0012');
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press('v');
  await page.waitForSelector('#views');
  assert.deepEqual(await broken(page), []);
  await page.keyboard.type('port <b>12');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelector('#views li a')?.innerText === 'port <b>12', { polling: 50 });
  await page.evaluate(() => {
    localStorage.setItem('planted', 'by another program');
    const views = JSON.parse(localStorage.getItem('railgauge-views'));
    localStorage.setItem('railgauge-views', JSON.stringify([...views, { name: 'elsewhere', hash: 'https://evil.example/' }, 7]));
  });
  await page.goto(cli('console').url);
  await says(page, 'Open findings');
  assert.equal(await page.evaluate(() => localStorage.getItem('planted')), null);
  await page.keyboard.press('v');
  await page.waitForSelector('#views');
  assert.deepEqual(await page.$$eval('#views li a', (all) => all.map((one) => one.innerText)), ['port <b>12']);
  await page.click('#views li a');
  await says(page, /sim0012 rail 1/);
  assert.equal(await page.evaluate(() => location.hash), '#/findings?side=worse&text=sim0012');
  await go(`findings?text=${'x'.repeat(2000)}`);
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press('v');
  await page.waitForSelector('#views');
  // Another page of this browser saves one meanwhile.
  await page.evaluate(() => {
    const views = JSON.parse(localStorage.getItem('railgauge-views'));
    localStorage.setItem('railgauge-views', JSON.stringify([{ name: 'of another page', hash: '#/runs' }, ...views]));
  });
  await page.keyboard.type('long');
  await page.keyboard.press('Enter');
  await says(page, /The view was not saved: its URL has 20\d\d characters, of 2000 at most/);
  await page.click('#views button[aria-label="remove port <b>12"]');
  await page.waitForFunction(() => [...document.querySelectorAll('#views li a')].map((one) => one.innerText).join() === 'of another page', { polling: 50 });
  await page.keyboard.press('Escape');
});

await check('a sign-in whose script gets no answer says so', async () => {
  const other = await browser.createBrowserContext();
  const guest = await other.newPage();
  await guest.setRequestInterception(true);
  guest.on('request', (request) => (new URL(request.url()).pathname === '/forget' ? request.abort() : request.continue()));
  await guest.goto(cli('console').url);
  await says(guest, 'The controller did not answer. Run `railgauge console` again');
  await other.close();
  await page.bringToFront();
});

await check('a visitor who is not signed in sees how to, no mark of unknown data, and the description of the interface', async () => {
  const other = await browser.createBrowserContext();
  const guest = await other.newPage();
  await guest.goto(`${origin}/`);
  await says(guest, 'Nobody is signed in here');
  assert.doesNotMatch(await guest.evaluate(() => document.body.innerText), /UNKNOWN|SYNTHETIC/);
  const answer = await guest.goto(`${origin}/api/v1/openapi.json`);
  assert.equal(answer.status(), 200);
  assert.equal((await answer.json()).openapi, '3.0.3');
  await other.close();
  await page.bringToFront();
});

await check('unknown things are said in a line', async () => {
  await go('runs/no-such-run');
  await says(page, /no-such-run/);
  await page.waitForSelector('.error');
  await go('series?series_id=4711000');
  await page.waitForSelector('.error');
  await go('matrix?run_id=no-such-run');
  await page.waitForSelector('.error');
});

await check('the key a acknowledges the chosen finding, and the trail says who', async () => {
  await theme('light');
  await go('findings');
  await says(page, /sim0012 rail 1/);
  await page.keyboard.press('j');
  await page.keyboard.press('a');
  await page.waitForSelector('dialog.ask[open]');
  assert.deepEqual(await broken(page), []);
  await picture('acknowledge_light');
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => !document.querySelector('dialog.ask'), { polling: 50 });
  assert.equal(trail('Judge.StepFinding').length, 0, 'nothing was confirmed');
  await page.keyboard.press('a');
  await confirm({ text: 'cable "ordered" <b>' });
  await says(page, /acknowledged/);
  const { findings } = cli('findings', '--state', 'acknowledged');
  assert.deepEqual(findings.map((one) => one.suspect), ['sim0012 rail 1, sending']);
  const [row] = trail('Judge.StepFinding');
  assert.equal(row.outcome, 'ok');
  assert.equal(row.role, 'any role');
  assert.match(row.address, /^ipv4:127\.0\.0\.1:/);
  assert.ok(row.who);
  await go(`findings/${findings[0].finding_id}`);
  await says(page, 'cable "ordered" <b>');
  assert.deepEqual(await broken(page), []);
});

await check('a finding gets an owner, several are copied as Markdown, and a viewer may copy too', async () => {
  await press('assign');
  await confirm({ text: 'ada <b>' });
  await says(page, /Owner\s+ada <b>/);
  assert.deepEqual(cli('findings', '--state', 'acknowledged').findings.map((one) => one.owner), ['ada <b>']);
  const text = await page.evaluate(async () => {
    let copied = '';
    Object.defineProperty(navigator, 'clipboard', { configurable: true, value: { writeText: async (given) => { copied = given; } } });
    [...document.querySelectorAll('main button')].find((one) => one.textContent === 'Copy as Markdown').click();
    await new Promise((done) => setTimeout(done, 50));
    return copied;
  });
  assert.match(text, /- owner: `ada <b>`/);
  await go('findings');
  await says(page, 'ada <b>');
});

await check('a finding is investigated and tagged, and each step is in the trail', async () => {
  const [{ finding_id: id }] = cli('findings', '--state', 'acknowledged').findings;
  await go(`findings/${id}`);
  await press('investigate');
  await confirm({ text: 'ada looks' });
  await says(page, /investigating/);
  await press('tag');
  await confirm({ text: 'cable' });
  await says(page, /cable/);
  assert.deepEqual(cli('findings', '--tag', 'cable').findings.map((one) => [one.finding_id, one.state]), [[id, 'investigating']]);
  assert.match(trail('Judge.StepFinding').map((one) => one.subject).join('\n'), /action=investigate.*\n?[^]*action=tag text=cable|action=tag text=cable[^]*action=investigate/);
  await go('findings?tag=cable');
  await says(page, /investigating/);
  assert.deepEqual(await broken(page), []);
  await go(`findings/${id}`);
  await press('acknowledge');
  await confirm();
  await says(page, /acknowledged/);
});

await check('a control is measured beside a finding, on nodes that it does not name', async () => {
  await press('add a control');
  await page.waitForSelector('dialog.ask[open]');
  assert.deepEqual(await broken(page), []);
  await confirm();
  await page.waitForSelector('#again tbody tr');
  assert.match(await page.$eval('#again tbody', (one) => one.textContent), /control/);
  const [row] = trail('Judge.MeasureFinding');
  assert.equal(row.outcome, 'ok');
  const { run } = cli('runs', 'wait', await page.$eval('#again tbody a', (one) => one.textContent));
  assert.ok(run.nodes.length >= 2 && !run.nodes.includes('sim0012'), run.nodes.join(' '));
  await page.waitForFunction(() => /measured|failed/.test(document.querySelector('#again tbody').textContent), { polling: 200, timeout: 60_000 });
  assert.deepEqual(await broken(page), []);
});

await checkInbox(tools);
await checkZoom(tools);

await check('a suite starts from a page that shows its plan, and is followed live to its end', async () => {
  const other = await open(browser, origin, faults);
  await other.goto(`${origin}/#/`);
  await says(other, 'Open findings');
  await other.waitForFunction(() => document.querySelector('main ul a[href^="#/runs/"]'), { polling: 50 });
  await settled(other);
  const lists = [];
  other.on('request', (request) => new URL(request.url()).pathname === '/api/v1/runs' && lists.push(request.url()));
  await page.bringToFront();
  await go('runs');
  await press('Start a suite');
  await page.waitForSelector('dialog.ask[open]');
  assert.deepEqual(await broken(page), []);
  await confirm({ suite: 'slow', nodes: 'sim[0001-0004]' });
  const id = await runOfPage();
  await page.waitForSelector('#live');
  await says(page, /\d+ of \d+ tasks have ended/);
  // The overview reads no list of runs by itself while it follows: this is the stream.
  await says(other, /slow \d+ of \d+ tasks/);
  assert.deepEqual(lists, []);
  await other.close();
  await picture('run_live_light');
  await isRun('passed', 90);
  assert.equal(cli('runs', 'show', id).run.outcome, 'passed');
  assert.equal(trail('Control.StartRun')[0].outcome, 'ok');
});

await check('a run under way is cancelled from its page', async () => {
  await press('Run this again');
  await page.waitForSelector('dialog.ask[open]');
  await says(page, /4 nodes, \d+ tasks in \d+ rounds/);
  await confirm();
  await page.waitForSelector('#live');
  const id = await runOfPage();
  await press('Cancel this run');
  await confirm();
  await isRun('cancelled', 60);
  assert.equal(cli('runs', 'show', id).run.outcome, 'cancelled');
  assert.equal(trail('Control.CancelRun')[0].subject, id);
});

await check('a node is paused with a reason, and resumed', async () => {
  await go('nodes/sim0003');
  await press('Pause for maintenance');
  await page.waitForSelector('dialog.ask[open]');
  await page.click('dialog.ask button[type=submit]');
  assert.ok(await page.$('dialog.ask[open]'), 'a reason is needed');
  await confirm({ reason: 'DIMM swap' });
  await says(page, /paused until .* by .*: DIMM swap/);
  await press('End its maintenance');
  await confirm();
  await button('Pause for maintenance');
  assert.equal(trail('Control.PauseNodes')[0].outcome, 'ok');
  assert.equal(trail('Control.ResumeNodes')[0].outcome, 'ok');
  await go('series?node_set=sim0003');
  await says(page, /verbs\.write_bw/);
  await page.evaluate(() => document.querySelector('main [data-row] a').click());
  await says(page, /sim0003 was paused from .* to 2/);
});

await check('a refusal is said in the dialog', async () => {
  await go('runs');
  await press('Start a suite');
  await page.waitForSelector('dialog.ask[open]');
  await page.$eval('dialog.ask [name="nodes"]', (field) => {
    field.value = 'no-such-node';
    field.dispatchEvent(new Event('input', { bubbles: true }));
  });
  await page.click('dialog.ask button[type=submit]');
  await page.waitForSelector('dialog.ask .error');
  await page.keyboard.press('Escape');
});

await check('a visitor who may only read has no buttons and sees the commands', async () => {
  const guest = await open(browser, origin, faults);
  await guest.setRequestInterception(true);
  guest.on('request', async (request) => {
    if (!/api\/v1\/actions$/.test(request.url())) return request.continue();
    return request.respond({ contentType: 'application/json', body: JSON.stringify({ schema_version: 1, token: '', actions: [{ call: 'Judge.StepFinding', allowed: false }] }) });
  });
  for (const [path, words] of [['findings', 'Group'], ['runs', 'Outcome'], ['nodes/sim0003', 'Open findings'], [`findings/${cli('findings').findings[0].finding_id}`, 'railgauge findings ack']]) {
    await guest.goto(`${origin}/#/${path}`);
    await guest.reload();
    await says(guest, words);
    assert.equal(await guest.$$eval('[data-act]', (all) => all.length), 0, path);
  }
  await guest.close();
  await page.bringToFront();
});

await check('a page elsewhere acts for nobody, and the trail has its attempt', async () => {
  const secret = await page.evaluate(() => localStorage.getItem('railgauge-session'));
  const session = { 'x-railgauge-session': secret };
  const { token } = await fetch(`${origin}/api/v1/actions`, { headers: session }).then((answer) => answer.json());
  const send = (headers) => fetch(`${origin}/api/v1/runs`, {
    method: 'POST', body: '{"suite":{"name":"pairs"}}', headers: { ...session, 'content-type': 'application/json', ...headers },
  }).then((answer) => answer.status);
  assert.equal(await send({ origin: 'https://evil.example', 'x-railgauge-token': token }), 403);
  assert.equal(await send({ origin }), 403);
  assert.equal(await send({ origin, 'x-railgauge-token': token.replace(/./g, '0') }), 403);
  const refused = trail('Control.StartRun').filter((entry) => entry.refused);
  assert.ok(refused.length >= 3, `${refused.length} refusals`);
});

await check('a page of another port of this host gets nothing of the session, and reads nothing by it', async () => {
  const given = [];
  const other = createServer((request, response) => {
    given.push(request.headers);
    response.setHeader('Content-Type', 'text/html');
    response.end('<title>other</title>');
  });
  await new Promise((done) => other.listen(0, new URL(origin).hostname, done));
  const guest = await browser.newPage();
  await guest.goto(`http://${new URL(origin).hostname}:${other.address().port}/`);
  const read = await guest.evaluate(async (to) => {
    const kept = JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }]);
    const ask = (options) => fetch(`${to}/api/v1/actions`, { credentials: 'include', ...options }).then(() => 'read', () => 'refused');
    return { kept, open: await ask({}), opaque: await ask({ mode: 'no-cors' }), asked: await ask({ headers: { 'X-Railgauge-Session': 'x' } }) };
  }, origin);
  assert.deepEqual(read, { kept: '["",{},{}]', open: 'refused', opaque: 'refused', asked: 'refused' });
  assert.ok(given.length > 0 && given.every((headers) => headers.cookie === undefined), JSON.stringify(given));
  await guest.close();
  other.close();
  await page.bringToFront();
});


await check('a controller that goes away is told, what was read stays, and the page continues with it', async () => {
  await go('runs');
  await press('Start a suite');
  await confirm({ suite: 'slow', nodes: 'sim[0001-0004]' });
  const id = await runOfPage();
  await page.waitForSelector('#live');
  process.kill(Number(pid), 'SIGKILL');
  const said = await says(page, /The controller does not answer/, 60);
  assert.match(said, new RegExp(id));
  const { status, stderr } = spawnSync('bash', [process.env.RAILGAUGE_RESTART, new URL(origin).host], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  await says(page, /The session has ended/, 60);
  const other = await open(browser, origin, []);
  await other.goto(cli('console').url);
  await says(other, 'Open findings');
  await other.close();
  await page.bringToFront();
  // Without a word from anybody: the run ended with the controller, and the page knows.
  await isRun('crashed', 60);
  assert.doesNotMatch(await says(page, id), /The session has ended|does not answer/);
});

await check('nothing was asked of another host, and no script failed', async () => assert.deepEqual(faults, []));
await browser.close();
// Again, so that the end of a log names them.
for (const one of failed) console.log(`FAILED ${one}`);
console.log(`${passed} passed, ${failed.length} failed`);
process.exit(failed.length === 0 && passed > 0 ? 0 : 1);
