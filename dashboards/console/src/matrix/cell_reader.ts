// Reads tiles of the matrix. Their text becomes cells in a worker; in the page where there is none, or
// where the text is so short that the start of a worker would take longer.
import { getBody } from '../api/api';
import { cellsOf, type Cells } from './cells';
import type { Values } from '../api/route';

const kShortBytes = 400_000; // read within a frame
let worker: Worker | undefined;
let hasFailed = typeof Worker === 'undefined';
let asked = 0;
const waiting = new Map<number, { body: ArrayBuffer; take: (cells: Cells) => void; fail: (cause: unknown) => void }>();

const parsed = (body: ArrayBuffer): Cells => cellsOf(JSON.parse(new TextDecoder().decode(body)));

function start(): Worker {
  const begun = new Worker(new URL('./cell_worker.ts', import.meta.url), { type: 'module' });
  begun.onmessage = ({ data }: MessageEvent<{ id: number; cells: Cells }>) => {
    waiting.get(data.id)?.take(data.cells);
    waiting.delete(data.id);
  };
  begun.onerror = () => {
    hasFailed = true;
    begun.terminate();
    for (const { body, take, fail } of waiting.values()) {
      try {
        take(parsed(body));
      } catch (cause) {
        fail(cause);
      }
    }
    waiting.clear();
  };
  return begun;
}

export async function readCells(values: Values, signal: AbortSignal): Promise<Cells> {
  const body = await getBody('matrix/tile', values, signal);
  if (hasFailed || body.byteLength < kShortBytes) return parsed(body);
  worker ??= start();
  return new Promise((take, fail) => {
    waiting.set(++asked, { body, take, fail });
    worker!.postMessage({ id: asked, body });
  });
}
