// Answers of the controller that the tests of the pages give in its place. All figures are made up.
// A finding of nights with a change of several parts, as the controller answers it.
const kDay = 86_400_000;
export const nightOf = (i) => new Date(Date.UTC(2026, 10, 1) + i * kDay).toISOString();
export const kCause = {
  changes: ['linux_kernel 6.1 -> 6.5', 'nccl 2.1 -> 2.2 <b>'], exposed: 4, exposed_worse: 4, unexposed: 28, unexposed_worse: 1, p: 0.0002, explains: true,
  undos: [{ change: 'linux_kernel 6.1 -> 6.5', node: 'sim0003', needs: 'reboot' }, { change: 'nccl 2.1 -> 2.2 <b>', node: 'sim0004', needs: 'jobs' }, { change: 'firmware 1 -> 2', node: 'sim0005', needs: 'unknown' }],
};
export const kNightly = {
  schema_version: 1, finding_id: 'step-x', kind: 'step', state: 'confirmed', severity: 'high', summary: 'slower <b>', suspect: 'sim0003/mlx5_0:1', worse_percent: 5,
  opened_at: nightOf(20), changed_at: nightOf(20), acknowledged_until: null, owner: null, run_id: null, upgrade_id: null, node_id: null,
  series: [{ series_id: 7, name: 'k m', unit: 'ns', before: 1500, after: 1575 }], steps: [], good_at: nightOf(12), since: nightOf(13), since_judged: nightOf(12),
  begin_from: nightOf(12), begin_until: nightOf(14), before_levels: [1, 1], after_levels: [1.05], differences: [kCause],
  causes: [], excluded: [], next: [], event_id: null, same_event: [], common: [], tags: [], caused_by: null, metric: 'k m 8 B', noise: 'modal', confidence_percent: 99.99,
  confirmation: null, runs: [],
};
export const kNights = {
  series: { series_id: 7, kernel: 'k', revision: 1, metric: 'm', meaning: '', unit: 'ns', larger_is_better: false, message_bytes: 8, endpoints: ['sim0003/mlx5_0:1'], pair: '', parameters: {} },
  points: Array.from({ length: 21 }, (_, i) => ({
    measured_at: nightOf(i), run_id: `r${i}`, outcome: 'passed', headline: i < 13 ? 1500 : 1575, median: 1500, median_low: 1490, median_high: 1510, rate_low: null, rate_high: null,
    p99: null, sample_count: 100, converged: true, synthetic: true, throttled: false, epoch: 1,
  })),
};

// Findings of an inbox: two of one event, and an acknowledged improvement.
const one = (finding_id, more) => ({ ...kNightly, finding_id, summary: `${finding_id} is slow`, suspect: finding_id, event_id: 'leaf-L0', ...more });
export const kInbox = {
  schema_version: 1, measured_twice: 250, measured_twice_apart: 3,
  findings: [
    one('leaf-L0', { owner: 'ada', tags: ['cable', 'rack7'], noise: 'ok', confirmation: 'running' }),
    one('port-a', { state: 'downstream', caused_by: 'leaf-L0', noise: 'skewed', confidence_percent: 98.7 }),
    one('port-c', { event_id: 'port-c', state: 'acknowledged', worse_percent: -4, noise: null, confidence_percent: null, begin_from: null, begin_until: null, acknowledged_until: new Date(Date.now() + 6 * 3_600_000).toISOString() }),
  ],
};
