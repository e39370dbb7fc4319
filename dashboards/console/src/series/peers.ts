// Series that measure the same on other places, and the band of their figures.
import { runsOf } from './columns';
import type { History, Series } from '../api/types';

export const kMostPeers = 12;

// At most kMostPeers of `all` that differ from `series` in their endpoints alone, evenly chosen.
export function peersOf(series: Series, all: Series[]): Series[] {
  const key = (one: Series) =>
    JSON.stringify([one.kernel, one.revision, one.metric, one.meaning, one.unit, one.message_bytes, one.rank ?? 0, Object.entries(one.parameters).sort()]);
  const same = all.filter((one) => one.series_id !== series.series_id && key(one) === key(series));
  const every = Math.max(same.length / kMostPeers, 1);
  return Array.from({ length: Math.min(same.length, kMostPeers) }, (_, i) => same[Math.floor(i * every)]);
}

// Bounds of the peers' figures, by the points of a series; null: nothing is known there.
export interface Band {
  low: (number | null)[];
  high: (number | null)[];
}

// The least and the most of the peers' figures by the run of each point; null: no peer was in that run.
export function bandOf(history: History, peers: History[]): Band {
  const runs = new Map<string, [number, number]>();
  for (const peer of peers)
    for (const { run_id, headline } of peer.points) {
      const known = runs.get(run_id);
      runs.set(run_id, known ? [Math.min(known[0], headline), Math.max(known[1], headline)] : [headline, headline]);
    }
  const side = (at: 0 | 1) => runsOf(history).map((run) => runs.get(run)?.[at] ?? null);
  return { low: side(0), high: side(1) };
}
