// The points of a series as columns, and those of them that a chart of so many pixels shows.
import { secondsOf } from '../parts/format';
import type { History, SeriesChanges, SeriesColumns } from '../api/types';

const kMillisecond = 1e-3;

// An element a point, the oldest first.
export interface Columns {
  times: Float64Array; // seconds since 1970
  figures: Float64Array; // in the unit of the series, as the two below; NaN: none
  low: Float64Array; // bounds of the 95 % interval
  high: Float64Array;
  stacks: number[]; // the points from which on another stack is known
}

// A page draws a history again with each answer that it waits for.
const known = new WeakMap<History, Columns>();

export function columnsOf(history: History): Columns {
  let columns = known.get(history);
  if (!columns) {
    columns = history.columns ? ofColumns(history.columns) : ofPoints(history);
    known.set(history, columns);
  }
  return columns;
}

export function countOf(history: History): number {
  return history.columns ? history.columns.headlines.length : history.points.length;
}

// The same changes by their places among all points of the history: an answer counts from its own
// first point, and may know points that came after the history was read. Those are left out.
export function shifted(changes: SeriesChanges, history: History): SeriesChanges {
  if (!changes.first_at) return changes;
  const { times } = columnsOf(history);
  const first = secondsOf(changes.first_at) - kMillisecond / 2;
  let older = 0;
  while (older < times.length && times[older] < first) ++older;
  const isIn = (index: number) => index + older < times.length;
  return {
    ...changes,
    first: older,
    changes: changes.changes
      .filter((one) => isIn(one.index))
      .map((one) => ({ ...one, index: one.index + older, index_first: one.index_first + older, index_last: Math.min(one.index_last + older, times.length - 1) })),
    spikes: changes.spikes.filter((one) => isIn(one.index)).map((one) => ({ ...one, index: one.index + older })),
  };
}

// The run of each point.
export function runsOf({ points, columns }: History): string[] {
  if (!columns) return points.map((point) => point.run_id);
  const runs: string[] = [];
  columns.points_of_run.forEach((count, i) => {
    for (let k = 0; k < count; ++k) runs.push(columns.run_ids[i]);
  });
  return runs;
}

export function isSynthetic(history: History): boolean {
  return history.columns ? history.columns.synthetic : history.points.some((point) => point.synthetic);
}

// A loop: Float64Array.from() with a function takes ten times as long.
function numbers(values: (number | null)[]): Float64Array {
  const all = new Float64Array(values.length);
  for (let i = 0; i < all.length; ++i) all[i] = values[i] ?? NaN;
  return all;
}

function ofPoints(history: History): Columns {
  const { points } = history;
  const epochs = points.map((point) => point.epoch ?? 0);
  return {
    times: numbers(points.map((point) => secondsOf(point.measured_at))),
    figures: numbers(points.map((point) => point.headline)),
    low: numbers(points.map((point) => point.rate_low ?? point.median_low)),
    high: numbers(points.map((point) => point.rate_high ?? point.median_high)),
    stacks: epochs.flatMap((epoch, i) => (i > 0 && epoch !== 0 && epoch !== epochs[i - 1] ? [i] : [])),
  };
}

function ofColumns(columns: Omit<SeriesColumns, 'series'>): Columns {
  const times = new Float64Array(columns.steps_ms.length);
  let at = columns.first_unix_ms;
  for (let i = 0; i < times.length; ++i) times[i] = (at += columns.steps_ms[i]) / 1000;
  const stacks: number[] = [];
  let first = 0;
  columns.points_of_epoch.forEach((count, i) => {
    if (i > 0 && columns.epochs[i] !== 0) stacks.push(first);
    first += count;
  });
  return { times, figures: numbers(columns.headlines), low: numbers(columns.lows), high: numbers(columns.highs), stacks };
}

// The first place whose value is at least `value`, in an ascending list.
function firstAtLeast(x: ArrayLike<number>, value: number): number {
  let [low, high] = [0, x.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (x[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Whether a figure is less, or the first one.
const isBefore = (value: number, than: number) => value < than || (than !== than && value === value);

const kMostOfPixel = 6; // points: first, last, least and most figure, least low, most high

// Places of the points to draw between `from` and `to` on an axis of `pixels`: of each pixel its
// first, its last and its extremes, so that no spike is lost; with the neighbours to which lines
// lead, and the ends of the whole series. All of them where they are few.
export function placesFor(x: ArrayLike<number>, { figures, low, high }: Pick<Columns, 'figures' | 'low' | 'high'>, from: number, to: number, pixels: number): number[] {
  const begin = Math.max(firstAtLeast(x, from) - 1, 0);
  let end = firstAtLeast(x, to);
  while (end < x.length && x[end] === to) ++end;
  end = Math.min(end + 1, x.length); // behind the last one
  const places: number[] = begin > 0 ? [0] : [];
  if (end - begin <= kMostOfPixel * pixels) {
    for (let i = begin; i < end; ++i) places.push(i);
  } else {
    const wide = (to - from) / pixels || 1;
    for (let i = begin; i < end; ) {
      const behind = from + (Math.floor((x[i] - from) / wide) + 1) * wide; // where the next pixel begins
      const first = i;
      let least = i;
      let most = i;
      let lowest = i;
      let highest = i;
      do {
        if (isBefore(figures[i], figures[least])) least = i;
        if (isBefore(-figures[i], -figures[most])) most = i;
        if (isBefore(low[i], low[lowest])) lowest = i;
        if (isBefore(-high[i], -high[highest])) highest = i;
      } while (++i < end && x[i] < behind);
      const chosen = [first, least, most, lowest, highest, i - 1].sort((one, other) => one - other);
      chosen.forEach((place, k) => place !== chosen[k - 1] && places.push(place));
    }
  }
  if (end < x.length) places.push(x.length - 1);
  return places;
}
