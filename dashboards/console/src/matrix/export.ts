// The matrix as files: cells as CSV, and a picture of rectangles as SVG. Pure.
import { heatOf, kHeats } from './heat';
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

// Cells of one colour that follow each other in a row are one rectangle.
export function svgOf(frame: MatrixFrame, tile: MatrixTile): string {
  const side = Math.max(Math.floor(800 / Math.max(tile.rows, tile.columns, 1)), 4);
  const left = 170;
  const top = 60;
  const parts: string[] = [];
  for (let row = 0; row < tile.rows; ++row)
    for (let column = 0; column < tile.columns; ) {
      const fill = (at: number) => {
        const share = tile.of_expected[row * tile.columns + at];
        return share === null || share === undefined ? (tile.untested[row * tile.columns + at] > 0 ? 'url(#untested)' : '#8c8c8c') : kHeats[heatOf(share, frame.larger_is_better)].colour;
      };
      let end = column + 1;
      while (end < tile.columns && fill(end) === fill(column)) ++end;
      parts.push(`<rect x="${left + column * side}" y="${top + row * side}" width="${(end - column) * side}" height="${side}" fill="${fill(column)}"/>`);
      column = end;
    }
  const every = Math.max(Math.ceil(12 / side), 1);
  for (let row = 0; row < tile.rows; row += every)
    parts.push(`<text x="${left - 6}" y="${top + (row + 0.5) * side + 4}" text-anchor="end">${escaped(names(frame, tile.row + row, tile.step).slice(0, 26))}</text>`);
  const title = `${frame.kernel} ${frame.metric}, rail ${frame.rail}, run ${frame.run_id}${frame.synthetic ? ', SYNTHETIC' : ''}`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${left + tile.columns * side + 10}" height="${top + tile.rows * side + 10}" font-family="sans-serif" font-size="11">`,
    '<defs><pattern id="untested" width="6" height="6" patternUnits="userSpaceOnUse"><path d="M0 6L6 0" stroke="#555"/></pattern></defs>',
    `<text x="10" y="20" font-size="14">${escaped(title)}</text><text x="10" y="40">Rows send, columns receive; hatched was not tested.</text>`,
    ...parts,
    '</svg>\n',
  ].join('\n');
}
