// The run to compare a matrix with, to see what an upgrade changed. Pure.
import type { RunSummary, Upgrade } from '../api/types';

// The newest run of the same suite before the newest upgrade that `here` has behind it.
export function lastBefore(here: RunSummary | undefined, runs: RunSummary[], upgrades: Pick<Upgrade, 'upgrade_id' | 'since' | 'created_at'>[]): { run_id: string; upgrade: string } | undefined {
  if (!here) return undefined;
  // The time at which the stack changed, where it is known, else that of the upgrade's own begin.
  const at = (text: string) => new Date(text).getTime();
  const begun = (one: Pick<Upgrade, 'since' | 'created_at'>) => at(one.since ?? one.created_at);
  const past = upgrades.filter((one) => begun(one) < at(here.created_at)).sort((a, b) => begun(b) - begun(a));
  if (past.length === 0) return undefined;
  const before = runs
    .filter((run) => run.state === 'ended' && run.suite === here.suite && at(run.ended_at ?? run.created_at) <= begun(past[0]))
    .sort((a, b) => at(b.created_at) - at(a.created_at));
  return before.length === 0 ? undefined : { run_id: before[0].run_id, upgrade: past[0].upgrade_id ?? '' };
}
