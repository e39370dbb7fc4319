// The matrix on a canvas: pan, zoom, names, borders of bands, strips of the worst figures of each
// row and column, marks of a suspect. Rows send, columns receive.
import { bordersOf } from './bands';
import type { Block } from './export';
import { heatOf, isWorse, kHeats, pixel, shapeOf } from './heat';
import { onTheme } from '../parts/theme';
import { kSide, type Drawn, type Tiles } from './tiles';
import type { MatrixFrame } from '../api/types';

// The cell under the pointer, or under the cursor of the keyboard.
export interface Cell {
  step: number;
  row: number; // in cells
  column: number;
  value: number | null;
  share: number | null;
  untested: number;
  ageDays: number | null; // of a matrix of several runs
  isRead: boolean; // false: its figures are not here yet
}
// Outlines: whole rows and columns, and single pairs.
export interface Marks {
  rows: Set<number>;
  columns: Set<number>;
  pairs: [number, number][];
}
// Where the picture is.
export interface Place {
  x: number; // pair in the middle
  y: number;
  zoom: number; // 1 shows all
}

const kLabel = 96;
const kStrip = 10;
const kMostScale = 40; // pixels a pair
const kNameHeight = 11;
const kShapeScale = 18; // pixels a pair from which on it has a shape
const known = (value: number) => (Number.isNaN(value) ? null : value);
const kPixels = kHeats.map((heat) => pixel(heat.colour));

