// The inbox of findings, and one finding with its evidence.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Step } from './actions';
import { useApi, useMay, part } from './api';
import { Begin } from './begin';
import { Differences } from './differences';
import { figure, signed } from './format';
import { findingMarkdown, findingsMarkdown } from './markdown';
import { Evidence } from './matrix';
import { Command, Copy, Facts, Levels, Lines, Name, Shown, State, Table, To, When } from './parts';
import { change, link, type Route } from './route';
import type { Finding, FindingList, SuspectList } from './types';

const kClosed = ['accepted', 'fixed', 'false'];
const kStates = ['', 'new', 'confirmed', 'acknowledged', 'accepted', 'fixed', 'false', 'reopened'];

function fits(finding: Finding, side: string, text: string): boolean {
  const worse = finding.worse_percent;
  if (side === 'worse' && worse !== null && worse < 0) return false;
  if (side === 'better' && (worse === null || worse >= 0)) return false;
  const all = `${finding.finding_id} ${finding.kind} ${finding.summary} ${finding.suspect} ${finding.owner ?? ''}`;
  return all.toLowerCase().includes(text.toLowerCase());
}

// Findings that began together, the largest event first.
function eventsOf(findings: Finding[]): { event: string; rows: Finding[] }[] {
  const events = new Map<string, Finding[]>();
  for (const finding of findings) {
    const event = finding.event_id ?? finding.finding_id;
    events.set(event, [...(events.get(event) ?? []), finding]);
  }
  return [...events].map(([event, rows]) => ({ event, rows })).sort((a, b) => b.rows.length - a.rows.length);
}

function Inbox({ rows, ids, choose }: { rows: Finding[]; ids: string[]; choose: (id: string, is: boolean) => void }) {
  return (
    <Table
      caption="findings"
      rows={rows}
      none="No finding is of this kind."
      open={(row) => link(['findings', row.finding_id])}
      columns={[
        { head: '', cell: (row) => <input type="checkbox" aria-label={`choose ${row.finding_id}`} checked={ids.includes(row.finding_id)} onChange={(event) => choose(row.finding_id, event.currentTarget.checked)} /> },
        { head: 'State', cell: (row) => <State word={row.state} /> },
        { head: 'Severity', cell: (row) => row.severity },
        { head: 'Kind', cell: (row) => row.kind.replace(/_/g, ' ') },
        { head: 'What', cell: (row) => <To path={['findings', row.finding_id]}><Name text={row.summary} /></To> },
        { head: 'Where', cell: (row) => <Name text={row.suspect} /> },
        { head: 'Worse', cell: (row) => signed(row.worse_percent), right: true },
        { head: 'Since', cell: (row) => <When at={row.since ?? row.opened_at} /> },
        { head: 'Owner', cell: (row) => <Name text={row.owner ?? ''} /> },
        { head: 'Due', cell: (row) => (row.acknowledged_until ? <When at={row.acknowledged_until} /> : '') },
        { head: 'Event', cell: (row) => row.event_id ?? '' },
        { head: '', cell: (row) => (kClosed.includes(row.state) || row.state === 'acknowledged' ? '' : <Step ids={[row.finding_id]} action="ack" isKey />) },
      ]}
    />
  );
}

