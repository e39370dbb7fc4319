// The controller's interface: JSON below /api/v1. api/v1/openapi.json describes it.
import { useEffect, useRef, useState } from 'preact/hooks';
import { query, type Values } from './route';

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

// Listeners hear whether the controller answers, and whether the session has ended.
export type Link = 'well' | 'lost' | 'ended';
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

export async function get<Answer>(
  path: string,
  values: Values = {},
  signal?: AbortSignal,
): Promise<Answer> {
  let answer: Response;
  try {
    answer = await fetch(`api/v1/${path}${query(values)}`, {
      signal,
      headers: { Accept: 'application/json' },
    });
  } catch (cause) {
    if (!signal?.aborted) tell('lost');
    throw cause;
  }
  if (answer.status === 401) tell('ended');
  else tell(answer.status === 503 ? 'lost' : 'well');
  const document = await answer.json().catch(() => null);
  if (!answer.ok || document === null)
    throw new ApiError(answer.status, document?.error?.message ?? `HTTP ${answer.status}`);
  return document as Answer;
}

export interface Loaded<Answer> {
  data?: Answer;
  error?: string;
  loading: boolean;
}

// Reads `path` again every `seconds` (0: once). An answer stays while a later reading fails.
// An undefined path reads nothing.
export function useApi<Answer>(
  path: string | undefined,
  values: Values = {},
  seconds = 0,
): Loaded<Answer> {
  const [state, setState] = useState<Loaded<Answer>>({ loading: path !== undefined });
  const key = path === undefined ? '' : path + query(values);
  const shown = useRef('');
  useEffect(() => {
    if (path === undefined) return setState({ loading: false });
    const abort = new AbortController();
    let timer = 0;
    if (shown.current !== key) setState({ loading: true });
    const read = async () => {
      try {
        const data = await get<Answer>(path, values, abort.signal);
        shown.current = key;
        setState({ data, loading: false });
      } catch (cause) {
        if (abort.signal.aborted) return;
        setState((old) => ({ data: old.data, error: words(cause), loading: false }));
      }
      if (seconds > 0 && !abort.signal.aborted) timer = window.setTimeout(read, seconds * 1000);
    };
    void read();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [key, seconds]);
  return state;
}

export function words(cause: unknown): string {
  if (cause instanceof ApiError) return cause.message;
  return 'the controller does not answer';
}

// One path segment.
export const part = encodeURIComponent;
