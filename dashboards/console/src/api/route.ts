// Every view is a URL: "#/matrix?run_id=r-1&order=worst".

// A view: the parts of its path, and its values.
export interface Route {
  path: string[];
  query: URLSearchParams;
}

export type Values = Record<string, string | number | undefined>;

// Reads the part of a URL behind "#".
export function parse(hash: string): Route {
  const text = hash.replace(/^#\/?/, '');
  const mark = text.indexOf('?');
  const path = mark < 0 ? text : text.slice(0, mark);
  return {
    path: path.split('/').filter(Boolean).map(decode),
    query: new URLSearchParams(mark < 0 ? '' : text.slice(mark + 1)),
  };
}

// A broken escape in a URL that a person typed is text.
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// The number of a URL's text; `usual` where there is none. 0 is a number.
export function numberOf(text: string | null, usual: number): number {
  const value = Number(text ?? '');
  return text === null || text.trim() === '' || Number.isNaN(value) ? usual : value;
}

// Values as the query of a URL; empty ones are left out.
export function query(values: Values): string {
  const all = new URLSearchParams();
  for (const [name, value] of Object.entries(values))
    if (value !== undefined && value !== '') all.set(name, String(value));
  const text = all.toString();
  return text ? `?${text}` : '';
}

// The URL of a view.
export function link(path: string[], values: Values = {}): string {
  return `#/${path.map(encodeURIComponent).join('/')}${query(values)}`;
}

// Changes some values of the present view's URL; the browser's history has the view before.
export function change(values: Values, replace = false): void {
  const now = parse(location.hash);
  const all: Values = { ...Object.fromEntries(now.query), ...values };
  const next = link(now.path, all);
  if (next === location.hash) return;
  if (replace) {
    history.replaceState(null, '', next);
    dispatchEvent(new HashChangeEvent('hashchange'));
  } else {
    location.hash = next;
  }
}
