// Parts of the pages that need no browser: node --test tests/units.test.mjs
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { buildSync } from 'esbuild';

// A module of the pages, compiled as the build does it.
const load = async (name) => {
  const { outputFiles } = buildSync({ entryPoints: [new URL(`../src/${name}.ts`, import.meta.url).pathname], bundle: true, write: false, format: 'esm' });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].text).toString('base64')}`);
};

const { bytes, figure, foldNames, percent, secondsOf, time, ago } = await load('parts/format');
const { heatOf, isWorse, kHeats, pixel, shapeOf } = await load('matrix/heat');
const { link, parse } = await load('api/route');
const { EventReader } = await load('api/events');

const { confidence, fits, groupsOf, idsOf, isCared, isSettled, masterOf, precisionWords, tagsOf } = await load('parts/inbox');
const finding = (finding_id, more = {}) => ({ finding_id, kind: 'step', state: 'new', summary: '', suspect: '', worse_percent: 3, owner: null, event_id: null, metric: null, tags: [], ...more });

test('findings that began together are one group, the largest first', () => {
  const groups = groupsOf([finding('own'), finding('a', { event_id: 'a' }), finding('b', { event_id: 'a' })]);
  assert.deepEqual(groups.map((group) => [group.event, idsOf(group)]), [['a', ['a', 'b']], ['own', ['own']]]);
});

test('a master checkbox is for none, some or all', () => {
  assert.deepEqual([masterOf(['a', 'b'], []), masterOf(['a', 'b'], ['b', 'x']), masterOf(['a', 'b'], ['a', 'b'])], ['none', 'some', 'all']);
});

test('the inbox is filtered by direction, text and tag', () => {
  const better = finding('f1', { worse_percent: -2, owner: 'Ada' });
  const lost = finding('f2', { worse_percent: null, tags: ['cable', 'rack7'], metric: 'verbs.write_bw' });
  const ids = (filter) => [better, lost].filter((one) => fits(one, { side: '', text: '', tag: '', ...filter })).map((one) => one.finding_id);
  assert.deepEqual(ids({}), ['f1', 'f2']);
  assert.deepEqual(ids({ side: 'better' }), ['f1']);
  assert.deepEqual(ids({ side: 'worse' }), ['f2'], 'lost function is no improvement');
  assert.deepEqual(ids({ text: 'ada' }), ['f1']);
  assert.deepEqual(ids({ text: 'write_bw' }), ['f2']);
  assert.deepEqual(ids({ tag: 'cable' }), ['f2']);
  assert.deepEqual(ids({ tag: 'cab' }), [], 'a tag is a whole word');
  assert.deepEqual(tagsOf([better, lost, finding('f3', { tags: ['cable'] })]), ['cable', 'rack7']);
});

test('a finding that a person cares for is neither new nor settled', () => {
  const of = (state) => [isCared(finding('f', { state })), isSettled(finding('f', { state }))];
  for (const state of ['acknowledged', 'investigating', 'downstream']) assert.deepEqual(of(state), [true, false], state);
  for (const state of ['accepted', 'fixed', 'rolled_back', 'false']) assert.deepEqual(of(state), [false, true], state);
  for (const state of ['new', 'confirmed', 'reopened']) assert.deepEqual(of(state), [false, false], state);
});

test('the precision is of settled findings', () => {
  assert.match(precisionWords([0, 0, 0, 0], 1000), /^No finding/);
  assert.equal(precisionWords([1, 2, 0, 1], 1000), '3 of 4 settled findings were no false alarms: 75.0 %.');
  assert.match(precisionWords([1000, 2, 0, 1], 1000), /of each state the newest 1000/);
});

test('a confidence has no more digits than it has, and none is no zero', () => {
  assert.deepEqual([null, 50, 98.7, 99.21, 99.96, 100].map(confidence), ['–', '50 %', '99 %', '99.2 %', '> 99.9 %', '> 99.9 %']);
});

const { aaBands } = await load('series/aa');
test('an A/A band is around the level between two changes', () => {
  const figures = [10, 10, NaN, 20, 20];
  const bands = aaBands(figures, { noise_percent: 5, changes: [{ index: 3, kind: 'step' }, { index: 1, kind: 'variance' }, { index: 9, kind: 'step' }] });
  assert.deepEqual(bands.map((one) => [one.first, one.last]), [[0, 2], [3, 4]]);
  assert.ok(Math.abs(bands[0].low - 9.02) < 1e-9 && Math.abs(bands[1].high - 21.96) < 1e-9, JSON.stringify(bands));
  assert.deepEqual(aaBands(figures, { noise_percent: 5, changes: [], first: 2 }).map((one) => one.first), [2], 'no change was looked for before');
  assert.deepEqual(aaBands(figures, { noise_percent: null, changes: [] }), []);
  assert.deepEqual(aaBands([], { noise_percent: 5, changes: [] }), []);
});

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
const { Tiles } = await load('matrix/tiles');
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
const { cellsOf } = await load('matrix/cells');
const tile = (step, values) => cellsOf({ step, row: 0, column: 0, rows: 2, columns: 2, values, of_expected: [1, 1, 1, 1], untested: [0, 0, 0, 0], age_days: [] });
const settled = () => new Promise((resolve) => setImmediate(resolve));

test('colours of figures span those of the whole matrix, whichever tile comes first', async () => {
  const answers = {};
  const tiles = tilesOf('value', (values) => new Promise((resolve) => (answers[values.step] = resolve)));
  await settled();
  assert.ok(answers[4], 'the coarsest is asked for by itself');
  assert.equal(tiles.at(1, 0, 0), undefined);
  await settled();
  answers[1](tile(1, [10, 12, 14, 20]));
  await settled();
  answers[4](tile(4, [10, null, null, 20]));
  await settled();
  const { pixels } = tiles.at(1, 0, 0).picture;
  assert.equal(new Set(pixels).size, 4);
  assert.equal(pixels[0], tiles.at(4, 0, 0).picture.pixels[0]);
});

test('a cell of several pairs lets the hatching through where one of them is untested', async () => {
  const cells = (step) => cellsOf({ step, row: 0, column: 0, rows: 2, columns: 2, values: [1, 1, 1, 1], of_expected: [1, 1, 1, 1], untested: [1, 0, 15, 0], age_days: [] });
  const tiles = tilesOf('share', (values) => Promise.resolve(cells(values.step)));
  tiles.at(4, 0, 0);
  await settled();
  const alpha = (value) => value >>> 24;
  const [some, none, most] = tiles.at(4, 0, 0).picture.pixels;
  assert.ok(alpha(some) < 0xff && alpha(most) < 0xff && alpha(some) > 0);
  assert.equal(alpha(none), 0xff);
  assert.equal(some & 0xffffff, none & 0xffffff);
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

test('the overview comes before fine cells, of which two are read at a time', async () => {
  const reads = [];
  const tiles = tilesOf('share', ({ step, column }) => new Promise((resolve) => reads.push({ step, column, resolve })));
  for (const column of [0, 1, 2]) tiles.at(1, 0, column);
  tiles.at(4, 0, 0);
  await settled();
  assert.deepEqual(reads.map(({ step }) => step), [4, 1, 1]);
  reads[0].resolve(tile(4, [1, 1, 1, 1]));
  await settled();
  assert.equal(reads.length, 3, 'a place of the overview is none for fine cells');
  reads[1].resolve(tile(1, [1, 1, 1, 1]));
  await settled();
  assert.deepEqual(reads.map(({ column }) => column), [0, 0, 256, 512]);
  tiles.end();
});

test('a tile that left the picture is given up, and is read when it comes back', async () => {
  const said = [];
  const reads = [];
  const read = ({ step, column }, signal) => new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('given up')));
    reads.push({ step, column, signal, resolve });
  });
  const tiles = tilesOf('share', read, (text) => said.push(text));
  tiles.at(4, 0, 0);
  tiles.at(1, 0, 0);
  tiles.at(1, 0, 1);
  tiles.at(1, 0, 2);
  await settled();
  tiles.forget();
  tiles.at(1, 0, 1);
  tiles.settle();
  await settled();
  assert.deepEqual(reads.map(({ signal }) => signal.aborted), [false, true, false], 'the overview and the one in the picture continue');
  assert.deepEqual(said, [], 'nobody is told');
  tiles.forget();
  tiles.at(1, 0, 0);
  tiles.at(1, 0, 1);
  tiles.settle();
  await settled();
  assert.equal(reads.length, 4);
  reads[3].resolve(tile(1, [1, 1, 1, 1]));
  await settled();
  assert.ok(tiles.at(1, 0, 0));
  tiles.end();
  assert.ok(reads.every(({ signal }, i) => signal.aborted === (i !== 3)), 'at the end all others are given up');
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

const { kLateSeconds, lateWords, mayLack } = await load('parts/late');
test('a late archive is said with what helps, by the bound of the alert', () => {
  assert.equal(lateWords(null, false), undefined, 'there is no archive');
  assert.equal(lateWords(kLateSeconds, false), undefined);
  const late = lateWords(kLateSeconds + 220, false);
  assert.match(late.words, /12\.0 min late/);
  assert.equal(late.command, 'railgauge events --kind mirror');
  assert.match(lateWords(3, true).words, /^Done, but the archive may lack it/);
  assert.deepEqual([mayLack(10, 6), mayLack(3, 6), mayLack(0, 0.1), mayLack(null, 6)], [true, false, false, true]);
  const alerts = readFileSync(new URL('../../source/alerts.py', import.meta.url), 'utf8');
  assert.match(alerts, new RegExp(`railgauge_mirror_lag_seconds\\) > ${kLateSeconds}"`));
});

