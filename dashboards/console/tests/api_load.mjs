// Times of the console's interface, as seen by one browser's session: api_load.mjs LOGIN_URL SECONDS
// Paths are asked for in turn, kEach of them a second, at their times whether or not earlier ones were answered.
// Prints a JSON object a path and one of all, in milliseconds.
import { quantile } from './times.mjs';

const [login, seconds] = process.argv.slice(2);
const kEach = 20;
const kMostMilliseconds = 60_000;
const origin = new URL(login).origin;
const entered = await fetch(login, { redirect: 'manual' });
// As browsers ask, which get an answer from this host without packing.
const headers = { 'Accept-Encoding': 'gzip, deflate, br, zstd', 'X-Railgauge-Session': (await entered.text()).match(/content="([0-9a-f]+)"/)[1] };

const ask = async (path) => {
  const begin = performance.now();
  const answer = await fetch(`${origin}/api/v1/${path}`, { headers, signal: AbortSignal.timeout(kMostMilliseconds) });
  await answer.arrayBuffer();
  return { took: performance.now() - begin, status: answer.status };
};
const json = async (path) => (await fetch(`${origin}/api/v1/${path}`, { headers })).json();

// What the pages ask for, with one node, run and series that there are.
const heads = await json('node_heads?limit=200');
const nodes = heads.nodes;
const run = (await json('runs?limit=1')).runs[0]?.run_id;
const series = (await json('series?run_id=all&limit=1')).series?.[0]?.series_id;
const kPaths = ['session', 'node_heads?state=lost&limit=5', 'node_heads?limit=200', `nodes/${nodes[0].name}?with_facts=true&may_be_old=true`, 'findings', 'runs?limit=20', 'upgrades?limit=3', 'schedules', 'events?limit=100', 'suites'];
if (run) kPaths.push(`runs/${run}`, `runs/${run}/groups`, `points?run_id=${run}&limit=200`, `suspects?run_id=${run}`);
if (series) kPaths.push(`series/history?series_id=${series}&limit=1000`, `series/columns?series_id=${series}`);
const frame = run && (await json(`matrix?run_id=${run}`));
if (frame?.steps) {
  const layer = `run_id=${run}&kernel=${frame.kernel}&metric=${frame.metric}&message_bytes=${frame.message_bytes}&rail=${frame.rail}`;
  kPaths.push(`matrix?run_id=${run}`, ...[frame.steps.at(-1), 1].map((step) => `matrix/tile?run_id=${run}&step=${step}&row=0&column=0&rows=256&columns=256`));
  kPaths.push(`points/pair?${layer}&from=${frame.nodes[0]}&to=${frame.nodes[1]}`);
}
const lacking = ['run', 'series'].filter((_, i) => ![run, series][i]);
if (lacking.length > 0) console.error(`api_load: the controller has no ${lacking.join(' and no ')}, whose paths are left out`);

const times = new Map(kPaths.map((path) => [path, []]));
let refused = 0;
const under = [];
const begin = performance.now();
for (let i = 0; performance.now() - begin < Number(seconds) * 1000; ++i) {
  const path = kPaths[i % kPaths.length];
  under.push(
    ask(path)
      .then(({ took, status }) => (status === 200 ? times.get(path).push(took) : ++refused))
      .catch(() => ++refused),
  );
  const wait = begin + ((i + 1) * 1000) / kEach - performance.now();
  if (wait > 0) await new Promise((done) => setTimeout(done, wait));
}
await Promise.all(under);
const row = (what, all) => ({ what, calls: all.length, p50: quantile(all, 0.5), p99: quantile(all, 0.99), most: Math.max(...all) });
for (const [path, all] of times) if (all.length) console.log(JSON.stringify(row(run ? path.replaceAll(run, 'RUN') : path, all)));
console.log(JSON.stringify({ ...row('all', [...times.values()].flat()), refused, attached: heads.attached }));
