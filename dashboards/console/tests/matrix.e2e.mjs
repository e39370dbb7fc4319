// Single cells of the matrix page: the hover, the keyboard, the table, what is not read yet. Called by
// console.e2e.mjs.
import assert from 'node:assert/strict';
import { broken, open, says, settled, until } from './browser.mjs';

const kMargin = 106; // pixels of names and strips before the cells

const begun = async (page) => {
  await says(page, /pairs tested/);
  await page.waitForFunction(() => window.matrixView, { polling: 50 });
  await settled(page);
};
// The place of a pair on the canvas, and what the page says below it.
const placeOf = async (page, row, column) => {
  const box = await (await page.$('canvas.matrix')).boundingBox();
  const cell = (Math.min(box.width, box.height) - kMargin) / 32;
  return [box.x + kMargin + cell * (column + 0.5), box.y + kMargin + cell * (row + 0.5)];
};
const under = (page) => page.$$eval('.under dl > div', (rows) => Object.fromEntries(rows.map((row) => [row.querySelector('dt').innerText, row.querySelector('dd').innerText])));
const read = (page, path) =>
  page.evaluate(async (what) => (await fetch(`api/v1/${what}`, { headers: { 'X-Railgauge-Session': localStorage.getItem('railgauge-session') } })).json(), path);

async function checkHover({ browser, page, origin, faults }) {
  const guest = await open(browser, origin, faults);
  const asked = [];
  let points = (list) => list;
  await guest.setRequestInterception(true);
  guest.on('request', async (request) => {
    const url = new URL(request.url());
    if (url.pathname !== '/api/v1/points/pair') return request.continue();
    asked.push(Object.fromEntries(url.searchParams));
    const list = await (await fetch(request.url(), { headers: request.headers() })).json();
    return request.respond({ contentType: 'application/json', body: JSON.stringify({ ...list, points: points(list.points) }) });
  });
  await guest.goto(`${origin}/#/matrix?rail=1`);
  await begun(guest);
  const frame = await read(guest, 'matrix?rail=1');
  const tile = await read(guest, `matrix/tile?rail=1&step=1&row=0&column=0&rows=32&columns=32&run_id=${frame.run_id}`);
  const at = tile.values.findIndex((value) => value !== null);
  const [row, column] = [Math.floor(at / 32), at % 32];
  const [from, to] = [frame.nodes[row], frame.nodes[column]];
  const own = (one) => one.endpoints[0].startsWith(`${from}/`) && Math.fround(one.point.rate ?? one.point.median) === Math.fround(tile.values[at]);
  const stored = await read(guest, `points/pair?run_id=${frame.run_id}&rail=1&from=${from}&to=${to}&metric=${frame.metric}&kernel=${frame.kernel}&message_bytes=${frame.message_bytes}`);
  assert.ok(stored.points.every((one) => [from, to].every((node) => one.endpoints.some((end) => end.startsWith(`${node}/`)))), 'of the two nodes alone');
  const point = stored.points.find(own)?.point;
  assert.ok(point, 'the cell has its point');
  const gigabytes = (value) => `${(value / 1e9).toFixed(value >= 1e10 ? 1 : 2)} GB/s`;
  const [low, high] = point.rate === undefined ? [point.median_low, point.median_high] : [point.rate_low, point.rate_high];
  // The reverse direction, another memory and a follow-up have other intervals, and come first.
  const others = (list) => list.filter(own).flatMap((one) => {
    const wide = { ...one.point, rate_low: 1e9, rate_high: 2e9, median_low: 1e9, median_high: 2e9 };
    return [
      { ...one, endpoints: [...one.endpoints].reverse(), point: wide },
      { ...one, facts: { ...one.facts, memory: 'cuda' }, point: wide },
      { ...one, task_id: 'd1', point: wide },
      { ...one, point: { ...wide, rate: wide.rate && 1.01 * wide.rate, median: 1.01 * wide.median } },
    ];
  });
  points = (list) => [...others(list), ...list];
  const hovered = async () => {
    await guest.mouse.move(...(await placeOf(guest, row, column)));
    await until(async () => !['…', undefined].includes((await under(guest))['95 % interval']), 'nothing is said of the interval');
    return under(guest);
  };
  const said = await hovered();
  assert.deepEqual([said.From, said.To], [from, to]);
  assert.equal(said['95 % interval'], low === undefined ? 'no interval is kept of this figure' : `${gigabytes(low)} to ${gigabytes(high)}`);
  assert.deepEqual([asked[0].run_id, asked[0].rail, asked[0].from, asked[0].to], [frame.run_id, '1', from, to]);
  // Without its own point no other one takes its place.
  points = others;
  await guest.mouse.move(...(await placeOf(guest, row, row)));
  assert.equal((await hovered())['95 % interval'], 'no interval is kept of this figure');
  await guest.close();
  await page.bringToFront();
}

