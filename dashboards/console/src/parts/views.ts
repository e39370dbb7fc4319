// Views that a visitor has named, in the storage of this browser. A view is its URL, so that a saved
// one is a name and the part behind "#".
const kKey = 'railgauge-views';
const kMostViews = 50;
const kMostName = 100;
const kMostHash = 2000;

export interface View {
  name: string;
  hash: string;
}

// The views of a text; what is none is left out, since other programs may have held this port.
export function viewsOf(text: string | null): View[] {
  let all: unknown;
  try {
    all = JSON.parse(text ?? '[]');
  } catch {
    return [];
  }
  if (!Array.isArray(all)) return [];
  return all
    .filter((one): one is View => typeof one?.name === 'string' && typeof one?.hash === 'string' && one.hash.startsWith('#/') && one.hash.length <= kMostHash)
    .map(({ name, hash }) => ({ name: name.slice(0, kMostName), hash }))
    .slice(0, kMostViews);
}

// Why a view cannot be saved, in a line for a person; undefined: it can.
export function whyNotSaved({ name, hash }: View): string | undefined {
  if (!name.trim()) return 'The view was not saved: its name is blank.';
  if (hash.length > kMostHash) return `The view was not saved: its URL has ${hash.length} characters, of ${kMostHash} at most. Fewer nodes or choices make it shorter.`;
  return undefined;
}

// With `view`, in the place of one of its name; the newest is the first, the oldest beyond the bound go.
export function withView(views: View[], view: View): View[] {
  const name = view.name.trim().slice(0, kMostName);
  if (whyNotSaved(view) !== undefined || !view.hash.startsWith('#/')) return views;
  return [{ name, hash: view.hash }, ...views.filter((one) => one.name !== name)].slice(0, kMostViews);
}

export const readViews = (): View[] => viewsOf(localStorage.getItem(kKey));
export const keepViews = (views: View[]): void => localStorage.setItem(kKey, JSON.stringify(views));
