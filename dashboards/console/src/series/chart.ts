// One series over time on a uPlot canvas: interval, figures, ranges of changes, spikes, epochs.
import uPlot from 'uplot';
import { columnsOf, placesFor } from './columns';
import { isSame, type Span } from './span';
import type { Band } from './peers';
import type { History, SeriesChanges, Upgrade } from '../api/types';

export type Axis = 'date' | 'run';
// Height of a chart, in CSS pixels.
const kHeight = 280;
const kMostDots = 400; // points that have a dot each

const colour = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Units of the axis: GB/s and microseconds.
function scaleOf(unit: string): number {
  return unit === 'bytes_per_second' ? 1e9 : unit === 'ns' ? 1e3 : 1;
}

// Where figures are while nothing changes, from half way after the figure before to half way before the next one.
function drawAa(plot: uPlot, x: ArrayLike<number>, changes: SeriesChanges | undefined, scale: number) {
  const at = (index: number, other: number) => plot.valToPos(((x[index] ?? 0) + (x[other] ?? x[index] ?? 0)) / 2, 'x', true);
  plot.ctx.fillStyle = colour('--aa');
  for (const { first, last, low, high } of changes?.aa ?? []) {
    const [left, right] = [at(first, first - 1), at(last, last + 1)];
    const top = plot.valToPos(high / scale, 'y', true);
    plot.ctx.fillRect(left, top, right - left, plot.valToPos(low / scale, 'y', true) - top);
  }
}

function drawMarks(plot: uPlot, x: ArrayLike<number>, stacks: number[], changes: SeriesChanges | undefined, upgrades: number[], scale: number) {
  const { ctx, bbox } = plot;
  ctx.save();
  const at = (value: number) => plot.valToPos(value, 'x', true);
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  drawAa(plot, x, changes, scale);
  for (const pause of changes?.pauses ?? []) {
    const left = at(pause.from);
    ctx.fillStyle = colour('--maintenance');
    ctx.fillRect(left, bbox.top, Math.max((Number.isFinite(pause.until) ? at(pause.until) : bbox.left + bbox.width) - left, 2), bbox.height);
  }
  for (const change of changes?.changes ?? []) {
    const left = at(x[change.index_first] ?? 0);
    const right = at(x[change.index_last] ?? 0);
    ctx.fillStyle = colour(change.worse === false ? '--range-better' : '--range-worse');
    ctx.fillRect(left - 3, bbox.top, Math.max(right - left, 0) + 6, bbox.height);
  }
  const line = (value: number, name: string, dash: number[]) => {
    ctx.strokeStyle = colour(name);
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash(dash);
    ctx.beginPath();
    ctx.moveTo(at(value), bbox.top);
    ctx.lineTo(at(value), bbox.top + bbox.height);
    ctx.stroke();
  };
  for (const point of stacks) line(x[point], '--epoch', [6, 4]);
  for (const upgrade of upgrades) line(upgrade, '--upgrade', [2, 3]);
  if (changes?.begin) line(new Date(changes.begin).getTime() / 1000, '--bad', []);
  ctx.restore();
}

function drawSpikes(plot: uPlot, x: ArrayLike<number>, changes: SeriesChanges | undefined, scale: number) {
  const { ctx } = plot;
  ctx.save();
  ctx.strokeStyle = colour('--bad');
  ctx.lineWidth = 2 * devicePixelRatio;
  for (const spike of changes?.spikes ?? []) {
    const size = 5 * devicePixelRatio;
    const left = plot.valToPos(x[spike.index] ?? 0, 'x', true);
    const top = plot.valToPos(spike.value / scale, 'y', true);
    ctx.beginPath();
    ctx.moveTo(left - size, top - size);
    ctx.lineTo(left + size, top + size);
    ctx.moveTo(left + size, top - size);
    ctx.lineTo(left - size, top + size);
    ctx.stroke();
  }
  ctx.restore();
}

// The peers' band is behind all others: two lines without ink, and the area between them.
function peersSeries(peers: Band | undefined): uPlot.Series[] {
  if (!peers) return [];
  const line = (label: string): uPlot.Series => ({ label, stroke: 'transparent', points: { show: false }, spanGaps: true });
  return [line('peers, least'), line('peers, most')];
}

// The lists that uPlot draws, in the unit of the axis.
function dataOf(places: number[], x: ArrayLike<number>, scale: number, figures: ArrayLike<number | null>[]): uPlot.AlignedData {
  const scaled = (value: number | null) => (value === null || Number.isNaN(value) ? null : value / scale);
  return [places.map((place) => x[place]), ...figures.map((all) => places.map((place) => scaled(all[place])))] as uPlot.AlignedData;
}

