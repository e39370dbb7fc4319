// Who did what, and what was refused: the audit trail, for those who may read it elsewhere too.
import { useState } from 'preact/hooks';
import { useApi } from '../api/api';
import { Command, Name, Shown, State, Table, When } from '../parts/parts';
import { change, type Route } from '../api/route';
import type { AuditList, Session } from '../api/types';

const kRows = 200;
const kMostRows = 10_000;
const kSeconds = 10;

export function Audit({ route }: { route: Route }) {
  const value = (name: string) => route.query.get(name) ?? '';
  const [most, setMost] = useState(kRows);
  const session = useApi<Session>('session');
  // Each refusal of a reader would be a row of the trail.
  const may = session.data !== undefined && session.data.role !== 'viewer';
  const filter = { who: value('who'), rpc: value('rpc'), refused: value('refused') ? 'true' : '' };
  const list = useApi<AuditList>(may ? 'audit' : undefined, { ...filter, limit: most }, kSeconds);
  const text = (name: string, label: string, isFirst = false) => (
    <label>
      {label}{' '}
      <input type="search" value={value(name)} data-filter={isFirst ? '' : undefined} onInput={(event) => change({ [name]: event.currentTarget.value }, true)} />
    </label>
  );
  return (
    <>
      <h1>Audit trail</h1>
      {session.data && !may && <p>Your role may not read the trail, which names people. An operator reads it here, or by <Command text="railgauge audit" />.</p>}
      {may && (
        <form class="bar" onSubmit={(event) => event.preventDefault()}>
          {text('who', 'Who', true)}
          {text('rpc', 'Call')}
          <label>
            <input type="checkbox" checked={value('refused') !== ''} onChange={(event) => change({ refused: event.currentTarget.checked ? 'yes' : '' })} /> refused ones
          </label>
        </form>
      )}
      <Shown of={list}>
        {({ entries }) => (
          <>
            <Table
              caption="audit trail, the newest first"
              rows={entries}
              none="Nothing of this kind is in the trail."
              columns={[
                { head: 'At', cell: (row) => <When at={row.at} /> },
                { head: 'Who', cell: (row) => <Name text={row.who} /> },
                { head: 'Role', cell: (row) => <Name text={row.role} /> },
                { head: 'Call', cell: (row) => <Name text={row.rpc} /> },
                { head: 'About', cell: (row) => <Name text={row.subject ?? ''} /> },
                { head: 'Outcome', cell: (row) => <State word={row.refused ? 'refused' : row.outcome} /> },
                { head: 'Why', cell: (row) => <Name text={row.reason ?? ''} /> },
                { head: 'From', cell: (row) => <Name text={row.address ?? 'the controller'} /> },
                { head: 'Times', cell: (row) => row.count, right: true },
              ]}
            />
            {entries.length === most && most < kMostRows && <button type="button" onClick={() => setMost(Math.min(5 * most, kMostRows))}>Earlier ones</button>}
          </>
        )}
      </Shown>
    </>
  );
}