const { isSame, spanOf, valuesOfSpan } = await load('series/span');
test('a zoom of a series is in the URL, and comes back from it as the same', () => {
  const query = (text) => new URLSearchParams(text);
  assert.equal(spanOf(query('')), undefined);
  assert.equal(spanOf(query('from=5')), undefined);
  assert.equal(spanOf(query('from=5&until=2')), undefined);
  assert.equal(spanOf(query('from=x&until=2')), undefined);
  const span = [1700000000.04, 1700086400.06];
  assert.ok(isSame(spanOf(new URLSearchParams(valuesOfSpan(span))), span));
  assert.deepEqual(valuesOfSpan(undefined), { from: '', until: '' });
  assert.deepEqual([isSame(undefined, undefined), isSame(span, undefined), isSame([0, 100], [0, 101]), isSame([0, 100], [0, 100.1])], [true, false, false, true]);
});

const { lastBefore } = await load('matrix/against');
test('a matrix is compared with the last run of its suite before the newest upgrade behind it', () => {
  const run = (run_id, day, more = {}) => ({ run_id, suite: 'nightly', state: 'ended', created_at: `2026-11-0${day}T01:00:00Z`, ended_at: `2026-11-0${day}T02:00:00Z`, ...more });
  const runs = [run('r5', 5), run('r4', 4), run('r3', 3, { suite: 'quick' }), run('r2', 2), run('r1', 1)];
  const upgrade = (upgrade_id, day) => ({ upgrade_id, since: null, created_at: `2026-11-0${day}T12:00:00Z` });
  assert.deepEqual(lastBefore(runs[0], runs, [upgrade('u6', 6), upgrade('u3', 3), upgrade('u1', 1)]), { run_id: 'r2', upgrade: 'u3' });
  assert.equal(lastBefore(runs[4], runs, [upgrade('u3', 3)]), undefined, 'no upgrade is behind it');
  assert.equal(lastBefore(runs[3], runs, [{ ...upgrade('u0', 1), created_at: '2026-10-31T12:00:00Z' }]), undefined, 'no run was before it');
  assert.equal(lastBefore(undefined, runs, [upgrade('u3', 3)]), undefined);
});

