// Above each page, and on paper: that all data is of a modelled site.
import { useApi } from './api';
import type { Session } from './types';

export function DataMark() {
  const session = useApi<Session>('session', {}, 60);
  if (session.data?.data_kind !== 'synthetic') return null;
  return (
    <p class="mark" role="note">
      <strong>SYNTHETIC</strong> This controller's data is of a modelled site and measures no hardware.
    </p>
  );
}