export function Findings({ route }: { route: Route }) {
  const state = route.query.get('state') ?? '';
  const side = route.query.get('side') ?? '';
  const text = route.query.get('text') ?? '';
  const byEvent = route.query.get('by') === 'event';
  const list = useApi<FindingList>('findings', { state, limit: 1000 }, 10);
  const [chosen, setChosen] = useState<string[]>([]);
  const shown = (list.data?.findings ?? []).filter((finding) => fits(finding, side, text));
  // Those that a filter hides are not acted on.
  const ids = chosen.filter((id) => shown.some((finding) => finding.finding_id === id));
  const choose = (id: string, is: boolean) => setChosen(is ? [...chosen, id] : chosen.filter((one) => one !== id));
  return (
    <>
      <h1>Findings</h1>
      <form class="bar" onSubmit={(event) => event.preventDefault()}>
        <label>
          State{' '}
          <select value={state} onChange={(event) => change({ state: event.currentTarget.value })}>
            {kStates.map((word) => <option value={word}>{word || 'open'}</option>)}
          </select>
        </label>
        <label>
          Direction{' '}
          <select value={side} onChange={(event) => change({ side: event.currentTarget.value })}>
            <option value="">both</option>
            <option value="worse">worse</option>
            <option value="better">better</option>
          </select>
        </label>
        <label>
          <input type="checkbox" checked={byEvent} onChange={(event) => change({ by: event.currentTarget.checked ? 'event' : '' })} /> by event
        </label>
        <label>
          Filter{' '}
          <input type="search" data-filter="" value={text} onInput={(event) => change({ text: event.currentTarget.value }, true)} />
        </label>
      </form>
      <Shown of={list}>
        {(found) => (
          <>
            {shown.length > 1 && (
              <p class="bar noprint">
                <label>
                  <input type="checkbox" checked={ids.length === shown.length} onChange={(event) => setChosen(event.currentTarget.checked ? shown.map((one) => one.finding_id) : [])} />{' '}
                  all {shown.length}
                </label>
                {ids.length > 0 && (
                  <>
                    {ids.length} chosen: {['ack', 'dismiss', 'resolve', 'reopen', 'assign'].map((action) => <Step key={action} ids={ids} action={action} />)}
                    <Copy text={findingsMarkdown(shown.filter((one) => ids.includes(one.finding_id)), location.href, found.data_kind)} label="Copy as Markdown" />
                  </>
                )}
              </p>
            )}
            {byEvent ? (
              eventsOf(shown).map(({ event, rows }) => (
                <details open key={event}>
                  <summary>
                    {rows.length > 1 && (
                      <input
                        type="checkbox" aria-label={`choose the ${rows.length} of this event`} checked={rows.every((row) => ids.includes(row.finding_id))}
                        onChange={(change) => {
                          const of = rows.map((row) => row.finding_id);
                          setChosen([...chosen.filter((id) => !of.includes(id)), ...(change.currentTarget.checked ? of : [])]);
                        }}
                      />
                    )}{' '}
                    {rows.length === 1 ? 'one finding' : `${rows.length} findings of one event`}: <Name text={rows[0].suspect} />
                  </summary>
                  <Inbox rows={rows} ids={ids} choose={choose} />
                </details>
              ))
            ) : (
              <Inbox rows={shown} ids={ids} choose={choose} />
            )}
            {found.measured_twice !== null && found.measured_twice > 0 && (
              <p class="quiet">
                Of {found.measured_twice} figures that were measured twice with nothing changed, {found.measured_twice_apart}{' '}
                differ by more than their bound: false alarms, measured.
              </p>
            )}
          </>
        )}
      </Shown>
    </>
  );
}

function Triage({ finding }: { finding: Finding }) {
  const id = finding.finding_id;
  const may = useMay('Judge.StepFinding');
  const steps = kClosed.includes(finding.state) ? ['reopen', 'comment', 'assign'] : ['ack', 'dismiss', 'accept', 'resolve', 'comment', 'assign'];
  return (
    <section>
      <h3>Triage</h3>
      {may && <p class="links" id="steps">{steps.map((action) => <Step key={action} ids={[id]} action={action} isKey owner={finding.owner ?? ''} />)}</p>}
      <p class="quiet">
        {may ? 'Each is in the audit trail. The same by commands, and what goes to its vendor:' : 'Your role may only read. These commands change the finding; `i` and `a` on the keyboard lead here.'}
      </p>
      <ul class="plain" id="triage" tabIndex={-1}>
        <li data-key="a">acknowledge: <Command text={`railgauge findings ack ${id} --note WHY`} /></li>
        <li data-key="i">false alarm: <Command text={`railgauge findings resolve ${id} --false`} /></li>
        <li>accept the new level: <Command text={`railgauge findings accept ${id} --note WHY`} /></li>
        <li>fixed: <Command text={`railgauge findings resolve ${id}`} /></li>
        <li>its owner: <Command text={`railgauge findings assign ${id} --to WHO`} /></li>
        <li>for its vendor: <Command text={`railgauge bundle ${id} --redact`} /></li>
      </ul>
    </section>
  );
}

