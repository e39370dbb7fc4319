// The A/A bands of a series: where 95 of 100 figures are while nothing changes, by the noise that the detector has.
import type { SeriesChanges } from '../api/types';

export interface AaBand {
  first: number; // indices of points
  last: number;
  low: number; // in the unit of the series
  high: number;
}

const kWide = 1.96; // standard deviations of normal noise

// Sorts the values.
function median(values: Float64Array): number {
  const sorted = values.sort(); // by number, which an array of other type is not
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

// A band for each piece between changes of the level; the figures are in the unit of the series, NaN: none. None without
// noise in percent.
export function aaBands(figures: Float64Array, changes: SeriesChanges): AaBand[] {
  const noise = changes.noise_percent;
  if (noise === null) return [];
  const steps = changes.changes.filter((one) => one.kind !== 'variance').map((one) => one.index);
  const first = changes.first ?? 0;
  const bounds = [first, ...[...new Set(steps)].sort((a, b) => a - b).filter((at) => at > first && at < figures.length), figures.length];
  return bounds.slice(1).flatMap((end, i) => {
    const piece = figures.slice(bounds[i], end).filter((figure) => !Number.isNaN(figure));
    if (piece.length === 0) return [];
    const level = median(piece);
    return [{ first: bounds[i], last: end - 1, low: level * (1 - (kWide * noise) / 100), high: level * (1 + (kWide * noise) / 100) }];
  });
}