test('a pair that is worse has a shape besides its colour', () => {
  assert.deepEqual([1.1, 1, 0.98, 0.96, 0.86, 0.84, 0.5].map((share) => shapeOf(share, true)).join(''), '●●●▲▲■■');
  assert.deepEqual([0.9, 1.02, 1.1, 1.2].map((share) => shapeOf(share, false)).join(''), '●●▲■');
});

const { bordersOf, lackOf } = await load('matrix/bands');
test('bands of the matrix are leaves within pods, or slots in their order', () => {
  const leaves = ['L0', 'L0', 'L1', 'L1', 'L1'];
  const pods = ['P0', 'P0', 'P0', 'P1', ''];
  const slots = ['1', '1', '2', '2', '2'];
  assert.deepEqual(bordersOf({ order: 'fabric', leaves, pods: [], slots: [] }), [2]);
  assert.deepEqual(bordersOf({ order: 'pod', leaves, pods, slots }), [2, 3, 4]);
  assert.deepEqual(bordersOf({ order: 'slot', leaves, pods, slots }), [2]);
  assert.deepEqual(bordersOf({ order: 'worst', leaves, pods: [], slots: [] }), []);
  assert.equal(lackOf({ order: 'pod', leaves, pods, slots }), '1 of 5 nodes have no label pod');
  assert.equal(lackOf({ order: 'fabric', leaves, pods: [], slots: [] }), '', 'nobody asked for them');
});

const { csvOf, stepFor, svgOf } = await load('matrix/export');
const framed = {
  run_id: 'r-1', kernel: 'k', metric: 'm', unit: 'bytes_per_second', rail: 0, larger_is_better: true, synthetic: true,
  nodes: ['=cmd|calc', 'a"b', '<svg onload=x>', 'd'],
};

test('times are read as Date reads them', () => {
  let seed = 7;
  const below = (n) => (seed = (seed * 48271) % 2147483647) % n;
  for (let i = 0; i < 2000; ++i) {
    const text = new Date(below(2_000_000_000) * 1000 + below(1000)).toISOString();
    assert.equal(secondsOf(text).toFixed(3), (Date.parse(text) / 1000).toFixed(3), text);
    const whole = `${text.slice(0, 19)}Z`;
    assert.equal(secondsOf(whole), Date.parse(whole) / 1000, whole);
  }
  assert.equal(secondsOf('2026-01-02T03:04:05+01:00'), Date.parse('2026-01-02T03:04:05+01:00') / 1000);
  assert.ok(Number.isNaN(secondsOf('yesterday')));
});

test('a CSV has a line for each cell, and no name becomes a formula', () => {
  const text = csvOf(framed, { step: 1, row: 0, column: 1, rows: 1, columns: 2, values: [4e10, null], of_expected: [0.5, null], untested: [0, 1] });
  assert.deepEqual(text.split('\n'), [
    'from,to,bytes_per_second,of_expected,untested_pairs,synthetic',
    '" =cmd|calc","a""b",40000000000,0.5,0,yes',
    '" =cmd|calc","<svg onload=x>",,,1,yes',
    '',
  ]);
});

test('an SVG has hostile names as text and says what is synthetic', () => {
  const text = svgOf(framed, { step: 1, row: 0, column: 0, rows: 4, columns: 1, values: [1, 1, 1, null], of_expected: [1, 0.5, 1, null], untested: [0, 0, 0, 1] });
  assert.ok(!text.includes('<svg onload'));
  assert.ok(text.includes('&#60;svg onload=x&#62;'));
  assert.ok(text.includes(', SYNTHETIC'));
  assert.equal(text.match(/fill="url\(#untested\)"/g).length, 1, 'an untested cell is hatched');
  assert.ok(text.includes(kHeats[5].colour), 'half of what is expected has the colour of the worst');
});