export class MatrixView {
  place: Place;
  cursor: { row: number; column: number } | undefined; // of the keyboard, in pairs
  private isCursorUnread = false;
  private isBare = true; // without names and strips
  private choosing = false;
  private readonly listening = new AbortController(); // ends what listens to the canvas
  block: Block | undefined;
  private chosenFrom: { row: number; column: number } | undefined;
  private frameAsked = 0;
  private readonly observer: ResizeObserver;
  private readonly forgetTheme: () => void;
  private readonly context: CanvasRenderingContext2D;
  private readonly pointers = new Map<number, { x: number; y: number }>();
  private moved = 0;
  private width = 0; // of the canvas, as it was measured last
  private height = 0;
  private side = 10; // of the picture in it
  private readonly borders: number[]; // first nodes of leaves or slots, but for the first one
  private hatch: CanvasPattern | null = null;
  private readonly rowStrip = document.createElement('canvas');
  private readonly columnStrip = document.createElement('canvas');

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly frame: MatrixFrame,
    private readonly tiles: () => Tiles,
    private readonly marks: () => Marks,
    place: Place | undefined,
    private readonly onHover: (cell: Cell | undefined, isByKey?: boolean) => void,
    private readonly onOpen: (cell: Cell) => void,
    private readonly onMoved: (place: Place) => void,
    private readonly onBlock: (block: Block | undefined) => void = () => {},
  ) {
    this.context = canvas.getContext('2d')!;
    this.measure();
    this.borders = bordersOf(frame);
    const middle = frame.nodes.length / 2;
    this.place = place ?? { x: middle, y: middle, zoom: 1 };
    this.observer = new ResizeObserver(() => this.redraw());
    this.observer.observe(canvas);
    this.forgetTheme = onTheme(() => {
      this.hatch = null;
      this.redraw();
    });
    this.listen();
    this.settleTouch();
    this.redraw();
  }

  get nodes(): number {
    return this.frame.nodes.length;
  }

  // Whether a drag chooses a block in place of moving the picture; shift does so too.
  set isChoosing(is: boolean) {
    this.choosing = is;
    this.settleTouch();
  }

  // A finger scrolls the page while the picture has nowhere to go.
  private settleTouch(): void {
    this.canvas.style.touchAction = this.place.zoom > 1 || this.choosing ? 'none' : 'pan-y';
  }

  // Lets go of the canvas, which may get another view.
  end(): void {
    this.observer.disconnect();
    this.forgetTheme();
    this.listening.abort();
    cancelAnimationFrame(this.frameAsked);
  }

  // Draws with the browser's next frame, once however often it is asked.
  redraw(): void {
    cancelAnimationFrame(this.frameAsked);
    this.frameAsked = requestAnimationFrame(() => this.draw());
  }

  // --- where things are, in CSS pixels ---------------------------------------------------------
  // The browser looks for changes of the page each time that it is asked for a size, which a picture
  // needs thousands of times: it is asked once a picture.
  private measure(): void {
    this.width = this.canvas.clientWidth;
    this.height = this.canvas.clientHeight;
    this.side = Math.max(Math.min(this.width, this.height) - kLabel - kStrip, 10);
  }
  private get scale(): number {
    return (this.side * this.place.zoom) / this.frame.nodes.length;
  }
  private get left(): number {
    return kLabel + kStrip + this.side / 2 - this.place.x * this.scale;
  }
  private get top(): number {
    return kLabel + kStrip + this.side / 2 - this.place.y * this.scale;
  }
  // The finest step whose cells are a pixel or more, so that none is lost when it is drawn.
  private get step(): number {
    const steps = this.frame.steps;
    return steps.find((step) => step * this.scale >= 1) ?? steps[steps.length - 1];
  }

  private clamp(): void {
    const n = this.frame.nodes.length;
    const most = Math.max((kMostScale * n) / this.side, 1);
    this.place.zoom = Math.min(Math.max(this.place.zoom, 1), most);
    const half = n / 2 / this.place.zoom;
    this.place.x = Math.min(Math.max(this.place.x, half), n - half);
    this.place.y = Math.min(Math.max(this.place.y, half), n - half);
  }

  // Keeps the pair under this place of the canvas where it is.
  zoomBy(factor: number, x = kLabel + kStrip + this.side / 2, y = x): void {
    const pairX = (x - this.left) / this.scale;
    const pairY = (y - this.top) / this.scale;
    this.place.zoom *= factor;
    this.clamp();
    this.place.x += pairX - (x - this.left) / this.scale;
    this.place.y += pairY - (y - this.top) / this.scale;
    this.settle();
  }

  // Moves the picture by CSS pixels.
  moveBy(x: number, y: number): void {
    this.place.x -= x / this.scale;
    this.place.y -= y / this.scale;
    this.settle();
  }

  // Goes to a place at once.
  show(place: Place): void {
    this.place = { ...place };
    this.settle();
  }

  // The rows and columns in the picture.
  seenBlock(): Block {
    const n = this.frame.nodes.length;
    const half = n / 2 / this.place.zoom;
    const range = (middle: number): [number, number] => [Math.max(Math.floor(middle - half), 0), Math.min(Math.ceil(middle + half), n)];
    const [row, lastRow] = range(this.place.y);
    const [column, lastColumn] = range(this.place.x);
    return { row, rows: lastRow - row, column, columns: lastColumn - column };
  }

  // Outlines a block, or none, and says so to the page.
  choose(block: Block | undefined): void {
    this.block = block;
    this.onBlock(block);
    this.redraw();
  }

  private settle(): void {
    this.clamp();
    this.settleTouch();
    this.onMoved(this.place);
    this.redraw();
  }

  // --- drawing -----------------------------------------------------------------------------------
  draw(): void {
    const ratio = devicePixelRatio || 1;
    this.measure();
    const width = Math.round(this.width * ratio);
    const height = Math.round(this.height * ratio);
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
    const context = this.context;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.imageSmoothingEnabled = false;
    const style = getComputedStyle(this.canvas);
    const ink = style.getPropertyValue('--ink').trim() || '#000';
    context.save();
    context.beginPath();
    context.rect(kLabel + kStrip, kLabel + kStrip, this.side, this.side);
    context.clip();
    context.fillStyle = style.getPropertyValue('--soft').trim() || '#eee';
    context.fillRect(kLabel + kStrip, kLabel + kStrip, this.side, this.side);
    const paper = style.getPropertyValue('--paper').trim() || '#fff';
    this.tiles().forget();
    this.drawPairs(paper, this.hatching(ink));
    this.tiles().settle();
    this.drawShapes();
    this.drawBorders(ink);
    this.drawMarks();
    this.drawBlock();
    this.drawCursor();
    context.restore();
    // Names cost a new browser more than the first tile, which they would delay.
    if (this.isBare) return this.tiles().isEmpty ? undefined : this.dress();
    this.drawStrips();
    this.drawNames(ink);
  }

  // Shows names and strips from the next frame on.
  dress(): void {
    if (!this.isBare) return;
    this.isBare = false;
    this.redraw();
  }

  private hatching(ink: string): CanvasPattern | null {
    if (!this.hatch) {
      const tile = document.createElement('canvas');
      tile.width = tile.height = 8;
      const context = tile.getContext('2d')!;
      context.strokeStyle = ink;
      context.globalAlpha = 0.45;
      context.beginPath();
      for (const from of [-8, 0, 8]) {
        context.moveTo(from, 8);
        context.lineTo(from + 8, 0);
      }
      context.stroke();
      this.hatch = this.context.createPattern(tile, 'repeat');
    }
    return this.hatch;
  }

  // The coarsest cells take the place of finer ones that were not read yet.
  private drawPairs(paper: string, hatch: CanvasPattern | null): void {
    const coarsest = this.frame.steps[this.frame.steps.length - 1];
    const fine = this.seen(this.step);
    if (fine.some((one) => one === undefined)) for (const one of this.seen(coarsest)) this.drawTile(one, coarsest, paper, hatch);
    for (const one of fine) this.drawTile(one, this.step, paper, hatch);
  }

  // The tiles of this step in the picture; undefined for one that was not read yet.
  private seen(step: number): (Drawn | undefined)[] {
    const all: (Drawn | undefined)[] = [];
    const size = kSide * step * this.scale;
    const last = Math.ceil(this.frame.nodes.length / (kSide * step)) - 1;
    const begin = kLabel + kStrip;
    const first = (offset: number) => Math.max(Math.floor((begin - offset) / size), 0);
    const final = (offset: number) => Math.min(Math.floor((begin + this.side - offset - 1e-6) / size), last);
    for (let row = first(this.top); row <= final(this.top); ++row)
      for (let column = first(this.left); column <= final(this.left); ++column)
        all.push(this.tiles().at(step, row, column));
    return all;
  }

  // Untested pairs are hatched in what was read alone: elsewhere nobody knows yet.
  private drawTile(drawn: Drawn | undefined, step: number, paper: string, hatch: CanvasPattern | null): void {
    if (!drawn) return;
    const { tile, picture } = drawn;
    const cell = step * this.scale;
    const x = this.left + tile.column * cell;
    const y = this.top + tile.row * cell;
    for (const fill of [paper, this.frame.untested_pairs > 0 ? hatch : null]) {
      if (fill === null) continue;
      this.context.fillStyle = fill;
      this.context.fillRect(x, y, tile.columns * cell, tile.rows * cell);
    }
    this.context.drawImage(picture, x, y, tile.columns * cell, tile.rows * cell);
  }

  // A pair that is worse has a shape besides its colour, where it is large enough. The white line
  // around it is seen on each colour.
  private drawShapes(): void {
    if (this.step !== 1 || this.scale < kShapeScale) return;
    const context = this.context;
    context.font = `${Math.round(this.scale / 2)}px system-ui, sans-serif`;
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    context.lineWidth = 2;
    context.strokeStyle = '#ffffff';
    context.fillStyle = '#000000';
    const { row, rows, column, columns } = this.seenBlock();
    for (const drawn of this.seen(1)) {
      if (!drawn) continue;
      const { tile } = drawn;
      for (let from = Math.max(row, tile.row); from < Math.min(row + rows, tile.row + tile.rows); ++from)
        for (let to = Math.max(column, tile.column); to < Math.min(column + columns, tile.column + tile.columns); ++to) {
          const share = tile.of_expected[(from - tile.row) * tile.columns + to - tile.column];
          if (Number.isNaN(share)) continue;
          const shape = shapeOf(share, this.frame.larger_is_better);
          if (shape === '●') continue;
          const [x, y] = [this.left + (to + 0.5) * this.scale, this.top + (from + 0.5) * this.scale];
          context.strokeText(shape, x, y);
          context.fillText(shape, x, y);
        }
    }
  }

  private drawBorders(ink: string): void {
    const { borders } = this;
    if (borders.length === 0 || (this.side * this.place.zoom) / (borders.length + 1) < 8) return;
    const context = this.context;
    context.strokeStyle = ink;
    context.lineWidth = 1;
    context.globalAlpha = 0.6;
    context.beginPath();
    const [left, top, scale] = [this.left, this.top, this.scale];
    for (const border of borders) {
      const x = Math.round(left + border * scale) + 0.5;
      const y = Math.round(top + border * scale) + 0.5;
      context.moveTo(x, kLabel);
      context.lineTo(x, kLabel + kStrip + this.side);
      context.moveTo(kLabel, y);
      context.lineTo(kLabel + kStrip + this.side, y);
    }
    context.stroke();
    context.globalAlpha = 1;
  }

  private drawMarks(): void {
    const { rows, columns, pairs } = this.marks();
    const context = this.context;
    context.lineWidth = 2;
    const size = Math.max(this.scale, 5);
    const outline = (x: number, y: number, width: number, height: number) => {
      context.strokeStyle = '#ffffff';
      context.setLineDash([]);
      context.strokeRect(x, y, width, height);
      context.strokeStyle = '#000000';
      context.setLineDash([4, 4]);
      context.strokeRect(x, y, width, height);
      context.setLineDash([]);
    };
    const middle = (offset: number, at: number) => offset + (at + 0.5) * this.scale - size / 2;
    for (const row of rows) outline(kLabel + kStrip, middle(this.top, row) - 1, this.side, size + 2);
    for (const column of columns) outline(middle(this.left, column) - 1, kLabel + kStrip, size + 2, this.side);
    for (const [row, column] of pairs) outline(middle(this.left, column), middle(this.top, row), size, size);
  }

  // Two strokes, so that it is seen on every colour.
  private drawBlock(): void {
    if (!this.block) return;
    const { row, rows, column, columns } = this.block;
    const context = this.context;
    context.lineWidth = 3;
    for (const [colour, dash] of [['#ffffff', []], ['#6b2fa0', [7, 5]]] as [string, number[]][]) {
      context.strokeStyle = colour;
      context.setLineDash(dash);
      context.strokeRect(this.left + column * this.scale, this.top + row * this.scale, columns * this.scale, rows * this.scale);
    }
    context.setLineDash([]);
  }

  // A pixel of a strip is the worst of the nodes that it covers. A strip is drawn as one picture: a
  // rectangle a pixel took more time than the matrix itself.
  private drawStrips(): void {
    const { sent_of_expected: sent, received_of_expected: received } = this.frame;
    const length = Math.ceil(this.side);
    const begin = kLabel + kStrip;
    this.context.drawImage(this.strip(sent, this.top, 1, length), kLabel, begin, kStrip - 3, length);
    this.context.drawImage(this.strip(received, this.left, length, 1), begin, kLabel, length, kStrip - 3);
  }

  private strip(shares: (number | null)[], offset: number, width: number, height: number): HTMLCanvasElement {
    const { larger_is_better: larger } = this.frame;
    const length = width * height;
    const { scale } = this;
    const begin = kLabel + kStrip - offset;
    const pixels = new Uint32Array(length);
    for (let at = 0; at < length; ++at) {
      const from = Math.max(Math.floor((begin + at) / scale), 0);
      const to = Math.max(Math.floor((begin + at + 1) / scale - 1e-9), from);
      let worst: number | null = null;
      for (let node = from; node <= to && node < shares.length; ++node) {
        const share = shares[node];
        if (share !== null && (worst === null || isWorse(share, worst, larger))) worst = share;
      }
      if (worst !== null) pixels[at] = kPixels[heatOf(worst, larger)];
    }
    const picture = width > height ? this.columnStrip : this.rowStrip;
    picture.width = width;
    picture.height = height;
    picture.getContext('2d')!.putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), width, height), 0, 0);
    return picture;
  }

  // A name is shown where a node is high enough for one, else at even distances. The names of the
  // columns are drawn after those of the rows: each turn of the canvas sets its font anew.
  private drawNames(ink: string): void {
    const context = this.context;
    const nodes = this.frame.nodes;
    const every = Math.max(Math.ceil(kNameHeight / this.scale), 1);
    const text = (name: string) => (name.length > 14 ? `${name.slice(0, 12)}…` : name);
    const begin = kLabel + kStrip;
    const each = (offset: number, draw: (name: string, at: number) => void) => {
      const first = Math.max(Math.floor((begin - offset) / this.scale / every) - 1, 0) * every;
      for (let node = first; node < nodes.length; node += every) {
        const at = offset + (node + 0.5) * this.scale;
        if (at > begin + this.side) return;
        if (at >= begin) draw(text(nodes[node]), at);
      }
    };
    context.fillStyle = ink;
    context.font = '11px system-ui, sans-serif';
    context.textBaseline = 'middle';
    context.textAlign = 'right';
    each(this.top, (name, at) => context.fillText(name, kLabel - 4, at, kLabel - 6));
    context.save();
    context.rotate(-Math.PI / 2);
    context.textAlign = 'left';
    each(this.left, (name, at) => context.fillText(name, 4 - kLabel, at, kLabel - 6));
    context.restore();
  }

  // --- pointer and keys --------------------------------------------------------------------------
  cellAt(x: number, y: number): Cell | undefined {
    const inside = (at: number) => at >= kLabel + kStrip && at < kLabel + kStrip + this.side;
    if (!inside(x) || !inside(y)) return undefined;
    const step = this.step;
    const row = Math.floor((y - this.top) / (this.scale * step));
    const column = Math.floor((x - this.left) / (this.scale * step));
    const cell = row < 0 || column < 0 ? undefined : this.cellOf(row, column);
    return cell?.isRead ? cell : undefined;
  }

  // The cell at this place in cells of the present step; undefined beyond the matrix.
  private cellOf(row: number, column: number): Cell | undefined {
    const { step } = this;
    const found = this.tiles().at(step, Math.floor(row / kSide), Math.floor(column / kSide));
    if (!found) return { step, row, column, value: null, share: null, untested: 0, ageDays: null, isRead: false };
    const { tile } = found;
    if (row >= tile.row + tile.rows || column >= tile.column + tile.columns) return undefined;
    const at = (row - tile.row) * tile.columns + column - tile.column;
    return {
      step, row, column, value: known(tile.values[at]), share: known(tile.of_expected[at]), untested: tile.untested[at],
      ageDays: known(tile.age_days[at] ?? NaN), isRead: true,
    };
  }

  // The pair under the pointer, or the nearest one.
  private pairAt(x: number, y: number): { row: number; column: number } {
    const at = (offset: number, place: number) => Math.min(Math.max(Math.floor((place - offset) / this.scale), 0), this.frame.nodes.length - 1);
    return { row: at(this.top, y), column: at(this.left, x) };
  }

  private chooseTo(x: number, y: number): void {
    const from = this.chosenFrom!;
    const to = this.pairAt(x, y);
    const side = (a: number, b: number): [number, number] => [Math.min(a, b), Math.abs(a - b) + 1];
    const [row, rows] = side(from.row, to.row);
    const [column, columns] = side(from.column, to.column);
    this.choose({ row, rows, column, columns });
  }

  // Looks closer at a cell of several pairs, or opens the pair.
  private open(cell: Cell | undefined, x: number, y: number): void {
    if (!cell?.isRead) return;
    if (cell.step === 1) this.onOpen(cell);
    else this.zoomBy(4, x, y);
  }

  // --- the cursor of the keyboard ------------------------------------------------------------------
  private cursorCell(): Cell | undefined {
    const { cursor, step } = this;
    return cursor && this.cellOf(Math.floor(cursor.row / step), Math.floor(cursor.column / step));
  }

  private sayCursor(): void {
    const cell = this.cursorCell();
    this.isCursorUnread = cell !== undefined && !cell.isRead;
    this.onHover(cell, true);
  }

  // Moves the cursor by cells; it begins at the first one in the picture, which follows it.
  moveCursor(rows: number, columns: number): void {
    const { step } = this;
    const seen = this.seenBlock();
    const n = this.frame.nodes.length;
    const to = (at: number, by: number) => Math.min(Math.max(Math.floor(at / step) + by, 0), Math.ceil(n / step) - 1) * step;
    this.cursor = this.cursor ? { row: to(this.cursor.row, rows), column: to(this.cursor.column, columns) } : { row: to(seen.row, 0), column: to(seen.column, 0) };
    const half = n / 2 / this.place.zoom;
    const follow = (middle: number, at: number) => Math.max(Math.min(middle, at + half), Math.min(at + step, n) - half);
    this.show({ x: follow(this.place.x, this.cursor.column), y: follow(this.place.y, this.cursor.row), zoom: this.place.zoom });
    this.sayCursor();
  }

  private openCursor(): void {
    const cell = this.cursorCell();
    if (!cell) return;
    const middle = (offset: number, at: number) => offset + (at + 0.5) * cell.step * this.scale;
    this.open(cell, middle(this.left, cell.column), middle(this.top, cell.row));
    this.sayCursor();
  }

  private drawCursor(): void {
    if (!this.cursor || document.activeElement !== this.canvas) return;
    const { step, context } = this;
    const size = Math.max(step * this.scale, 7);
    const middle = (offset: number, at: number) => offset + (Math.floor(at / step) + 0.5) * step * this.scale - size / 2;
    const [x, y] = [middle(this.left, this.cursor.column), middle(this.top, this.cursor.row)];
    for (const [colour, width] of [['#ffffff', 5], ['#000000', 2]] as [string, number][]) {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.strokeRect(x, y, size, size);
    }
    if (this.isCursorUnread) this.sayCursor();
  }

  private listen(): void {
    const canvas = this.canvas;
    const { signal } = this.listening;
    canvas.addEventListener('wheel', (event) => {
      event.preventDefault();
      this.zoomBy(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
    }, { passive: false, signal });
    canvas.addEventListener('pointerdown', (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
      this.moved = 0;
      if (this.choosing || event.shiftKey) this.chosenFrom = this.pairAt(event.offsetX, event.offsetY);
    }, { signal });
    canvas.addEventListener('pointermove', (event) => this.onMove(event), { signal });
    const leave = (event: PointerEvent) => {
      const was = this.pointers.delete(event.pointerId);
      const wasChoosing = this.chosenFrom !== undefined;
      if (wasChoosing && event.type === 'pointerup') this.chooseTo(event.offsetX, event.offsetY);
      this.chosenFrom = undefined;
      if (wasChoosing) return;
      if (was && this.moved < 4 && event.type === 'pointerup') this.open(this.cellAt(event.offsetX, event.offsetY), event.offsetX, event.offsetY);
    };
    canvas.addEventListener('pointerup', leave, { signal });
    canvas.addEventListener('pointercancel', leave, { signal });
    canvas.addEventListener('pointerleave', () => this.onHover(undefined), { signal });
    canvas.addEventListener('keydown', (event) => this.onKey(event), { signal });
    for (const kind of ['focus', 'blur']) canvas.addEventListener(kind, () => this.redraw(), { signal });
  }

  private onMove(event: PointerEvent): void {
    const before = this.pointers.get(event.pointerId);
    if (!before) return this.onHover(this.cellAt(event.offsetX, event.offsetY));
    const now = { x: event.offsetX, y: event.offsetY };
    const others = [...this.pointers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
    this.moved += Math.hypot(now.x - before.x, now.y - before.y);
    this.pointers.set(event.pointerId, now);
    if (this.chosenFrom) return this.chooseTo(now.x, now.y);
    if (others.length === 0) return this.moveBy(now.x - before.x, now.y - before.y);
    const apart = (at: { x: number; y: number }) => Math.hypot(at.x - others[0].x, at.y - others[0].y);
    this.zoomBy(apart(now) / Math.max(apart(before), 1), others[0].x, others[0].y);
  }

  private onKey(event: KeyboardEvent): void {
    const far = this.side / 8;
    const arrow = (rows: number, columns: number) => () => (event.shiftKey ? this.moveBy(-far * columns, -far * rows) : this.moveCursor(rows, columns));
    const acts: Record<string, () => void> = {
      ArrowLeft: arrow(0, -1),
      ArrowRight: arrow(0, 1),
      ArrowUp: arrow(-1, 0),
      ArrowDown: arrow(1, 0),
      Enter: () => this.openCursor(),
      '+': () => this.zoomBy(1.5),
      '=': () => this.zoomBy(1.5),
      '-': () => this.zoomBy(1 / 1.5),
      b: () => this.choose(this.seenBlock()),
      '0': () => this.show({ x: this.frame.nodes.length / 2, y: this.frame.nodes.length / 2, zoom: 1 }),
    };
    const act = acts[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation(); // Enter opens no row besides
    act();
  }
}
