// A headless Chromium for the tests, and what each page has to hold.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import puppeteer from 'puppeteer-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

// Chromium's own sandbox refuses to run as root, which test machines are.
export async function launch(chromium) {
  const args = ['--disable-gpu', '--disable-dev-shm-usage', '--force-color-profile=srgb', '--no-proxy-server'];
  if (process.getuid() === 0) args.push('--no-sandbox');
  return puppeteer.launch({ executablePath: chromium, args, headless: true });
}

// Requests of each page that have no answer yet, without streams of events.
const pending = new WeakMap();

function follow(page) {
  const open = new Set();
  pending.set(page, open);
  page.on('request', (request) => {
    // A new document ends what the one before asked for, and not each of those requests reports its end.
    if (request.isNavigationRequest() && request.frame() === page.mainFrame()) open.clear();
    if (/\/api\/v1\/(?!live\/)/.test(request.url())) open.add(request);
  });
  for (const end of ['requestfinished', 'requestfailed']) page.on(end, (request) => open.delete(request));
}

// A request that a test answered itself reports its end not always.
export const answered = (page, request) => pending.get(page).delete(request);

// The browser has drawn, and run what waits for that. A page that is behind another one draws nothing.
const frame = (page) =>
  page.evaluate(() => Promise.race([new Promise((done) => requestAnimationFrame(() => setTimeout(done))), new Promise((done) => setTimeout(done, 1000))]));

// Waits until the page reads nothing and has drawn what it read, three frames in a row.
export async function settled(page, seconds = 30) {
  const until = Date.now() + seconds * 1000;
  for (let calm = 0; calm < 3; ) {
    if (Date.now() > until) throw new Error(`the page still reads ${[...pending.get(page)].map((request) => request.url()).join(' ') || 'nothing, and is not drawn'}`);
    await frame(page);
    calm = pending.get(page).size === 0 ? calm + 1 : 0;
  }
}

// Waits until `holds` does; fails after `seconds`, with `why`.
export async function until(holds, why, seconds = 30) {
  const end = Date.now() + seconds * 1000;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(typeof why === 'function' ? await why() : why);
    await new Promise((done) => setTimeout(done, 50));
  }
}

// A page whose errors, dialogs and requests to elsewhere are kept in `faults`.
export async function open(browser, origin, faults) {
  const page = await browser.newPage();
  follow(page);
  await page.setViewport({ width: 1280, height: 900 });
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) faults.push(`console: ${message.text()}`);
  });
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(origin) && !/^(data|blob|about):/.test(url)) faults.push(`request to elsewhere: ${url}`);
  });
  return page;
}

// Waits until the page says `words`; fails after `seconds` with what it says instead.
export async function says(page, words, seconds = 30) {
  const until = Date.now() + seconds * 1000;
  const fits = (said) => (words instanceof RegExp ? words.test(said) : said.includes(words));
  let said = '';
  while (Date.now() < until) {
    // A page that is being left has no text.
    said = await page.evaluate(() => document.body.innerText).catch(() => '');
    if (fits(said)) return said;
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error(`the page does not say ${words}; it says: ${said.slice(0, 600)}`);
}

// Rules of WCAG 2 A and AA that the page breaks.
export async function broken(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(() =>
    globalThis.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'] }),
  );
  return found.violations.map((rule) => `${rule.id}: ${rule.nodes.map((node) => node.html.slice(0, 120)).slice(0, 3).join(' | ')}`);
}

const overflows = (page) => page.evaluate(() => document.scrollingElement.scrollWidth - document.documentElement.clientWidth);
// A chart follows the window with a frame or two.
export const isNarrow = (page) => until(async () => (await overflows(page)) <= 0, async () => `it is wider than a telephone by ${await overflows(page)}`, 10);