test('cells are as fine as the bound allows', () => {
  const steps = [1, 2, 4, 8];
  assert.equal(stepFor({ row: 0, rows: 100, column: 0, columns: 100 }, steps, 10_000), 1);
  assert.equal(stepFor({ row: 0, rows: 101, column: 0, columns: 100 }, steps, 10_000), 2);
  assert.equal(stepFor({ row: 0, rows: 10_000, column: 0, columns: 10_000 }, steps, 10), 8);
});

test('distance from the peers has its classes, and none without a scatter', async () => {
  const { farOf, kFar } = await load('matrix/heat');
  const words = (share, larger = true, scatter = 0.01) => kFar[farOf(share, larger, scatter)].words;
  assert.equal(words(1), 'within 3 σ');
  assert.equal(words(0.96), '3 to 5 σ worse');
  assert.equal(words(1.2, false), 'more than 12 σ worse');
  assert.equal(words(1.2), 'better by more than 3 σ');
  assert.equal(words(0.1, true, null), 'within 3 σ');
});

test('a saved view is a name and a place of this console, whatever a browser had kept', async () => {
  const { viewsOf, whyNotSaved, withView } = await load('parts/views');
  for (const text of [null, '', 'no JSON', '7', '{"name":"a"}', '[null, 7, {"name":"a","hash":"https://evil.example/"}, {"name":1,"hash":"#/"}]'])
    assert.deepEqual(viewsOf(text), [], text);
  const one = withView([], { name: ' night ', hash: '#/matrix?rail=1' });
  assert.deepEqual(one, [{ name: 'night', hash: '#/matrix?rail=1' }]);
  assert.deepEqual(viewsOf(JSON.stringify(one)), one);
  assert.deepEqual(withView(one, { name: 'night', hash: '#/runs' }), [{ name: 'night', hash: '#/runs' }]);
  for (const view of [{ name: ' ', hash: '#/' }, { name: 'a', hash: 'https://evil.example/' }, { name: 'a', hash: `#/${'x'.repeat(2000)}` }])
    assert.equal(withView(one, view), one);
  assert.equal(whyNotSaved({ name: 'a', hash: `#/${'x'.repeat(1998)}` }), undefined);
  assert.match(whyNotSaved({ name: 'a', hash: `#/${'x'.repeat(1999)}` }), /2001 characters, of 2000 at most/);
  assert.match(whyNotSaved({ name: ' ', hash: '#/' }), /its name is blank/);
  let many = [];
  for (let i = 0; i < 60; ++i) many = withView(many, { name: `v${i}`, hash: '#/' });
  assert.equal(many.length, 50);
  assert.equal(many[0].name, 'v59');
});

test('a summary has what strangers named between back quotes, and as little as is read', async () => {
  const { findingMarkdown, findingsMarkdown, upgradeMarkdown } = await load('parts/markdown');
  const finding = {
    finding_id: 'f1', kind: 'lost_function', state: 'new', severity: 'high', summary: '`[x](javascript:1)`\n# y', suspect: 'n1', worse_percent: 5, opened_at: 'T', since: null,
    owner: 'ada', causes: Array(9).fill('c'), next: [],
  };
  const text = findingMarkdown(finding, 'http://x/');
  assert.ok(text.startsWith('**high lost function**, new: ` [x](javascript:1)  # y`\n'), text);
  assert.equal(text.match(/- changed/g).length, 5);
  assert.match(text, /- owner: `ada`/);
  assert.doesNotMatch(text, /SYNTHETIC|UNKNOWN/);
  assert.match(findingMarkdown({ ...finding, data_kind: 'synthetic' }, 'http://x/'), /\n\nSYNTHETIC: of a modelled site\n$/);
  assert.match(findingMarkdown({ ...finding, data_kind: 'unknown' }, 'http://x/'), /\n\nUNKNOWN: .*\n$/);
  assert.match(findingsMarkdown([finding], 'http://x/', 'synthetic'), /\n\nSYNTHETIC: of a modelled site\n$/);
  assert.doesNotMatch(findingsMarkdown([finding], 'http://x/'), /SYNTHETIC/);
  const list = findingsMarkdown([finding, { ...finding, finding_id: 'f2', owner: null, worse_percent: null }], 'http://x/');
  assert.equal(list.split('\n').filter((line) => line.startsWith('- ')).length, 2);
  assert.match(list, /owner `ada` \(f1\)/);
  const upgrade = {
    upgrade_id: 'u1', verdict: 'regressed', state: 'judged', reason: 'slower', nodes: ['a'], controls: [], synthetic: true, next: [],
    metrics: [{ name: 'm', verdict: 'regressed', worse_percent: 5, low_percent: 4, high_percent: 6 }],
    causes: [{ changes: ['a', 'b'], exposed: 2, exposed_worse: 2, unexposed: 3, unexposed_worse: 0 }],
  };
  const said = upgradeMarkdown(upgrade, 'http://x/');
  assert.match(said, /2 of 2 with it got worse, 0 of 3 without/);
  assert.match(said, /SYNTHETIC/);
  assert.doesNotMatch(upgradeMarkdown({ ...upgrade, synthetic: false }, 'http://x/'), /SYNTHETIC/);
  assert.match(upgradeMarkdown({ ...upgrade, synthetic: false, data_kind: 'unknown' }, 'http://x/'), /UNKNOWN/);
});

