// The classes of figures and their colours: blue is good and red is bad, which colour-blind people
// can separate. They are those of `railgauge runs matrix`.

// A class of figures.
export interface Heat {
  colour: string;
  words: string;
}

export const kHeats: Heat[] = [
  { colour: '#2166ac', words: 'more than 3 % better' },
  { colour: '#d1e5f0', words: 'within 3 %' },
  { colour: '#fddbc7', words: '3 to 7 % worse' },
  { colour: '#f4a582', words: '7 to 15 % worse' },
  { colour: '#d6604d', words: '15 to 30 % worse' },
  { colour: '#b2182b', words: 'more than 30 % worse' },
];
const kBounds = [-0.03, 0.03, 0.07, 0.15, 0.3];

// Position in kHeats of a share of what is expected.
export function heatOf(share: number, largerIsBetter: boolean): number {
  const worse = largerIsBetter ? 1 - share : share - 1;
  let at = 0;
  while (at < kBounds.length && worse > kBounds[at]) ++at;
  return at;
}

// The shapes of classes, as those of states: good, doubtful, bad.
export type Shape = '●' | '▲' | '■';
export function shapeOf(share: number, largerIsBetter: boolean): Shape {
  const heat = heatOf(share, largerIsBetter);
  return heat < 2 ? '●' : heat < 4 ? '▲' : '■';
}

// The same by how far a share is from what is expected, in standard deviations of all shares.
export const kFar: Heat[] = [
  { colour: '#2166ac', words: 'better by more than 3 σ' },
  { colour: '#d1e5f0', words: 'within 3 σ' },
  { colour: '#fddbc7', words: '3 to 5 σ worse' },
  { colour: '#f4a582', words: '5 to 8 σ worse' },
  { colour: '#d6604d', words: '8 to 12 σ worse' },
  { colour: '#b2182b', words: 'more than 12 σ worse' },
];
const kFarBounds = [-3, 3, 5, 8, 12];

// Position in kFar. Without a scatter nothing is far.
export function farOf(share: number, largerIsBetter: boolean, scatter: number | null): number {
  if (!scatter) return 1;
  const worse = (largerIsBetter ? 1 - share : share - 1) / scatter;
  let at = 0;
  while (at < kFarBounds.length && worse > kFarBounds[at]) ++at;
  return at;
}

export function isWorse(share: number, than: number, largerIsBetter: boolean): boolean {
  return largerIsBetter ? share < than : share > than;
}

// Sequential colours for figures and coverage, dark is more.
export const kRamp = ['#ffffcc', '#c7e9b4', '#7fcdbb', '#41b6c4', '#1d91c0', '#225ea8', '#0c2c84'];

// A colour as a pixel of ImageData on a little-endian machine.
export function pixel(colour: string): number {
  const rgb = parseInt(colour.slice(1), 16);
  const swapped = ((rgb & 0xff) << 16) | (rgb & 0xff00) | (rgb >> 16);
  return (0xff000000 | swapped) >>> 0;
}
