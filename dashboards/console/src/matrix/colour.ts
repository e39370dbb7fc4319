// The colours of cells by mode, for the picture and for its SVG. Pure.
import { farOf, heatOf, kFar, kHeats, kRamp } from './heat';
import type { MatrixFrame } from '../api/types';

// The meaning of a colour: the share of what is expected, the figure, the distance from the peers
// in standard deviations, the age, or how many pairs were tested.
export type Mode = 'share' | 'value' | 'far' | 'age' | 'coverage';

export const kOldestDays = 30; // older figures have the same colour
export const kNoColour = -1; // not tested: the hatching shows
export const kSelf = -2; // no pair: a node and itself, or pairs that the choice leaves out
export const kSelfColour = '#8c8c8c';

// The colours of a mode; placeOf() counts in them.
export function paletteOf(mode: Mode): string[] {
  if (mode === 'share') return kHeats.map((heat) => heat.colour);
  return mode === 'far' ? kFar.map((heat) => heat.colour) : kRamp;
}

// The fields of a frame that a colour needs.
export type Judged = Pick<MatrixFrame, 'larger_is_better' | 'scatter_share'>;

// One cell; an absent number is NaN or null.
export interface CellFigures {
  step: number;
  value: number | null;
  share: number | null;
  untested: number;
  ageDays: number | null | undefined;
}

const isNone = (value: number | null | undefined): value is null | undefined => value === null || value === undefined || Number.isNaN(value);
const inRamp = (share: number) => Math.round(Math.min(Math.max(share, 0), 1) * (kRamp.length - 1));

// Place in paletteOf(mode), kNoColour or kSelf. `range` are the least and the most of the figures.
export function placeOf(cell: CellFigures, mode: Mode, frame: Judged, range: [number, number]): number {
  if (isNone(cell.value)) return cell.untested === 0 ? kSelf : kNoColour;
  if (mode === 'coverage') return inRamp(1 - cell.untested / (cell.step * cell.step));
  if (mode === 'age') return inRamp((cell.ageDays || 0) / kOldestDays);
  if (mode === 'value') return inRamp((cell.value - range[0]) / Math.max(range[1] - range[0], 1e-9));
  if (isNone(cell.share)) return kNoColour;
  return mode === 'far' ? farOf(cell.share, frame.larger_is_better, frame.scatter_share) : heatOf(cell.share, frame.larger_is_better);
}

const kRampEnds: Record<string, [string, string]> = { value: ['least', 'most'], coverage: ['least', 'most'], age: ['of the newest run', '30 days older, or more'] };

// Colours with their words; those within a ramp have none.
export function legendOf(mode: Mode): { colour: string; words: string }[] {
  if (mode === 'share') return kHeats;
  if (mode === 'far') return kFar;
  return kRamp.map((colour, i) => ({ colour, words: i === 0 ? kRampEnds[mode][0] : i === kRamp.length - 1 ? kRampEnds[mode][1] : '' }));
}
