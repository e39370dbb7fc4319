// Days of schedules, and when each node was measured last. Pure.
import type { Due, RunSummary } from '../api/types';

// A day of a schedule in the calendar.
export interface Day {
  date: string; // "2026-11-29", UTC
  word: string; // of the worst due time; '': nothing was due
  reason: string;
  run_id: string | null;
}

const kDay = 86_400_000;
// The worst first: a day with several due times shows it.
const kWorst = ['crashed', 'failed', 'timed_out', 'missed', 'skipped', 'waived', 'cancelled', 'started', 'by_hand', 'passed'];
// Unknown words come before all others: they need a look.
const place = (word: string) => (kWorst.indexOf(word) + kWorst.length + 1) % (kWorst.length + 1);

// The last `count` dates up to the time `now`, in milliseconds, the oldest first.
export function daysOf(count: number, now: number): string[] {
  return Array.from({ length: count }, (_, i) => new Date(now - (count - 1 - i) * kDay).toISOString().slice(0, 10));
}

// A day for each date, with the worst due time of it. The outcome of a run counts in place of the
// word "started", where the run is among `runs`.
export function nightsOf(dates: string[], dues: Due[], runs: RunSummary[]): Day[] {
  const outcomes = new Map(runs.map((run) => [run.run_id, run.outcome ?? run.state]));
  return dates.map((date) => {
    const all = dues
      .filter((due) => due.due_at.startsWith(date))
      .map((due) => ({
        date, run_id: due.run_id, reason: due.reason ?? '',
        word: due.result === 'started' || due.result === 'by_hand' ? (outcomes.get(due.run_id ?? '') ?? due.result) : due.result,
      }));
    return all.sort((a, b) => place(a.word) - place(b.word))[0] ?? { date, word: '', reason: '', run_id: null };
  });
}

// The end of the newest run that measured each node.
export function lastMeasured(runs: RunSummary[]): Map<string, string> {
  const last = new Map<string, string>();
  for (const run of runs)
    for (const node of run.nodes)
      if (run.ended_at && run.ended_at > (last.get(node) ?? '')) last.set(node, run.ended_at);
  return last;
}
