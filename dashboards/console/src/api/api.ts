// The controller's interface: JSON below /api/v1. api/v1/openapi.json describes it.
import { useEffect, useRef, useState } from 'preact/hooks';
import { EventReader, type ServerEvent } from './events';
import { query, type Values } from './route';
import { identity, onSession } from './session';
import { setClock } from '../parts/clock';

// A refusal of the controller, with HTTP's status.
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

// Listeners hear whether the controller answers, is too busy to, and whether the session has ended.
export type Link = 'well' | 'busy' | 'lost' | 'ended';
let linkState: Link = 'well';
const listeners = new Set<(state: Link) => void>();

export function onLink(listener: (state: Link) => void): () => void {
  listeners.add(listener);
  listener(linkState);
  return () => listeners.delete(listener);
}

function tell(state: Link): void {
  if (state === linkState) return;
  linkState = state;
  for (const listener of listeners) listener(state);
}

// Readings of a page that nobody touches do not prolong the session.
const kAttendedMs = 60_000;
let touched = Date.now();
for (const kind of ['pointerdown', 'keydown', 'wheel'] as const)
  globalThis.addEventListener?.(kind, () => (touched = Date.now()), { capture: true, passive: true });
const attendance = (): Record<string, string> => (Date.now() - touched > kAttendedMs ? { 'X-Railgauge-Unattended': '1' } : {});

async function ask(path: string, values: Values, signal: AbortSignal | undefined): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(`api/v1/${path}${query(values)}`, {
      signal,
      headers: { Accept: 'application/json', ...attendance(), ...identity() },
    });
  } catch (cause) {
    if (!signal?.aborted) tell('lost');
    throw cause;
  }
  if (answer.status === 401) tell('ended');
  else tell(answer.status === 503 ? 'busy' : 'well');
  return answer;
}

// Reads one path. Throws ApiError for a refusal, and what fetch throws without an answer.
export async function get<Answer>(
  path: string,
  values: Values = {},
  signal?: AbortSignal,
): Promise<Answer> {
  const answer = await ask(path, values, signal);
  const document = await answer.json().catch(() => null);
  if (!answer.ok || document === null)
    throw new ApiError(answer.status, document?.error?.message ?? wordsOf(answer.status));
  if (path === 'session') setClock((document as { now?: string }).now);
  return document as Answer;
}

// The same as the bytes of the answer, which another thread reads.
export async function getBody(path: string, values: Values, signal: AbortSignal): Promise<ArrayBuffer> {
  const answer = await ask(path, values, signal);
  if (answer.ok) return answer.arrayBuffer();
  const document = await answer.json().catch(() => null);
  throw new ApiError(answer.status, document?.error?.message ?? wordsOf(answer.status));
}

// Words for an answer that has none of the controller. The port itself refuses what it has no place for.
const wordsOf = (status: number) => (isBusy(status) ? `the controller is busy (HTTP ${status})` : `HTTP ${status}`);
// A refusal for the moment: the same request is answered later.
const isBusy = (status: number) => status === 503 || status === 429;

// A reading under way or done.
export interface Loaded<Answer> {
  data?: Answer;
  of?: Values; // what `data` was asked with
  error?: string;
  status?: number; // of the error, in HTTP; 0: no answer
  loading: boolean;
}

// Carries out an action with the token of this session. A new session has another token: it is read
// once more after a refusal.
export async function post<Answer>(path: string, body: object): Promise<Answer> {
  for (let tries = 0; ; ++tries) {
    const { token } = await actions();
    const answer = await fetch(`api/v1/${path}`, {
      method: 'POST',
      headers: { Accept: 'application/json', 'Content-Type': 'application/json', 'X-Railgauge-Token': token, ...identity() },
      body: JSON.stringify(body),
    });
    if (answer.status === 401) tell('ended');
    const document = await answer.json().catch(() => null);
    if (answer.ok && document !== null) {
      if (answer.headers.has('railgauge-archive')) dispatchEvent(new Event(kBehind));
      dispatchEvent(new Event(kActed));
      return document as Answer;
    }
    if (answer.status === 403 && tries === 0) {
      known = undefined;
      if ((await actions()).token !== token) continue;
    }
    throw new ApiError(answer.status, document?.error?.message ?? `HTTP ${answer.status}`);
  }
}
const kActed = 'railgauge-acted';
const kBehind = 'railgauge-behind';
// After an action whose answer says that the archive may lack it.
export function onArchiveBehind(listener: () => void): () => void {
  addEventListener(kBehind, listener);
  return () => removeEventListener(kBehind, listener);
}
// After another page has begun a session: what is shown is read again by it.
export function readAgain(): void {
  known = undefined;
  dispatchEvent(new Event(kActed));
}

interface Actions {
  token: string;
  actions: { path: string; call: string; allowed: boolean }[];
}
let known: Promise<Actions> | undefined;
function actions(): Promise<Actions> {
  known ??= get<Actions>('actions').catch((cause) => {
    known = undefined;
    throw cause;
  });
  return known;
}

// Whether this visitor may make a call, "Judge.StepFinding".
export function useMay(call: string): boolean {
  const [may, setMay] = useState(false);
  useEffect(() => {
    actions().then(
      (all) => setMay(all.actions.some((one) => one.call === call && one.allowed)),
      () => setMay(false),
    );
  }, [call]);
  return may;
}

