// Tiles of a matrix: read when they are first looked at, kept while there is room.
import type { Cells } from './cells';
import { readCells } from './cell_reader';
import { kSelf, kSelfColour, paletteOf, placeOf, type CellFigures, type Mode } from './colour';
import { pixel } from './heat';
import type { Values } from '../api/route';
import type { MatrixFrame } from '../api/types';

export const kSide = 256; // cells
const kMostTiles = 160;
const kMostReads = 4;
// The same for cells finer than the coarsest ones: the controller reads their figures one tile after
// the other, and has a few places for a browser.
const kMostFineReads = 2;
const kAgainMilliseconds = 3000; // after which a tile that was not read is asked for again

export interface Drawn {
  tile: Cells;
  picture: HTMLCanvasElement;
}

const kPixels: Record<Mode, Uint32Array> = Object.fromEntries(
  (['share', 'value', 'far', 'age', 'coverage'] as Mode[]).map((mode) => [mode, Uint32Array.from(paletteOf(mode).map(pixel))]),
) as Record<Mode, Uint32Array>;
const kSelfPixel = pixel(kSelfColour);

// A cell of several pairs of which one is untested lets the hatching shine through its colour.
const kPartlyTested = 0xa0000000;

// 0 is transparent, so that the hatching of untested pairs shows through.
function pixelOf(cell: CellFigures, mode: Mode, frame: MatrixFrame, range: [number, number]): number {
  const place = placeOf(cell, mode, frame, range);
  if (place < 0) return place === kSelf ? kSelfPixel : 0;
  const whole = kPixels[mode][place];
  return cell.step > 1 && mode !== 'coverage' && cell.untested > 0 ? ((whole & 0x00ffffff) | kPartlyTested) >>> 0 : whole;
}

export class Tiles {
  private readonly kept = new Map<string, Drawn>();
  private readonly asked = new Set<string>();
  private wanted = new Set<string>(); // by the present picture
  private waiting: { key: string; step: number; row: number; column: number }[] = [];
  private readonly reads = new Map<string, { step: number; abort: AbortController }>();
  private isBegun = false;
  range: [number, number] = [Infinity, -Infinity]; // least and most of the figures that were read
  private isOver = false;

  constructor(
    private readonly selection: Values,
    private readonly frame: MatrixFrame,
    private readonly mode: Mode,
    // With '' after a tile was read, with its cause after one was not, and with nothing to draw again.
    private readonly changed: (error?: string) => void,
    private readonly read = readCells as (values: Values, signal: AbortSignal) => Promise<Cells>,
  ) {
    // Its figures span the colours of all others.
    if (mode === 'value') this.at(this.coarsest, 0, 0);
  }

  private get coarsest(): number {
    return this.frame.steps[this.frame.steps.length - 1];
  }

  get isEmpty(): boolean {
    return this.kept.size === 0;
  }

  // The tile that holds this cell; undefined until it was read.
  at(step: number, tileRow: number, tileColumn: number): Drawn | undefined {
    const key = `${step}/${tileRow}/${tileColumn}`;
    const found = this.kept.get(key);
    if (found) {
      this.kept.delete(key);
      this.kept.set(key, found);
      return found;
    }
    this.wanted.add(key);
    if (!this.asked.has(key)) {
      this.asked.add(key);
      this.waiting.push({ key, step, row: tileRow * kSide, column: tileColumn * kSide });
      this.begin();
    }
    return undefined;
  }

  // A picture begins: tiles that only the one before asked for need not be read.
  forget(): void {
    for (const one of this.waiting) this.asked.delete(one.key);
    this.waiting = [];
    this.wanted.clear();
  }

  // The picture has asked for all that it needs. Fine cells that nobody looks at any more are not
  // waited for; the coarsest ones take the place of others everywhere.
  settle(): void {
    for (const [key, { step, abort }] of this.reads) {
      if (this.wanted.has(key) || step === this.coarsest) continue;
      this.reads.delete(key);
      this.asked.delete(key);
      abort.abort();
    }
    this.begin();
  }

  end(): void {
    this.isOver = true;
    for (const { abort } of this.reads.values()) abort.abort();
  }

  // After all that one picture asks for, so that its coarsest cells come first.
  private begin(): void {
    if (this.isBegun) return;
    this.isBegun = true;
    queueMicrotask(() => {
      this.isBegun = false;
      this.next();
    });
  }

  private next(): void {
    if (this.isOver) return;
    this.waiting.sort((a, b) => b.step - a.step);
    while (this.reads.size < kMostReads) {
      const fine = [...this.reads.values()].filter(({ step }) => step !== this.coarsest).length;
      const place = this.waiting.findIndex(({ step }) => step === this.coarsest || fine < kMostFineReads);
      if (place < 0) return;
      const [one] = this.waiting.splice(place, 1);
      const abort = new AbortController();
      this.reads.set(one.key, { step: one.step, abort });
      // One that was given up says nothing more: its key may be asked for again by now.
      const unlessGivenUp = (act: () => void) => {
        if (abort.signal.aborted) return;
        this.reads.delete(one.key);
        act();
        this.next();
      };
      this.read({ ...this.selection, step: one.step, row: one.row, column: one.column, rows: kSide, columns: kSide }, abort.signal).then(
        (tile) => unlessGivenUp(() => this.keep(one.key, tile)),
        (cause) => unlessGivenUp(() => this.fail(one.key, String(cause.message ?? cause))),
      );
    }
  }

  // The next picture asks for the tile again, if it still has it.
  private fail(key: string, cause: string): void {
    this.asked.delete(key);
    if (this.isOver) return;
    this.changed(cause);
    setTimeout(() => !this.isOver && this.changed(), kAgainMilliseconds);
  }

  // Widens the span of the colours to the figures of a tile. Whether it has become wider.
  private widen(tile: Cells): boolean {
    const [least, most] = this.range;
    for (const value of tile.values)
      if (!Number.isNaN(value)) this.range = [Math.min(this.range[0], value), Math.max(this.range[1], value)];
    return this.range[0] !== least || this.range[1] !== most;
  }

  private keep(key: string, tile: Cells): void {
    if (this.isOver) return;
    // Finer tiles may have been painted before.
    if (tile.step === this.coarsest && this.widen(tile) && this.mode === 'value')
      for (const one of this.kept.values()) one.picture = this.paint(one.tile);
    this.kept.set(key, { tile, picture: this.paint(tile) });
    for (const old of this.kept.keys()) {
      if (this.kept.size <= kMostTiles) break;
      this.kept.delete(old);
      this.asked.delete(old);
    }
    this.changed('');
  }

  private paint(tile: Cells): HTMLCanvasElement {
    const picture = document.createElement('canvas');
    picture.width = Math.max(tile.columns, 1);
    picture.height = Math.max(tile.rows, 1);
    const context = picture.getContext('2d')!;
    const image = context.createImageData(picture.width, picture.height);
    const pixels = new Uint32Array(image.data.buffer);
    const cell: CellFigures = { step: tile.step, value: 0, share: 0, untested: 0, ageDays: 0 };
    for (let at = 0; at < tile.rows * tile.columns; ++at) {
      cell.value = tile.values[at];
      cell.share = tile.of_expected[at];
      cell.untested = tile.untested[at];
      cell.ageDays = tile.age_days[at];
      pixels[at] = pixelOf(cell, this.mode, this.frame, this.range);
    }
    context.putImageData(image, 0, 0);
    return picture;
  }
}