test('pages above 150 kB, packed, are refused, and so is a folder without pages', () => {
  const folder = mkdtempSync(join(tmpdir(), 'console_size_'));
  const refuses = () => spawnSync(process.execPath, [new URL('../size.mjs', import.meta.url).pathname, folder]).status;
  assert.equal(refuses(), 1, 'there is no page');
  writeFileSync(join(folder, 'index.html'), 'x'.repeat(1_000_000));
  assert.equal(refuses(), 0, 'a million equal letters are packed well');
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'assets', 'a.js'), randomBytes(150_000));
  assert.equal(refuses(), 1);
  rmSync(folder, { recursive: true });
});

test('choices of one key count those that fit all others, and series are split by a key', async () => {
  const { chosenOf, facetsOf, splitBy } = await load('series/facets');
  const series = (kernel, memory, nodes) => ({ kernel, metric: 'm', meaning: '', message_bytes: 8, endpoints: nodes.map((one) => `${one}/nic`), parameters: memory ? { memory } : {} });
  const all = [series('a', 'gpu', ['n1', 'n2']), series('a', 'host', ['n1', 'n2']), series('b', 'host', ['n1', 'n3']), series('b', '', ['n1', 'n3'])];
  const of = (chosen) => Object.fromEntries(facetsOf(all, chosen).map(({ key, values }) => [key, values]));
  assert.deepEqual(Object.keys(of({})), ['kernel', 'nodes', 'memory'], 'a key with one value is no choice');
  assert.deepEqual(of({}).memory, [['host', 2], ['gpu', 1]]);
  assert.deepEqual(of({ kernel: 'b' }).memory, undefined);
  assert.deepEqual(of({ kernel: 'b' }).kernel, [['a', 2], ['b', 2]], 'its own key can be changed');
  assert.equal(chosenOf(all, { kernel: 'b', memory: 'host' }).length, 1);
  // An old URL may choose a value that no series has: it is offered with none, so that a visitor sees it and takes it back.
  assert.deepEqual(of({ rail: '7' }).rail, [['7', 0]]);
  assert.deepEqual(of({ memory: 'nvme' }).memory, [['host', 2], ['gpu', 1], ['nvme', 0]]);
  assert.deepEqual(Object.keys(of({ rail: '' })), ['kernel', 'nodes', 'memory']);
  const named = [{ ...all[0], parameters: { constructor: 'x' } }, { ...all[1], parameters: { constructor: 'x' } }];
  assert.deepEqual(facetsOf(named, {}), [], 'nobody has chosen it');
  assert.deepEqual(splitBy(all, 'memory').map(({ value, rows }) => [value, rows.length]), [['gpu', 1], ['host', 2], ['', 1]]);
});

test('pauses are times between their events, also those that began or end outside', async () => {
  const { pausesOf } = await load('series/maintenance');
  const at = (hour) => `2026-11-20T${String(hour).padStart(2, '0')}:00:00Z`;
  const seconds = (hour) => new Date(at(hour)).getTime() / 1000;
  const event = (event_id, kind, node) => ({ event_id, at: at(event_id), kind, node, run_id: null, text: '' });
  const all = [
    event(5, 'maintenance_paused', 'a'), event(4, 'maintenance_over', 'b'), event(3, 'maintenance_resumed', 'a'), event(2, 'maintenance_paused', 'a'),
    event(1, 'maintenance_paused', null), event(6, 'maintenance_paused', 'a'),
  ];
  assert.deepEqual(pausesOf(all), [
    { node: 'a', from: seconds(2), until: seconds(3) }, { node: 'b', from: seconds(1), until: seconds(4) }, { node: 'a', from: seconds(5), until: Infinity },
  ]);
});

const { daysOf, lastMeasured, nightsOf } = await load('parts/coverage');

test('a day shows the worst of its due times', () => {
  const dates = daysOf(3, Date.parse('2026-11-29T00:10:00Z'));
  assert.deepEqual(dates, ['2026-11-27', '2026-11-28', '2026-11-29']);
  const due = (due_at, result, run_id = null) => ({ due_at, result, run_id, reason: null });
  const dues = [due('2026-11-28T23:59:00Z', 'started', 'r-1'), due('2026-11-28T01:00:00Z', 'missed'), due('2026-11-29T00:00:00Z', 'started', 'r-2'), due('2026-11-27T00:00:00Z', 'started', 'r-0')];
  const runs = [{ run_id: 'r-1', outcome: 'passed' }, { run_id: 'r-2', outcome: 'failed' }];
  assert.deepEqual(nightsOf(dates, dues, runs).map((day) => day.word), ['started', 'missed', 'failed']);
  assert.equal(nightsOf(['2026-01-01'], dues, runs)[0].word, '');
});

test('a node was measured last by the newest run that had it', () => {
  const last = lastMeasured([{ nodes: ['a'], ended_at: '2026-11-02' }, { nodes: ['a', 'b'], ended_at: '2026-11-01' }, { nodes: ['c'], ended_at: null }]);
  assert.deepEqual([...last], [['a', '2026-11-02'], ['b', '2026-11-01']]);
});

