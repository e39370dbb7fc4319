// Above each page: that all data is of a modelled site, or may be, also on paper; that the archive is late.
import { useEffect, useState } from 'preact/hooks';
import { onArchiveBehind, useApi } from '../api/api';
import { lateWords, mayLack } from './late';
import { Command } from './parts';
import type { Session } from '../api/types';

const kUsualSeconds = 60;
const kSoonSeconds = 5; // while an action waits for the archive

// Milliseconds of the page's clock at which the newest action came back with the archive's mark.
function useBehind(): [number | undefined, () => void] {
  const [at, setAt] = useState<number>();
  useEffect(() => onArchiveBehind(() => setAt(performance.now())), []);
  return [at, () => setAt(undefined)];
}

export function Marks() {
  const [behindAt, forget] = useBehind();
  const session = useApi<Session>('session', {}, behindAt === undefined ? kUsualSeconds : kSoonSeconds);
  const lag = session.data?.archive_lag_seconds;
  useEffect(() => {
    if (behindAt !== undefined && session.data && !mayLack(lag, (performance.now() - behindAt) / 1000)) forget();
  }, [session.data]);
  // A reading of before the action says nothing of it: the next one comes at once, after each action.
  const late = lateWords(lag, behindAt !== undefined);
  // Nobody who is not signed in sees data.
  const isUnknown = session.error !== undefined && session.status !== 401;
  const kind = session.data ? session.data.data_kind : isUnknown && 'unknown';
  return (
    <>
      {late && <p class="mark noprint" id="late" role="status"><strong>ARCHIVE</strong> {late.words} <Command text={late.command} /></p>}
      {kind && (
        <p class="mark" role="note">
          {kind === 'unknown' ? (
            <><strong>UNKNOWN</strong> The controller does not say whether this data is of a modelled site.</>
          ) : (
            <><strong>SYNTHETIC</strong> This controller's data is of a modelled site and measures no hardware.</>
          )}
        </p>
      )}
    </>
  );
}
