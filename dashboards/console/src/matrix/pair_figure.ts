// The stored point behind one cell of the matrix: its interval, its samples, its path. Pure.
import type { MatrixFrame, ResultPoint } from '../api/types';
import type { Values } from '../api/route';

// A point of a pair: its words beside its figure.
export interface PairFigure {
  n?: number;
  low?: number;
  high?: number;
  path?: string;
  counters?: string;
  run?: string; // that measured it
}

type Framed = Pick<MatrixFrame, 'run_id' | 'kernel' | 'metric' | 'message_bytes' | 'rail' | 'memory' | 'runs' | 'meaning'>;

const kAgeDays = 1e-4;

// The run whose figure a cell of one pair has; undefined: it is not known. `ageDays`: the cell's,
// in a matrix of several runs.
export function runOf(frame: Framed, ageDays: number | null): string | undefined {
  if (frame.runs.length === 0) return frame.run_id;
  return ageDays === null ? undefined : frame.runs.find((run) => Math.abs(run.age_days - ageDays) < kAgeDays)?.run_id;
}

const nodeOf = (end: string | undefined) => (end ?? '').split('/')[0];
// A GPU is "n1 gpu3" in a matrix between GPUs.
const hostOf = (end: string) => end.replace(/ gpu\d+$/, '');

// The request for the points of a pair, both ways.
export function askFor(frame: Framed, run: string, from: string, to: string): Values {
  const isBetweenGpus = hostOf(from) !== from;
  return {
    run_id: run, kernel: frame.kernel, metric: frame.metric, message_bytes: frame.message_bytes, from: hostOf(from), to: hostOf(to),
    ...(isBetweenGpus ? {} : { rail: frame.rail }),
  };
}

// Sender and receiver of a point, and its layer, by the rules of the controller's matrix.
function endsOf(point: ResultPoint): { from: string; to: string; memory: string } | undefined {
  const { kernel, endpoints, parameters } = point;
  const pair = String(point.point.pair ?? '');
  if (pair.includes('>')) {
    const [from, to] = pair.split('>').map((gpu) => `${nodeOf(endpoints[0])} ${gpu}`);
    const way = [parameters.engine, parameters.direction].filter(Boolean).join(' ');
    return { from, to, memory: `${way}${parameters.bidirectional === 'true' ? ', under load' : ''}` };
  }
  if (endpoints.length !== 2 || parameters.direction === 'both' || kernel.startsWith('nccl.')) return undefined;
  const ends = endpoints.map(nodeOf);
  if (kernel.includes('.read_')) ends.reverse(); // it transfers to the initiator
  const memory = point.facts.memory || parameters.memory || '';
  return { from: ends[0], to: ends[1], memory: memory === '' || memory.startsWith('host') ? 'host' : 'gpu' };
}

// The point whose figure the cell shows. A cell is the middle one of repeated figures, so that the
// one with its very value is its own. Undefined: none is kept.
export function pointOf(frame: Framed, from: string, to: string, value: number, points: ResultPoint[]): ResultPoint | undefined {
  return points.find((one) => {
    if (/^[dag]/.test(one.task_id)) return false; // it follows up a suspect, and is in no cell
    const ends = endsOf(one);
    if (ends === undefined || ends.from !== from || ends.to !== to || (frame.memory !== '' && ends.memory !== frame.memory)) return false;
    if (one.point.meaning !== undefined && one.point.meaning !== frame.meaning) return false;
    const headline = one.point.rate ?? one.point.median;
    return typeof headline === 'number' && Math.fround(headline) === Math.fround(value);
  });
}

export function figureOf(point: ResultPoint): PairFigure {
  const number = (name: string) => (typeof point.point[name] === 'number' ? (point.point[name] as number) : undefined);
  // A rate does not take the interval of its median.
  const [low, high] = number('rate') !== undefined ? ['rate_low', 'rate_high'] : ['median_low', 'median_high'];
  const grown = Object.entries(point.facts).filter(([name]) => name.endsWith('counters_grown'));
  return {
    n: number('sample_count'),
    low: number(low),
    high: number(high),
    path: point.facts.path,
    counters: grown.map(([name, words]) => `${name.replace(/_?(port|netdev)_counters_grown$/, '')} ${words}`.trim()).join('; '),
    run: point.run_id,
  };
}
