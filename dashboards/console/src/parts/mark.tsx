// Above each page, and on paper: that all data is of a modelled site, or may be.
import { useApi } from '../api/api';
import type { Session } from '../api/types';

export function DataMark() {
  const session = useApi<Session>('session', {}, 60);
  // Nobody who is not signed in sees data.
  const isUnknown = session.error !== undefined && session.status !== 401;
  const kind = session.data ? session.data.data_kind : isUnknown && 'unknown';
  if (!kind) return null;
  if (kind === 'unknown')
    return (
      <p class="mark" role="note">
        <strong>UNKNOWN</strong> The controller does not say whether this data is of a modelled site.
      </p>
    );
  return (
    <p class="mark" role="note">
      <strong>SYNTHETIC</strong> This controller's data is of a modelled site and measures no hardware.
    </p>
  );
}