test('peers differ in their endpoints alone, and their band goes by the run', async () => {
  const { bandOf, kMostPeers, peersOf } = await load('series/peers');
  const series = (series_id, more = {}) => ({ series_id, kernel: 'k', revision: 1, metric: 'm', meaning: '', unit: 'ns', message_bytes: 8, parameters: { b: '1', a: '2' }, ...more });
  const all = [series(1), series(2, { parameters: { a: '2', b: '1' } }), series(3, { message_bytes: 16 }), series(4, { parameters: { a: '3', b: '1' } })];
  assert.deepEqual(peersOf(all[0], all).map((one) => one.series_id), [2]);
  const many = Array.from({ length: 100 }, (_, i) => series(i));
  const chosen = peersOf(many[0], many).map((one) => one.series_id);
  assert.equal(new Set(chosen).size, kMostPeers);
  const point = (run_id, headline) => ({ run_id, headline });
  const band = bandOf({ points: [point('r-1', 5), point('r-2', 5)] }, [{ points: [point('r-1', 3), point('r-0', 9)] }, { points: [point('r-1', 7)] }]);
  assert.deepEqual(band, { low: [3, null], high: [7, null] });
});

test('a GPU has lines to the NICs that are nearest', async () => {
  const { devicesOf, nearest } = await load('parts/devices');
  const nics = ['x', 'y', 'z'].map((device, i) => ({ device, port: 1, numa_node_plus_one: i === 2 ? 0 : 1, state: 'active' }));
  const devices = devicesOf({ nics, gpus: [{ name: 'gpu0', numa_node_plus_one: 1, state: 'active', distances: { x: 'PXB', y: 'PXB', z: 'SYS' } }, { name: 'gpu1', distances: {} }] });
  const of = (name) => nearest(devices.find((one) => one.name === name), devices.filter((one) => one.kind === 'nic'));
  assert.deepEqual(of('gpu0').map(({ nic, distance }) => [nic.name, distance]), [['x:1', 'PXB'], ['y:1', 'PXB']]);
  assert.deepEqual(of('gpu1'), []);
  assert.equal(devices.find((one) => one.name === 'z:1').numa, -1);
});

// A series of `count` points, an hour apart, with an interval around each figure.
const { columnsOf, countOf, placesFor, isSynthetic, runsOf, shifted } = await load('series/columns');
test('marks are placed by the time of their own first point, whatever another call has read', () => {
  const at = (i) => new Date(Date.UTC(2026, 0, 1) + i * 3_600_000).toISOString();
  const history = { series: {}, points: Array.from({ length: 12 }, (_, i) => ({ measured_at: at(i), headline: 1 })) };
  const mark = (index) => ({ index, index_first: index - 1, index_last: index + 1, kind: 'step' });
  const found = { changes: [mark(2), mark(9), mark(10)], spikes: [{ index: 1 }, { index: 11 }], first_at: at(2) };
  const placed = shifted(found, history);
  assert.deepEqual(placed.changes.map((one) => [one.index_first, one.index, one.index_last]), [[3, 4, 5], [10, 11, 11]], 'a point that came since is not drawn');
  assert.deepEqual(placed.spikes.map((one) => one.index), [3]);
  assert.deepEqual(shifted({ ...found, first_at: at(0) }, history).changes.map((one) => one.index), [2, 9, 10]);
  assert.equal(shifted({ changes: [], spikes: [] }, history).changes.length, 0);
});

const long = (count, figure) => {
  const figures = Array.from({ length: count }, (_, i) => figure(i));
  return { series: { unit: 'ns' }, points: [], columns: {
    first_unix_ms: 1.7e12, steps_ms: figures.map((_, i) => (i === 0 ? 0 : 3.6e6)), headlines: figures, lows: figures.map((one) => one - 10), highs: figures.map((one) => one + 10),
    run_ids: ['r-1', 'r-2'], points_of_run: [count - 1, 1], epochs: [0, 4, 5], points_of_epoch: [1, count - 3, 2], synthetic: true,
  } };
};

test('a history in columns is the history of the same points', () => {
  const point = (at, run_id, epoch, headline, rate_low) => ({ measured_at: at, run_id, epoch, headline, rate_low, rate_high: null, median_low: 1, median_high: 9, synthetic: false });
  const points = [point('2023-11-14T22:13:20.000Z', 'r-1', null, 5, null), point('2023-11-14T22:13:21.500Z', 'r-1', 4, 6, 2), point('2023-11-14T22:13:21.500Z', 'r-2', 5, 7, 2)];
  const columns = { first_unix_ms: 1.7e12, steps_ms: [0, 1500, 0], headlines: [5, 6, 7], lows: [1, 2, 2], highs: [9, 9, 9], run_ids: ['r-1', 'r-2'], points_of_run: [2, 1], epochs: [0, 4, 5], points_of_epoch: [1, 1, 1], synthetic: false };
  const inPoints = columnsOf({ points });
  assert.deepEqual(columnsOf({ points: [], columns }), inPoints);
  assert.deepEqual(inPoints.stacks, [1, 2]);
  assert.deepEqual(runsOf({ points: [], columns }), ['r-1', 'r-1', 'r-2']);
  assert.deepEqual(runsOf({ points }), ['r-1', 'r-1', 'r-2']);
  assert.equal(countOf({ points: [], columns }), 3);
  assert.ok(!isSynthetic({ points: [], columns }) && isSynthetic(long(5, () => 1)));
});

