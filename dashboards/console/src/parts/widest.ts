// The runs that say most of the fabric. Pure.
import type { RunSummary } from '../api/types';

const kShare = 0.5;

// Ended runs with at least half of the tasks that the largest of them has, the newest first: a quick
// run, or one that measured a finding again, says nothing of most parts.
export function widest(runs: RunSummary[]): RunSummary[] {
  const ended = runs.filter((run) => run.state === 'ended' && run.outcome !== 'cancelled');
  const most = Math.max(...ended.map((run) => run.tasks_total), 0);
  return ended.filter((run) => run.tasks_total >= kShare * most);
}
