// The controller's clock, by which all times of the interface are: that of the browser may be hours off.

interface Reading {
  unixMs: number; // of the controller
  pageMs: number; // of the page's own clock, which no person sets
}
let reading: Reading | undefined;
const listeners = new Set<() => void>();
const kStepMs = 2000; // smaller ones are the way of an answer

// Unix milliseconds. Before the first session was read, by the browser's clock.
export function now(): number {
  return reading === undefined ? Date.now() : reading.unixMs + performance.now() - reading.pageMs;
}

// Takes the time of an answer, `now` of the session. Listeners hear of a step.
export function setClock(text: string | undefined): void {
  const unixMs = Date.parse(text ?? '');
  if (Number.isNaN(unixMs)) return;
  const before = now();
  reading = { unixMs, pageMs: performance.now() };
  if (Math.abs(unixMs - before) > kStepMs) for (const listener of listeners) listener();
}

// Calls `listener` after each step of the clock: what a page says of times is then old.
export function onClock(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