test('a chart draws few of many points, with each spike and each bound of the interval', () => {
  const spikes = [3, 777, 50_000, 50_001, 99_998];
  const columns = columnsOf(long(100_000, (i) => (spikes.includes(i) ? (i === 50_001 ? 2 : 9000) : 1500 + (i * 7919) % 50)));
  columns.low[60_000] = 1;
  columns.high[60_001] = 20_000;
  columns.figures[70_000] = NaN;
  const { times } = columns;
  const pixels = 1000;
  const places = placesFor(times, columns, times[0], times[99_999], pixels);
  assert.ok(places.length <= 6 * (pixels + 2), `${places.length} places`);
  assert.ok(places.length >= 3 * pixels);
  for (const place of [0, ...spikes, 60_000, 60_001, 99_999]) assert.ok(places.includes(place), `point ${place} is not drawn`);
  assert.deepEqual(places, [...new Set(places)].sort((a, b) => a - b));
  // The extremes of each pixel are those of all its points.
  const pixelOf = (i) => Math.floor(((times[i] - times[0]) / (times[99_999] - times[0])) * pixels);
  const extremes = (all) => {
    const found = new Map();
    for (const i of all) {
      const value = columns.figures[i];
      if (Number.isNaN(value)) continue;
      const [least, most] = found.get(pixelOf(i)) ?? [Infinity, -Infinity];
      found.set(pixelOf(i), [Math.min(least, value), Math.max(most, value)]);
    }
    return [...found];
  };
  assert.deepEqual(extremes(places), extremes(times.keys()));
});

test('a step stays at its point, and a zoom draws all points again', () => {
  const columns = columnsOf(long(100_000, (i) => (i < 40_000 ? 1500 : 1600)));
  const { times } = columns;
  const places = placesFor(times, columns, times[0], times[99_999], 500);
  const above = places.findIndex((place) => columns.figures[place] === 1600);
  assert.ok(times[places[above]] - times[places[above - 1]] <= (times[99_999] - times[0]) / 500);
  const near = placesFor(times, columns, times[39_990], times[40_010], 500);
  assert.deepEqual(near, [0, ...Array.from({ length: 23 }, (_, i) => 39_989 + i), 99_999]);
});

test('points of one time, one point and none are drawn as they are', () => {
  const same = { figures: new Float64Array(9000).fill(5), low: new Float64Array(9000), high: new Float64Array(9000) };
  same.figures[4000] = 7;
  assert.ok(placesFor(new Float64Array(9000).fill(3), same, 3, 3, 10).includes(4000));
  const one = columnsOf(long(3, () => 1));
  assert.deepEqual(placesFor(one.times, one, one.times[0], one.times[2], 100), [0, 1, 2]);
  assert.deepEqual(placesFor([], { figures: [], low: [], high: [] }, NaN, NaN, 100), []);
});

test('cells that were not measured are no numbers', () => {
  const cells = cellsOf({ step: 2, row: 1, column: 3, rows: 1, columns: 2, values: [null, 5], of_expected: [null, 0.5], untested: [4, 0], age_days: [] });
  assert.ok(Number.isNaN(cells.values[0]) && Number.isNaN(cells.of_expected[0]));
  assert.deepEqual([cells.values[1], cells.of_expected[1], ...cells.untested], [5, 0.5, 4, 0]);
});

