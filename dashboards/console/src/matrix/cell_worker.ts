// Reads the text of tiles beside the page, whose frames would wait for it.
import { buffersOf, cellsOf } from './cells';

addEventListener('message', ({ data: { id, body } }: MessageEvent<{ id: number; body: ArrayBuffer }>) => {
  const cells = cellsOf(JSON.parse(new TextDecoder().decode(body)));
  postMessage({ id, cells }, { transfer: buffersOf(cells) as Transferable[] });
});