async function checkKeyboard({ page, go }) {
  await go('matrix?rail=1&order=worst');
  await begun(page);
  // A choice by the keyboard keeps the focus, again and again.
  const labelled = (label) => page.evaluateHandle((text) => [...document.querySelectorAll('main label')].find((one) => one.innerText.startsWith(text)).querySelector('select'), label);
  const order = await labelled('Order');
  await order.focus();
  for (const word of ['slot', 'name', 'worst']) {
    await order.select(word);
    await page.waitForFunction((to) => window.matrixView?.frame.order === to, { polling: 50 }, word);
    await settled(page);
    assert.ok(await order.evaluate((one) => one.isConnected && document.activeElement === one), `the focus is lost by the choice of ${word}`);
  }
  await page.focus('canvas.matrix');
  await page.keyboard.press('ArrowDown'); // the first cell
  assert.deepEqual(await page.evaluate(() => window.matrixView.cursor), { row: 0, column: 0 });
  // The first row is the slow node: along it is a pair that was tested.
  let said = {};
  for (let i = 0; i < 31 && !/GB/.test(said.Figure ?? ''); ++i) {
    await page.keyboard.press('ArrowRight');
    await settled(page);
    said = await under(page);
  }
  assert.match(said.Figure, /GB.s/);
  assert.equal(said.From, 'sim0012');
  assert.equal(await page.$eval('.under', (one) => one.getAttribute('aria-live')), 'polite');
  await page.keyboard.press('Enter');
  await says(page, new RegExp(`sim0012 → ${said.To}: [^]*Its series over time`));
  // The cursor is in the picture wherever it goes.
  for (const key of ['+', '+', '+']) await page.keyboard.press(key);
  for (let i = 0; i < 40; ++i) await page.keyboard.press('ArrowDown');
  const { cursor, seen } = await page.evaluate(() => ({ cursor: window.matrixView.cursor, seen: window.matrixView.seenBlock() }));
  assert.equal(cursor.row, 31);
  assert.ok(cursor.row >= seen.row && cursor.row < seen.row + seen.rows, JSON.stringify({ cursor, seen }));
  assert.equal(await page.$eval('canvas.matrix', (one) => one.style.touchAction), 'none');
  await page.keyboard.press('0');
  assert.equal(await page.$eval('canvas.matrix', (one) => one.style.touchAction), 'pan-y', 'a finger scrolls the page where the picture has nowhere to go');
}

async function checkTable({ page, go }) {
  await go('matrix?rail=1');
  await begun(page);
  await page.focus('#pairs summary');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#pairs tbody tr');
  const rows = await page.$$eval('#pairs tbody tr', (all) => all.map((row) => [...row.cells].map((cell) => cell.innerText)));
  assert.equal(rows[0][0], 'sim0012', 'the worst pair is that of the slow port');
  const shares = rows.map((row) => parseFloat(row[3]));
  assert.deepEqual(shares, [...shares].sort((a, b) => a - b));
  await page.focus('#pairs tbody button');
  await page.keyboard.press('Enter');
  await says(page, new RegExp(`sim0012 → ${rows[0][1]}: [^]*Its series over time`));
  assert.deepEqual(await broken(page), []);
}

// Of what is not read nobody knows whether it was tested.
async function checkUnread({ browser, page, origin, faults }) {
  const guest = await open(browser, origin, faults);
  const held = [];
  await guest.setRequestInterception(true);
  guest.on('request', (request) => (/matrix\/tile/.test(request.url()) ? held.push(request) : request.continue()));
  await guest.goto(`${origin}/#/matrix?rail=1`);
  await says(guest, /pairs tested/);
  await until(() => held.length > 0, 'no tile is asked for');
  await new Promise((done) => setTimeout(done, 300));
  // Colours in a square of cells of one leaf, whose border is a line.
  const colours = () => guest.$eval('canvas.matrix', (canvas) => {
    const { data } = canvas.getContext('2d').getImageData(115, 115, 100, 100);
    const all = new Set();
    for (let i = 0; i < data.length; i += 4) all.add(`${data[i]},${data[i + 1]},${data[i + 2]}`);
    return all.size;
  });
  assert.equal(await colours(), 1, 'what is not read looks alike');
  for (const request of held.splice(0)) await request.continue();
  await until(async () => (await colours()) > 3, 'what was read is not drawn');
  await guest.close();
  await page.bringToFront();
}

export async function checkMatrix(tools) {
  await tools.check('the hover says the interval of the cell itself, or that none is kept', () => checkHover(tools));
  await tools.check('the cells of the matrix are walked along and opened by the keyboard', () => checkKeyboard(tools));
  await tools.check('the matrix has the worst pairs as a table, which the keyboard opens', () => checkTable(tools));
  await tools.check('what is not read yet does not look untested', () => checkUnread(tools));
}
