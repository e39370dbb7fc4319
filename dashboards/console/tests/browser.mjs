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

// A page whose errors, dialogs and requests to elsewhere are kept in `faults`.
export async function open(browser, origin, faults) {
  const page = await browser.newPage();
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
export async function says(page, words, seconds = 10) {
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

export const overflows = (page) => page.evaluate(() => document.scrollingElement.scrollWidth - document.documentElement.clientWidth);
