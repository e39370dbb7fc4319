// The matrix as files: cells as CSV, and a picture of rectangles as SVG. Pure.
import { kNoColour, kSelfColour, legendOf, paletteOf, placeOf, type Mode } from './colour';
import type { MatrixFrame, MatrixTile } from '../api/types';

// A rectangle of the matrix.
export interface Block {
  row: number; // in pairs, likewise below
  rows: number;
  column: number;
  columns: number;
}

// The finest step at which the block has at most `most` cells.
export function stepFor(block: Block, steps: number[], most: number): number {
  const cells = (step: number) => Math.ceil(block.rows / step) * Math.ceil(block.columns / step);
  return steps.find((step) => cells(step) <= most) ?? steps[steps.length - 1];
}

// Names begin with what a spreadsheet takes for a formula only in quotes with a space before.
function quoted(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? ` ${text}` : text;
  return `"${safe.replace(/"/g, '""')}"`;
}

// The name of a cell's node, or the first and the last of several.
function names(frame: MatrixFrame, at: number, step: number): string {
  const first = frame.nodes[at * step] ?? '';
  const last = frame.nodes[Math.min((at + 1) * step, frame.nodes.length) - 1] ?? '';
  return first === last ? first : `${first} to ${last}`;
}

// A line for each cell. Numbers are in the unit of the third column's name; a missing one is empty.
export function csvOf(frame: MatrixFrame, tile: MatrixTile): string {
  const lines = [`from,to,${frame.unit},of_expected,untested_pairs,synthetic`];
  for (let row = 0, at = 0; row < tile.rows; ++row)
    for (let column = 0; column < tile.columns; ++column, ++at)
      lines.push(
        [
          quoted(names(frame, tile.row + row, tile.step)), quoted(names(frame, tile.column + column, tile.step)),
          tile.values[at] ?? '', tile.of_expected[at] ?? '', tile.untested[at], frame.synthetic ? 'yes' : 'no',
        ].join(','),
      );
  return `${lines.join('\n')}\n`;
}

// Text for XML: no markup, and no character that XML forbids.
const escaped = (text: string) => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd');

// Least and most of the figures.
export function spanOf(values: Iterable<number | null>): [number, number] {
  const span: [number, number] = [Infinity, -Infinity];
  for (const value of values)
    if (value !== null && !Number.isNaN(value)) [span[0], span[1]] = [Math.min(span[0], value), Math.max(span[1], value)];
  return span;
}

// As the picture has it: the mode of its colours, and the least and the most of its figures.
export interface Look {
  mode: Mode;
  range?: [number, number]; // absent: of the tile
}

const kModeWords: Record<Mode, string> = { share: 'of what is expected', far: 'distance from its peers', value: 'figure', age: 'age', coverage: 'tested share' };
const kPartlyOpacity = 'fill-opacity="0.63"'; // of a cell with an untested pair, as in the picture

function legendRows(mode: Mode, left: number, top: number): string[] {
  return legendOf(mode).flatMap(({ colour, words }, i) => [
    `<rect x="${left}" y="${top + i * 16}" width="12" height="12" fill="${colour}" stroke="#555"/>`,
    ...(words ? [`<text x="${left + 18}" y="${top + i * 16 + 10}">${escaped(words)}</text>`] : []),
  ]);
}

// Cells of one colour that follow each other in a row are one rectangle.
export function svgOf(frame: MatrixFrame, tile: MatrixTile, look: Look = { mode: 'share' }): string {
  const side = Math.max(Math.floor(800 / Math.max(tile.rows, tile.columns, 1)), 4);
  const [left, top] = [170, 60];
  const colours = paletteOf(look.mode);
  const range = look.range ?? spanOf(tile.values);
  const fillOf = (row: number, column: number): string => {
    const at = row * tile.columns + column;
    const place = placeOf({ step: tile.step, value: tile.values[at] ?? null, share: tile.of_expected[at] ?? null, untested: tile.untested[at], ageDays: tile.age_days?.[at] }, look.mode, frame, range);
    if (place < 0) return `fill="${place === kNoColour ? 'url(#untested)' : kSelfColour}"`;
    return `fill="${colours[place]}"${tile.step > 1 && look.mode !== 'coverage' && tile.untested[at] > 0 ? ` ${kPartlyOpacity}` : ''}`;
  };
  const whole = `<rect x="${left}" y="${top}" width="${tile.columns * side}" height="${tile.rows * side}" fill="url(#untested)"/>`;
  const parts: string[] = tile.step > 1 ? [whole] : [];
  for (let row = 0; row < tile.rows; ++row)
    for (let column = 0; column < tile.columns; ) {
      const fill = fillOf(row, column);
      let end = column + 1;
      while (end < tile.columns && fillOf(row, end) === fill) ++end;
      parts.push(`<rect x="${left + column * side}" y="${top + row * side}" width="${(end - column) * side}" height="${side}" ${fill}/>`);
      column = end;
    }
  const every = Math.max(Math.ceil(12 / side), 1);
  for (let row = 0; row < tile.rows; row += every)
    parts.push(`<text x="${left - 6}" y="${top + (row + 0.5) * side + 4}" text-anchor="end">${escaped(names(frame, tile.row + row, tile.step).slice(0, 26))}</text>`);
  const right = left + tile.columns * side + 20;
  const title = `${frame.kernel} ${frame.metric}, rail ${frame.rail}${frame.memory ? ` ${frame.memory}` : ''}, run ${frame.run_id}${frame.synthetic ? ', SYNTHETIC' : ''}`;
  const expected = frame.against ? `compared with run ${frame.against}` : 'compared with the median of its class';
  const words = `Colour: ${kModeWords[look.mode]}${look.mode === 'share' || look.mode === 'far' ? `, ${expected}` : ''}. Rows send, columns receive; hatched was not tested.`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${right + 180}" height="${Math.max(top + tile.rows * side, top + 16 * legendOf(look.mode).length) + 10}" font-family="sans-serif" font-size="11">`,
    '<defs><pattern id="untested" width="6" height="6" patternUnits="userSpaceOnUse"><path d="M0 6L6 0" stroke="#555"/></pattern></defs>',
    `<text x="10" y="20" font-size="14">${escaped(title)}</text><text x="10" y="40">${escaped(words)}</text>`,
    ...parts,
    ...legendRows(look.mode, right, top),
    '</svg>\n',
  ].join('\n');
}

// Cells of a tile that were measured, the worst first, `most` of them.
export interface WorstCell {
  step: number;
  row: number; // in cells
  column: number;
  value: number;
  share: number | null;
  untested: number;
}
export function worstCells(frame: Pick<MatrixFrame, 'larger_is_better'>, tile: MatrixTile, most: number): WorstCell[] {
  const all: WorstCell[] = [];
  for (let row = 0, at = 0; row < tile.rows; ++row)
    for (let column = 0; column < tile.columns; ++column, ++at) {
      const value = tile.values[at];
      if (value !== null && value !== undefined)
        all.push({ step: tile.step, row: tile.row + row, column: tile.column + column, value, share: tile.of_expected[at] ?? null, untested: tile.untested[at] });
    }
  const sign = frame.larger_is_better ? 1 : -1;
  const rank = (cell: WorstCell) => (cell.share === null ? Infinity : sign * cell.share);
  return all.sort((a, b) => rank(a) - rank(b) || sign * (a.value - b.value)).slice(0, most);
}
