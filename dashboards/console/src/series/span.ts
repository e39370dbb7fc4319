// The part of a series that is shown, as the URL has it: unix seconds, or places of points. Pure.
export type Span = [number, number];

// undefined: all of it.
export function spanOf(query: URLSearchParams): Span | undefined {
  const [from, until] = ['from', 'until'].map((name) => (query.get(name) ? Number(query.get(name)) : NaN));
  return Number.isFinite(from) && Number.isFinite(until) && until > from ? [from, until] : undefined;
}

// The values of the URL for a zoom; none where all is shown.
export function valuesOfSpan(span: Span | undefined): { from: string; until: string } {
  return span ? { from: span[0].toFixed(1), until: span[1].toFixed(1) } : { from: '', until: '' };
}

// The URL is rounded, so that two spans may be one although their numbers differ.
export function isSame(one: Span | undefined, other: Span | undefined): boolean {
  if (!one || !other) return one === other;
  const far = Math.max(0.2, (one[1] - one[0]) / 1000);
  return Math.abs(one[0] - other[0]) <= far && Math.abs(one[1] - other[1]) <= far;
}
