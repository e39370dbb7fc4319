// The groups of rows in an order of the matrix: which begin where, and what a table says of them. Pure.
import type { MatrixFrame } from '../api/types';

// Orders of the rows and columns, with their words for a picker; the first is the usual one.
export const kOrders: [string, string][] = [
  ['fabric', 'leaf, then name'], ['pod', 'pod, leaf, slot'], ['slot', 'slot, then pod'], ['name', 'name'], ['worst', 'worst first'],
];

// The part of a frame that the functions below read.
type Placed = Pick<MatrixFrame, 'order' | 'leaves' | 'pods' | 'slots'>;

// First rows of groups, but for the first group: of slots in that order, of leaves within pods in
// the others by place. Orders by name and by figures have none.
export function bordersOf(frame: Placed): number[] {
  if (frame.order === 'name' || frame.order === 'worst') return [];
  const group = (i: number) => (frame.order === 'slot' ? (frame.slots[i] ?? '') : `${frame.pods[i] ?? ''}\n${frame.leaves[i] ?? ''}`);
  return frame.leaves.flatMap((_, i) => (i > 0 && group(i) !== group(i - 1) ? [i] : []));
}

// The labels that an order by place lacks, in words; '': none.
export function lackOf(frame: Placed): string {
  const of = (label: string, values: string[]) => {
    const missing = values.filter((value) => !value).length;
    return missing > 0 ? [`${missing} of ${values.length} nodes have no label ${label}`] : [];
  };
  return [...of('pod', frame.pods), ...of('slot', frame.slots)].join('; ');
}