// The pairs that speak for a part. Its words begin with the name that the run's suspect has; a part
// that other nights accuse may be no suspect of the newest run.
function PartEvidence({ finding, runId }: { finding: Finding; runId: string }) {
  const list = useApi<SuspectList>('suspects', { run_id: runId });
  return (
    <Shown of={list}>
      {(found) => {
        const suspect = found.suspects.find(({ name }) => finding.suspect === name || finding.suspect.startsWith(`${name},`));
        if (!suspect) return <p class="quiet">No pair of its newest run speaks for it alone.</p>;
        return (
          <>
            <p>
              <To path={['matrix']} values={{ run_id: runId, suspect: suspect.place }}>The part in the pair matrix</To>
            </p>
            <Evidence suspect={suspect} list={found} />
          </>
        );
      }}
    </Shown>
  );
}

export function FindingPage({ id }: { id: string }) {
  const loaded = useApi<Finding>(`findings/${part(id)}`, {}, 10);
  return (
    <Shown of={loaded}>
      {(finding) => (
        <>
          <h1>
            <Name text={finding.summary} />
          </h1>
          <p>
            <State word={finding.state} /> {finding.kind.replace(/_/g, ' ')}, {finding.severity}{' '}
            <Copy text={findingMarkdown(finding, location.href)} label="Copy as Markdown" />
          </p>
          <Facts
            rows={[
              ['Where', <Name text={finding.suspect} />],
              ['Worse', signed(finding.worse_percent)],
              ['Last good figure', <When at={finding.good_at} />],
              ['First bad figure', <When at={finding.since} />],
              ['Opened', <When at={finding.opened_at} />],
              ['Owner', <Name text={finding.owner ?? 'nobody'} />],
              ...(finding.acknowledged_until ? [['Opens again', <When at={finding.acknowledged_until} />] as [string, ComponentChildren]] : []),
              ['Run', finding.run_id ? <To path={['runs', finding.run_id]}>{finding.run_id}</To> : '–'],
              ['Upgrade', finding.upgrade_id ? <To path={['upgrades', finding.upgrade_id]}>{finding.upgrade_id}</To> : '–'],
            ]}
          />
          <Lines title="Next steps" rows={finding.next} />
          <h3>Evidence</h3>
          {finding.run_id && (
            <p>
              <To path={['matrix']} values={{ run_id: finding.run_id }}>Pair matrix of its run</To>
            </p>
          )}
          {finding.kind === 'part' && finding.run_id && <PartEvidence finding={finding} runId={finding.run_id} />}
          <Levels before={finding.before_levels} after={finding.after_levels} />
          <Table
            caption="series of the finding"
            rows={finding.series}
            none="It is not about a series."
            open={(row) => link(['series'], { series_id: row.series_id })}
            columns={[
              { head: 'Series', cell: (row) => <To path={['series']} values={{ series_id: row.series_id }}><Name text={row.name} /></To> },
              { head: 'Before', cell: (row) => figure(row.before, row.unit), right: true },
              { head: 'After', cell: (row) => figure(row.after, row.unit), right: true },
            ]}
          />
          <Begin finding={finding} />
          <Lines title="What changed between the two" rows={finding.causes} />
          {finding.differences.length > 0 && (
            <>
              <h3>Differences of the stacks, of the whole fabric</h3>
              <Differences rows={finding.differences} caption="differences of the stacks, the most likely first" none="" />
            </>
          )}
          <Lines title="Ruled out" rows={finding.excluded} />
          <Lines title="Of the same event" rows={finding.same_event} />
          <Lines title="In common" rows={finding.common} />
          <Triage finding={finding} />
          <h3>History</h3>
          <Table
            caption="history of the finding"
            rows={finding.steps}
            columns={[
              { head: 'At', cell: (row) => <When at={row.at} /> },
              { head: 'Who', cell: (row) => <Name text={row.who} /> },
              { head: 'Did', cell: (row) => row.action },
              { head: 'Note', cell: (row) => <Name text={row.text} /> },
            ]}
          />
        </>
      )}
    </Shown>
  );
}