test('an SVG has the colours and the words of its mode, and the run that it is compared with', async () => {
  const { kRamp } = await load('matrix/heat');
  const tile = { step: 1, row: 0, column: 0, rows: 3, columns: 1, values: [1e9, 4e9, null], of_expected: [1, 0.5, null], untested: [0, 0, 0], age_days: [0, 45, null] };
  const value = svgOf(framed, tile, { mode: 'value' });
  assert.ok(value.includes(`fill="${kRamp[0]}"/>`) && value.includes(`fill="${kRamp[6]}"/>`) && value.includes('Colour: figure.'), value);
  assert.ok(value.includes('fill="#8c8c8c"'), 'no pair is neither tested nor untested');
  assert.ok(!value.includes(`fill="${kHeats[5].colour}"`));
  const wide = svgOf(framed, tile, { mode: 'value', range: [0, 4e10] });
  assert.ok(!wide.includes(`height="266" fill="${kRamp[6]}"/>`), 'the picture has the span of the whole matrix');
  assert.ok(svgOf(framed, tile, { mode: 'age' }).includes('30 days older, or more'));
  assert.match(svgOf({ ...framed, against: 'r-<7>' }, tile), /compared with run r-&#60;7&#62;/);
  assert.match(svgOf({ ...framed, against: null }, tile), /compared with the median of its class/);
});

test('the worst cells come first, those without an expectation last', async () => {
  const { worstCells } = await load('matrix/export');
  const tile = { step: 2, row: 4, column: 6, rows: 2, columns: 2, values: [1, null, 3, 4], of_expected: [0.9, null, 0.5, null], untested: [0, 4, 1, 0] };
  const places = (larger) => worstCells({ larger_is_better: larger }, tile, 10).map((one) => [one.row, one.column]);
  assert.deepEqual(places(true), [[5, 6], [4, 6], [5, 7]]);
  assert.deepEqual(places(false), [[4, 6], [5, 6], [5, 7]]);
  assert.equal(worstCells({ larger_is_better: true }, tile, 1).length, 1);
});

const pairFrame = { run_id: 'r2', kernel: 'verbs.write_bw', metric: 'm', meaning: '', message_bytes: 64, rail: 1, memory: 'host', runs: [] };
const pairPoint = (more) => ({ run_id: 'r2', task_id: 't1', kernel: 'verbs.write_bw', endpoints: ['a/mlx5_1:1', 'b/mlx5_1:1'], parameters: {}, facts: { memory: 'host' }, point: { median: 5, median_low: 4, median_high: 6, sample_count: 9 }, ...more });

test('a cell has the point of its own sender, receiver, memory and figure, or none', async () => {
  const { askFor, figureOf, pointOf } = await load('matrix/pair_figure');
  const found = (points, more = {}) => pointOf({ ...pairFrame, ...more }, 'a', 'b', 5, points);
  const own = pairPoint({});
  assert.equal(found([own]), own);
  for (const [why, more] of Object.entries({
    'the reverse direction': { endpoints: ['b/mlx5_1:1', 'a/mlx5_1:1'] }, 'another pair': { endpoints: ['a/mlx5_1:1', 'c/mlx5_1:1'] }, 'both ways at once': { parameters: { direction: 'both' } },
    'another memory': { facts: { memory: 'cuda' } }, 'a follow-up': { task_id: 'd3' }, 'another repetition': { point: { median: 5.01 } },
  }))
    assert.equal(found([pairPoint(more)]), undefined, why);
  assert.equal(found([pairPoint({ facts: { memory: 'cuda' } })], { memory: 'gpu' })?.facts.memory, 'cuda');
  const reads = pairPoint({ kernel: 'verbs.read_bw', endpoints: ['b/x', 'a/x'] });
  assert.equal(found([reads]), reads, 'a read transfers to its initiator');
  const between = pairPoint({ kernel: 'cuda.peer_copy_bw', endpoints: ['n1/gpu0'], parameters: { engine: 'ce', direction: 'write' }, point: { median: 5, pair: 'gpu0>gpu3' } });
  assert.equal(pointOf({ ...pairFrame, memory: 'ce write' }, 'n1 gpu0', 'n1 gpu3', 5, [between]), between);
  assert.equal(pointOf({ ...pairFrame, memory: 'ce write' }, 'n1 gpu3', 'n1 gpu0', 5, [between]), undefined);
  assert.deepEqual(figureOf(own), { n: 9, low: 4, high: 6, path: undefined, counters: '', run: 'r2' });
  assert.equal(figureOf(pairPoint({ point: { rate: 5, median: 4, median_low: 3, median_high: 5 } })).low, undefined, 'a rate has no interval of its median');
  assert.deepEqual(askFor(pairFrame, 'r2', 'a', 'b'), { run_id: 'r2', kernel: 'verbs.write_bw', metric: 'm', message_bytes: 64, from: 'a', to: 'b', rail: 1 });
  const ofGpus = askFor(pairFrame, 'r2', 'n1 gpu0', 'n1 gpu3');
  assert.deepEqual([ofGpus.from, ofGpus.to, ofGpus.rail], ['n1', 'n1', undefined]);
});

test('a cell of several runs is of the run with its age', async () => {
  const { runOf } = await load('matrix/pair_figure');
  const runs = [{ run_id: 'r2', age_days: 0 }, { run_id: 'r1', age_days: 1.25 }];
  assert.equal(runOf({ ...pairFrame, runs }, Math.fround(1.25)), 'r1');
  assert.equal(runOf({ ...pairFrame, runs }, 0), 'r2');
  assert.equal(runOf({ ...pairFrame, runs }, 7), undefined);
  assert.equal(runOf({ ...pairFrame, runs }, null), undefined);
  assert.equal(runOf(pairFrame, null), 'r2');
});

test('times are by the clock of the controller, and a step of it is heard', async () => {
  const { now, onClock, setClock } = await load('parts/clock');
  let steps = 0;
  onClock(() => ++steps);
  assert.ok(Math.abs(now() - Date.now()) < 1000, 'before it is known');
  setClock(undefined);
  assert.equal(steps, 0);
  const ahead = Date.now() + 12_000_000;
  setClock(new Date(ahead).toISOString());
  assert.ok(Math.abs(now() - ahead) < 1000);
  assert.equal(steps, 1);
  setClock(new Date(ahead).toISOString());
  assert.equal(steps, 1, 'the same time again is no step');
});

test('a number of a URL may be 0, and text that is none is the usual one', async () => {
  const { numberOf } = await load('api/route');
  assert.deepEqual(['0', '0.5', '', ' ', null, 'x'].map((text) => numberOf(text, 7)), [0, 0.5, 7, 7, 7, 7]);
});

test('a small run hides no night', async () => {
  const { widest } = await load('parts/widest');
  const run = (run_id, tasks_total, more = {}) => ({ run_id, tasks_total, state: 'ended', outcome: 'passed', ...more });
  const runs = [run('now', 900, { state: 'running' }), run('again', 2), run('gone', 900, { outcome: 'cancelled' }), run('night', 800), run('quick', 90), run('before', 1000)];
  assert.deepEqual(widest(runs).map((one) => one.run_id), ['night', 'before']);
  assert.deepEqual(widest([]), []);
});
