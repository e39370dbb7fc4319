// Cells of a tile as typed arrays: a tile has 65,536 of them, and a page has many tiles.
import type { MatrixTile } from '../api/types';

export interface Cells {
  step: number;
  row: number; // of the first cell, in cells
  column: number;
  rows: number;
  columns: number;
  values: Float32Array; // row after row; NaN: none, likewise below
  of_expected: Float32Array;
  untested: Uint32Array;
  age_days: Float32Array;
}

function floats(values: (number | null)[]): Float32Array {
  const all = new Float32Array(values.length);
  for (let i = 0; i < all.length; ++i) all[i] = values[i] ?? NaN;
  return all;
}

export function cellsOf(tile: MatrixTile): Cells {
  const { step, row, column, rows, columns } = tile;
  return {
    step, row, column, rows, columns,
    values: floats(tile.values), of_expected: floats(tile.of_expected), untested: Uint32Array.from(tile.untested), age_days: floats(tile.age_days),
  };
}

// The buffers that move to another thread without a copy.
export function buffersOf({ values, of_expected, untested, age_days }: Cells): ArrayBufferLike[] {
  return [values.buffer, of_expected.buffer, untested.buffer, age_days.buffer];
}
