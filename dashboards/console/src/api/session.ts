// The session's secret, in the storage of this port's pages. A cookie would be sent to the other
// ports of the host as well, whoever serves them.
const kKey = 'railgauge-session';

// The headers by which this page asks; none without a session, as with a client certificate.
export function identity(): Record<string, string> {
  const secret = localStorage.getItem(kKey);
  return secret === null ? {} : { 'X-Railgauge-Session': secret };
}

export const isKnown = (): boolean => localStorage.getItem(kKey) !== null;
export const forget = (): void => localStorage.removeItem(kKey);

// Calls `listener` when another page of this port has begun or ended a session.
export function onSession(listener: () => void): () => void {
  const hear = (event: StorageEvent) => {
    if (event.key === kKey || event.key === null) listener();
  };
  addEventListener('storage', hear);
  return () => removeEventListener('storage', hear);
}
