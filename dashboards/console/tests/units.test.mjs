// Parts of the pages that need no browser: node --test tests/units.test.mjs
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildSync } from 'esbuild';

// A module of the pages, compiled as the build does it.
const load = async (name) => {
  const { outputFiles } = buildSync({ entryPoints: [new URL(`../src/${name}.ts`, import.meta.url).pathname], bundle: true, write: false, format: 'esm' });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].text).toString('base64')}`);
};

const { bytes, figure, foldNames, percent, time, ago } = await load('format');
const { heatOf, isWorse, kHeats, pixel } = await load('heat');
const { link, parse } = await load('route');
const { EventReader } = await load('events');

test('a URL keeps whatever a name holds', () => {
  for (const name of ['sim0001', 'a/b?c#d&e=f', '<img src=x>', '\u202eright', 'ü "quoted"', 'x'.repeat(1000), '%zz']) {
    const { path, query } = parse(link(['nodes', name], { text: name, empty: '', none: undefined }));
    assert.deepEqual(path, ['nodes', name]);
    assert.equal(query.get('text'), name);
    assert.ok(!query.has('empty') && !query.has('none'));
  }
  assert.deepEqual(parse('#/nodes/%zz').path, ['nodes', '%zz']);
});

test('classes of figures have the bounds of the command line', () => {
  const words = (share, larger) => kHeats[heatOf(share, larger)].words;
  assert.equal(words(1, true), 'within 3 %');
  assert.equal(words(1.05, true), 'more than 3 % better');
  assert.equal(words(0.95, true), '3 to 7 % worse');
  assert.equal(words(0.9, true), '7 to 15 % worse');
  assert.equal(words(0.8, true), '15 to 30 % worse');
  assert.equal(words(0.5, true), 'more than 30 % worse');
  assert.equal(words(1.2, false), '15 to 30 % worse');
  assert.equal(words(0.9, false), 'more than 3 % better');
  assert.ok(isWorse(0.8, 0.9, true) && !isWorse(0.8, 0.9, false));
});

test('a pixel has its colour in the order of ImageData, opaque', () => {
  assert.deepEqual([...new Uint8Array(new Uint32Array([pixel('#123456')]).buffer)], [0x12, 0x34, 0x56, 0xff]);
});

// Tiles of 2 x 2 cells, whose canvases keep the pixels; answers are promises by step, which the test settles.
const { Tiles } = await load('tiles');
const tilesOf = (mode, read, changed = () => {}) => {
  globalThis.document = {
    createElement: () => {
      const canvas = {};
      canvas.getContext = () => ({
        createImageData: (width, height) => ({ data: new Uint8ClampedArray(width * height * 4) }),
        putImageData: (image) => (canvas.pixels = [...new Uint32Array(image.data.buffer)]),
      });
      return canvas;
    },
  };
  return new Tiles({}, { steps: [1, 4], nodes: [], larger_is_better: true }, mode, changed, read);
};
const tile = (step, values) => ({ step, row: 0, column: 0, rows: 2, columns: 2, values, of_expected: [1, 1, 1, 1], untested: [0, 0, 0, 0] });
const settled = () => new Promise((resolve) => setImmediate(resolve));

test('colours of figures span those of the whole matrix, whichever tile comes first', async () => {
  const answers = {};
  const tiles = tilesOf('value', (values) => new Promise((resolve) => (answers[values.step] = resolve)));
  assert.ok(answers[4], 'the coarsest is asked for by itself');
  assert.equal(tiles.at(1, 0, 0), undefined);
  answers[1](tile(1, [10, 12, 14, 20]));
  await settled();
  answers[4](tile(4, [10, null, null, 20]));
  await settled();
  const { pixels } = tiles.at(1, 0, 0).picture;
  assert.equal(new Set(pixels).size, 4);
  assert.equal(pixels[0], tiles.at(4, 0, 0).picture.pixels[0]);
});

test('a tile that was not read is asked for again, and its error goes', async (context) => {
  context.mock?.timers.enable({ apis: ['setTimeout'] });
  const said = [];
  let reads = 0;
  const tiles = tilesOf('share', () => (++reads === 1 ? Promise.reject(new Error('too busy')) : Promise.resolve(tile(1, [1, 1, 1, 1]))), (text) => said.push(text));
  assert.equal(tiles.at(1, 0, 0), undefined);
  await settled();
  assert.deepEqual(said, ['too busy']);
  if (context.mock?.timers) context.mock.timers.tick(3000);
  else await new Promise((resolve) => setTimeout(resolve, 3100));
  assert.deepEqual(said, ['too busy', undefined], 'a picture is drawn again');
  assert.equal(tiles.at(1, 0, 0), undefined);
  await settled();
  assert.ok(tiles.at(1, 0, 0));
  assert.deepEqual(said, ['too busy', undefined, '']);
  tiles.end();
});

test('events are complete whatever pieces they come in, and comments are none', () => {
  const text = 'retry: 2000\n\nevent: state\ndata: {"a":"x: y"}\n\n: still here\n\nevent: end\ndata: {}\n\n';
  const expected = [{ type: 'state', data: '{"a":"x: y"}' }, { type: 'end', data: '{}' }];
  for (let size = 1; size <= text.length; ++size) {
    const reader = new EventReader();
    const all = [];
    for (let at = 0; at < text.length; at += size) all.push(...reader.take(text.slice(at, at + size)));
    assert.deepEqual(all, expected, `pieces of ${size}`);
  }
  assert.deepEqual(new EventReader().take('event: state\ndata: {}\n'), [], 'its end has not come');
});

test('names are folded into a node set that has them all', () => {
  assert.equal(foldNames([]), '');
  assert.equal(foldNames(['login']), 'login');
  assert.equal(foldNames(['gpu003', 'gpu001', 'gpu002', 'gpu002', 'gpu007', 'login']), 'gpu[001-003,007],login');
  assert.equal(foldNames(['n9', 'n10', 'n11']), 'n[10-11],n9');
  assert.equal(foldNames(['rack1-gpu1', 'rack1-gpu2', 'rack2-gpu1']), 'rack1-gpu[1-2],rack2-gpu1');
  const many = Array.from({ length: 10_000 }, (_, i) => `sim${String(i).padStart(5, '0')}`);
  assert.equal(foldNames(many), 'sim[00000-09999]');
});

test('figures are printed as the tables have them', () => {
  assert.equal(figure(48.6e9, 'bytes_per_second'), '48.6 GB/s');
  assert.equal(figure(1500, 'ns'), '1.50 µs');
  assert.equal(figure(null, 'ns'), '–');
  assert.equal(figure(0, 'ns'), '0.000 µs');
  assert.equal(bytes(65536), '64 KiB');
  assert.equal(bytes(1000), '1000 B');
  assert.equal(percent(0.805), '80.5 %');
  assert.equal(time('2026-11-20T12:00:30Z'), '2026-11-20 12:00 UTC');
  assert.equal(time('no time'), 'no time');
  assert.equal(ago('2026-11-20T12:00:00Z', Date.parse('2026-11-20T12:01:00Z')), '60 s ago');
});