// The state of a stream of server-sent events, which begins with the present one: after a broken
// connection nothing is missing. `tick` counts states, at most one in kTickMs, for what is read
// besides. An undefined path follows nothing.
export interface Live<State> {
  state?: State;
  isLive: boolean;
  tick: number;
}
const kTickMs = 2000;
const kLeastWaitMs = 1000;
const kAwayWaitMs = 2000;
const kMostWaitMs = 30_000;

// Reads a stream until its end. Throws when it does not begin or breaks.
async function stream(path: string, signal: AbortSignal, take: (event: ServerEvent) => void): Promise<void> {
  const answer = await fetch(`api/v1/${path}`, { signal, headers: { Accept: 'text/event-stream', ...identity() } });
  if (!answer.ok || answer.body === null) throw new ApiError(answer.status, `HTTP ${answer.status}`);
  const events = new EventReader();
  const text = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let part = await text.read(); !part.done; part = await text.read()) events.take(part.value).forEach(take);
}

export function useLive<State>(path: string | undefined): Live<State> {
  const [live, setLive] = useState<Live<State>>({ isLive: false, tick: 0 });
  useEffect(() => {
    setLive((old) => ({ isLive: false, tick: old.tick }));
    if (path === undefined) return;
    const abort = new AbortController();
    let again = 0;
    let ticks = 0;
    let wait = kLeastWaitMs;
    let isOver = false;
    const tick = () => {
      ticks = 0;
      setLive((old) => ({ ...old, tick: old.tick + 1 }));
    };
    const take = ({ type, data }: ServerEvent) => {
      if (type === 'end') {
        isOver = true;
        clearTimeout(ticks);
        setLive((old) => ({ ...old, isLive: false, tick: old.tick + 1 }));
      } else if (type === 'state') {
        wait = kLeastWaitMs;
        tell('well');
        setLive((old) => ({ ...old, state: JSON.parse(data) as State, isLive: true }));
        ticks ||= window.setTimeout(tick, kTickMs);
      }
    };
    // A stream that has ended without a word begins again; more slowly when it was refused.
    const begin = async () => {
      again = 0;
      await stream(path, abort.signal, take).catch((cause) => {
        if (!(cause instanceof ApiError)) wait = kAwayWaitMs;
        // Whether the controller is away, or the session has ended.
        if (!abort.signal.aborted) void get('session').catch(() => undefined);
      });
      if (isOver || abort.signal.aborted) return;
      setLive((old) => ({ ...old, isLive: false }));
      again = window.setTimeout(begin, wait);
      wait = Math.min(2 * wait, kMostWaitMs);
    };
    void begin();
    const stopListening = onSession(() => {
      if (again === 0) return;
      clearTimeout(again);
      wait = kLeastWaitMs;
      void begin();
    });
    return () => {
      isOver = true;
      stopListening();
      abort.abort();
      clearTimeout(again);
      clearTimeout(ticks);
    };
  }, [path]);
  return live;
}

// Reads `path` again every `seconds` (0: once), when `version` changes, and after each action. An
// answer stays while a later reading fails; with `keeps` also while other values are read. An
// undefined path reads nothing.
export function useApi<Answer>(
  path: string | undefined,
  values: Values = {},
  seconds = 0,
  version: number | string = 0,
  keeps = false,
): Loaded<Answer> {
  const [state, setState] = useState<Loaded<Answer>>({ loading: path !== undefined });
  const key = path === undefined ? '' : path + query(values);
  const shown = useRef('');
  useEffect(() => {
    if (path === undefined) return setState({ loading: false });
    const abort = new AbortController();
    let timer = 0;
    if (shown.current !== key) setState((old) => (keeps && old.data ? { data: old.data, of: old.of, loading: true } : { loading: true }));
    let newest = 0;
    const read = async () => {
      const turn = ++newest; // an older reading that comes late counts no more
      try {
        const data = await get<Answer>(path, values, abort.signal);
        if (turn !== newest) return;
        shown.current = key;
        setState({ data, of: values, loading: false });
      } catch (cause) {
        if (abort.signal.aborted || turn !== newest) return;
        const status = cause instanceof ApiError ? cause.status : 0;
        const isLater = isBusy(status);
        setState((old) => ({
          ...(shown.current === key ? { data: old.data, of: old.of } : {}),
          error: isLater ? `${words(cause)}; the page asks again` : words(cause), status, loading: false,
        }));
        if (isLater) return again(kBusyMs);
      }
      if (seconds > 0) again(seconds * 1000);
    };
    const again = (ms: number) => {
      if (!abort.signal.aborted) timer = window.setTimeout(read, ms);
    };
    const readNow = () => {
      clearTimeout(timer);
      void read();
    };
    readNow();
    addEventListener(kActed, readNow);
    return () => {
      removeEventListener(kActed, readNow);
      abort.abort();
      clearTimeout(timer);
    };
  }, [key, seconds, version]);
  return state;
}

const kBusyMs = 2000;

// An error in words for a person.
export function words(cause: unknown): string {
  if (cause instanceof ApiError) return cause.message;
  return 'the controller does not answer';
}

// One path segment.
export const part = encodeURIComponent;
