// Times of the pages in a headless Chromium without a GPU: node bench.mjs CHROMIUM PAGES [PICTURES]
// The interface is answered by this program with a modelled matrix and series, so the controller's
// share of the time is not in the figures.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join, normalize } from 'node:path';
import { launch } from './browser.mjs';
import { matrixTimes, seriesTime } from './times.mjs';

const [chromium, pages, pictures] = process.argv.slice(2);
const kTypes = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' };
const kSlowEvery = 997;

// The same share for the same place; one sender in kSlowEvery is slow.
function share(row, column, step) {
  const slow = Math.floor((row * step) / kSlowEvery) !== Math.floor(((row + 1) * step - 1) / kSlowEvery) || (row * step) % kSlowEvery === 0;
  const unrest = (((row * 73856093) ^ (column * 19349663)) >>> 0) % 1000;
  return slow ? 0.8 : 1 - unrest / 50_000;
}

function frame(nodes) {
  const steps = [1];
  while (nodes / steps[steps.length - 1] > 64) steps.push(steps[steps.length - 1] * 2);
  return {
    schema_version: 1, run_id: `r-${nodes}`, against: null, kernel: 'verbs.write_bw', metric: 'bandwidth_bytes_per_second', meaning: '',
    unit: 'bytes_per_second', message_bytes: 65536, larger_is_better: true, rail: 0, memory: 'host', synthetic: true, order: 'fabric',
    nodes: Array.from({ length: nodes }, (_, i) => `sim${String(i).padStart(5, '0')}`),
    leaves: Array.from({ length: nodes }, (_, i) => `L${Math.floor(i / 32)}`),
    sent_of_expected: Array.from({ length: nodes }, (_, i) => share(i, 0, 1)), received_of_expected: Array.from({ length: nodes }, () => 0.8),
    pods: [], slots: [], measured_pairs: nodes * (nodes - 1), untested_pairs: 0, expected_within_leaf: 5e10, expected_across_leaves: 4e10,
    other_layers: [], other_series: [], steps, most_cells: 262144, scatter_share: 0.01, runs: [],
  };
}

function tile(nodes, query) {
  const number = (name) => Number(query.get(name));
  const [step, row, column] = [number('step'), number('row'), number('column')];
  const side = Math.ceil(nodes / step);
  const rows = Math.max(Math.min(number('rows'), side - row), 0);
  const columns = Math.max(Math.min(number('columns'), side - column), 0);
  const all = [];
  for (let y = 0; y < rows; ++y) for (let x = 0; x < columns; ++x) all.push(Math.fround(share(row + y, column + x, step)));
  return { schema_version: 1, step, row, column, rows, columns, values: all.map((one) => one * 4e10), of_expected: all, untested: all.map(() => 0), age_days: [] };
}

const kSeries = { series_id: 1, kernel: 'verbs.write_lat', revision: 1, metric: 'latency_ns', meaning: 'half_rtt', unit: 'ns', larger_is_better: false,
  message_bytes: 8, endpoints: ['a/mlx5_0:1', 'b/mlx5_0:1'], pair: '', parameters: {} };

function answer(url) {
  const nodes = Number((url.searchParams.get('run_id') ?? '').replace('r-', '')) || 100;
  const path = url.pathname.replace('/api/v1/', '');
  if (path === 'matrix') return frame(nodes);
  if (path === 'matrix/tile') return tile(nodes, url.searchParams);
  if (path === 'suspects') return { suspects: [], run_id: 'r', kernel: '', metric: '', unit: '' };
  if (path === 'runs') return { runs: [] };
  if (path === 'upgrades') return { upgrades: [] };
  if (path === 'session') return { who: 'bench', role: 'viewer', read_only: true, ends_at: null, version: '0' };
  if (path === 'series/changes') return { too_few: false, noise_percent: 1, changes: [], spikes: [] };
  if (path === 'series/columns') {
    const figures = Array.from({ length: 100_000 }, (_, i) => 1500 + (i * 7919) % 50);
    return {
      series: kSeries, first_unix_ms: 1.7e12, steps_ms: figures.map((_, i) => (i === 0 ? 0 : 3.6e6)), headlines: figures, lows: figures.map(() => 1480), highs: figures.map(() => 1560),
      run_ids: ['r'], points_of_run: [figures.length], epochs: [1], points_of_epoch: [figures.length], synthetic: true,
    };
  }
  return {};
}

const server = createServer((request, response) => {
  const url = new URL(request.url, 'http://127.0.0.1');
  if (url.pathname.startsWith('/api/')) {
    response.setHeader('Content-Type', 'application/json');
    return response.end(JSON.stringify(answer(url)));
  }
  const file = normalize(url.pathname === '/' ? '/index.html' : url.pathname);
  try {
    const text = readFileSync(join(pages, file));
    response.setHeader('Content-Type', kTypes[file.slice(file.lastIndexOf('.'))] ?? 'text/plain');
    return response.end(text);
  } catch {
    response.statusCode = 404;
    return response.end();
  }
});
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const origin = `http://127.0.0.1:${server.address().port}`;
const browser = await launch(chromium);

for (const nodes of [1000, 10_000]) {
  const found = await matrixTimes(browser, `${origin}/#/matrix?run_id=r-${nodes}`, pictures && `${pictures}/bench_${nodes}.png`);
  console.log(`matrix ${nodes} x ${nodes}: first paint ${found.first.toFixed(0)} ms, panning p95 ${found.pan.toFixed(1)} ms a frame, of it drawing ${found.draw.toFixed(1)} ms`);
}
const series = await seriesTime(browser, `${origin}/#/series?series_id=1`);
console.log(`series of ${series.points.toLocaleString('en')} points: ${series.milliseconds.toFixed(0)} ms from the answer to the picture`);
await browser.close();
server.close();
