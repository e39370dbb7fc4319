// Times of pages in a browser, for the benchmarks.
const kFrames = 150;

export const quantile = (values, q) => [...values].sort((a, b) => a - b)[Math.min(Math.floor(values.length * q), values.length - 1)];

// Milliseconds from the begin of the navigation to the first picture of the matrix on its canvas, and of a frame while it
// is moved: `pan` from frame to frame, `draw` of it in our own code. The view draws once a frame, as for a user.
export async function matrixTimes(browser, url, picture) {
  const page = await browser.newPage();
  await page.setViewport({ width: 1280, height: 900 });
  await page.evaluateOnNewDocument(() => {
    const draw = CanvasRenderingContext2D.prototype.drawImage;
    // A strip beside the matrix is a picture of one pixel's width, and is there before any tile.
    CanvasRenderingContext2D.prototype.drawImage = function (...all) {
      if (this.canvas.isConnected && all[0].width > 1 && all[0].height > 1) globalThis.firstPaint ??= performance.now();
      return draw.apply(this, all);
    };
  });
  await page.goto(url);
  const refused = () => /^.*cells.*$/m.exec(document.querySelector('main [role=alert], main .error')?.innerText ?? '')?.[0];
  await page.waitForFunction(`(globalThis.firstPaint && globalThis.matrixView) || (${refused})()`, { timeout: 60_000 });
  const why = await page.evaluate(refused);
  if (why) {
    await page.close();
    throw new Error(why);
  }
  const first = await page.evaluate(() => globalThis.firstPaint);
  await page.waitForNetworkIdle({ idleTime: 300 });
  const frames = await page.evaluate(async (count) => {
    const view = globalThis.matrixView;
    view.zoomBy(4);
    const times = [];
    const draws = [];
    const draw = view.draw.bind(view);
    view.draw = () => {
      const begin = performance.now();
      draw();
      draws.push(performance.now() - begin);
    };
    let last = performance.now();
    for (let i = 0; i < count; ++i) {
      view.moveBy(i % 60 < 30 ? -6 : 6, 4 - (i % 9));
      await new Promise((done) => requestAnimationFrame(done));
      times.push(performance.now() - last);
      last = performance.now();
    }
    return { times, draws };
  }, kFrames);
  if (picture) await page.screenshot({ path: picture });
  await page.close();
  return { first, pan: quantile(frames.times, 0.95), draw: quantile(frames.draws, 0.95) };
}

// Milliseconds from the begin of the answer with a series' points in the page to its chart, and how many points it has. The
// console is open already, at a page that asks for nothing.
export async function seriesTime(browser, url) {
  const page = await browser.newPage();
  await page.setViewport({ width: 1280, height: 900 });
  await page.evaluateOnNewDocument(() => {
    const parse = Response.prototype.json;
    Response.prototype.json = async function () {
      const begin = performance.now();
      const all = await parse.call(this);
      const count = all?.headlines?.length ?? 0;
      if (count > 100) Object.assign(globalThis, { readAt: begin, pointsRead: count });
      return all;
    };
    const stroke = CanvasRenderingContext2D.prototype.stroke;
    CanvasRenderingContext2D.prototype.stroke = function (...all) {
      const result = stroke.apply(this, all);
      if (!this.canvas.closest?.('.chart') || globalThis.drawnAt) return result;
      // All strokes of one picture are made in one turn. Marks of changes come with answers of their own.
      if (!globalThis.strokeAt) setTimeout(() => (globalThis.drawnAt = globalThis.strokeAt));
      globalThis.strokeAt = performance.now();
      return result;
    };
  });
  await page.goto(new URL('#/playground', url).href);
  await page.waitForNetworkIdle({ idleTime: 300 });
  await page.evaluate((hash) => (location.hash = hash), new URL(url).hash);
  await page.waitForFunction(() => globalThis.drawnAt && globalThis.readAt, { timeout: 60_000 });
  const took = await page.evaluate(() => ({ milliseconds: globalThis.drawnAt - globalThis.readAt, points: globalThis.pointsRead }));
  await page.close();
  return took;
}