// Keeps what is drawn as fine as the part of the axis that is shown: a zoom chooses anew.
function refines(pixels: () => number, first: [number, number], data: (from: number, to: number, pixels: number) => uPlot.AlignedData): (plot: uPlot, scale: string) => void {
  let [from, to] = first;
  return (plot, scale) => {
    const { min, max } = plot.scales.x;
    if (scale !== 'x' || min === undefined || max === undefined || min === null || max === null || (min === from && max === to)) return;
    [from, to] = [min, max];
    queueMicrotask(() => {
      if (plot.scales.x.min !== min || plot.scales.x.max !== max || !plot.root.isConnected) return;
      plot.batch(() => {
        plot.setData(data(min, max, pixels()), false);
        plot.setScale('x', { min, max });
      });
    });
  };
}

// A chart that is shown. Its marks come from answers of their own, and they are drawn again without its figures.
export interface Chart {
  show(span: Span | undefined): void; // undefined: all
  mark(changes: SeriesChanges | undefined, upgrades: Upgrade[]): void;
  end(): void;
}

// Draws into `into`; charts with one `sync` key share cursor and zoom. `onSpan` gets the part that a
// person has zoomed to, undefined for all.
export function draw(into: HTMLElement, history: History, axis: Axis, sync: string, peers?: Band, onSpan?: (span: Span | undefined) => void): Chart {
  const scale = scaleOf(history.series.unit);
  const columns = columnsOf(history);
  const { times: measured, low, high, figures, stacks } = columns;
  // A series by run has the number of the point.
  const x = axis === 'run' ? measured.map((_, i) => i) : measured;
  const pixels = () => Math.ceil((into.clientWidth || 600) * devicePixelRatio);
  const dataFor = (from: number, to: number, most: number) =>
    dataOf(placesFor(x, columns, from, to, most), x, scale, [low, high, figures, ...(peers ? [peers.low, peers.high] : [])]);
  const ends: [number, number] = [x[0], x[x.length - 1]];
  let changes: SeriesChanges | undefined;
  let marks: number[] = []; // times of upgrades
  let shown: Span | undefined; // undefined: all
  // Called for each change of the axis, also for one that show() made: that is no person's zoom.
  const note = (self: uPlot, key: string) => {
    const { min, max } = self.scales.x;
    if (key !== 'x' || min === undefined || max === undefined || min === null || max === null || ends[0] === ends[1]) return;
    const span: Span | undefined = isSame([min, max], ends) ? undefined : [min, max];
    if (isSame(span, shown)) return;
    shown = span;
    onSpan?.(span);
  };
  const ink = colour('--ink');
  // In UTC, as every other time here.
  const times = (_: uPlot, splits: number[], __: number, ___: number, step: number) =>
    splits.map((at) => {
      const text = new Date(at * 1000).toISOString();
      return step >= 86400 ? text.slice(0, 10) : text.slice(5, 16).replace('T', ' ');
    });
  const grid = { stroke: colour('--line'), width: 1 };
  const unit = history.series.unit === 'bytes_per_second' ? 'GB/s' : history.series.unit === 'ns' ? 'µs' : history.series.unit;
  const plot = new uPlot(
    {
      width: into.clientWidth || 600,
      height: kHeight,
      scales: { x: { time: axis === 'date' } },
      cursor: { sync: { key: sync, scales: ['x', null] }, drag: { x: true, y: false } },
      axes: [
        { stroke: ink, grid, space: 90, ...(axis === 'date' ? { values: times } : {}) },
        { stroke: ink, grid, label: unit, size: 64 },
      ],
      series: [
        { label: axis === 'date' ? 'UTC' : 'run', value: (_, at) => (at === null ? '–' : axis === 'date' ? new Date(at * 1000).toISOString().slice(0, 16) : String(at)) },
        { label: 'low', stroke: 'transparent', points: { show: false } },
        { label: 'high', stroke: 'transparent', points: { show: false } },
        { label: unit, stroke: colour('--accent'), width: 1.5, points: { show: (_, __, first, last) => last - first < kMostDots, size: 5 } },
        ...peersSeries(peers),
      ],
      bands: [...(peers ? [{ series: [5, 4] as [number, number], fill: colour('--peers') }] : []), { series: [2, 1], fill: colour('--band') }],
      legend: { live: true },
      hooks: {
        drawClear: [(self) => drawMarks(self, x, stacks, changes, marks, scale)],
        draw: [(self) => drawSpikes(self, x, changes, scale)],
        setScale: [refines(pixels, ends, dataFor), note],
      },
    },
    dataFor(...ends, pixels()),
    into,
  );
  // An observer is called once at its begin, with the size that is there.
  const resize = new ResizeObserver(() => into.clientWidth !== plot.width && plot.setSize({ width: into.clientWidth, height: kHeight }));
  resize.observe(into);
  return {
    show(span) {
      if (isSame(span, shown) || ends[0] === ends[1]) return;
      shown = span; // before the chart says so
      plot.setScale('x', { min: span?.[0] ?? ends[0], max: span?.[1] ?? ends[1] });
    },
    mark(found, upgrades) {
      changes = found;
      marks = axis === 'date' ? upgrades.map((one) => new Date(one.since ?? one.created_at).getTime() / 1000) : [];
      plot.redraw(false);
    },
    end() {
      resize.disconnect();
      plot.destroy();
    },
  };
}
