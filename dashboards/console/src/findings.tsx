// The inbox of findings, and one finding with its evidence.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Step } from './actions';
import { useApi, useMay, part } from './api';
import { Begin } from './begin';
import { Differences } from './differences';
import { ago, figure, percent, signed, time } from './format';
import { fits, groupsOf, idsOf, isSettled, masterOf, type Group } from './inbox';
import { findingMarkdown, findingsMarkdown } from './markdown';
import { Evidence } from './matrix';
import { Command, Copy, Facts, Levels, Lines, Name, Shown, State, Table, To, When } from './parts';
import { change, link, type Route } from './route';
import type { Finding, FindingList, SuspectList } from './types';

type Choose = (ids: string[], is: boolean) => void;

const kClosed = ['accepted', 'fixed', 'false'];
const kStates = ['new', 'confirmed', 'acknowledged', 'accepted', 'fixed', 'false', 'reopened'];
const kActions = ['ack', 'dismiss', 'resolve', 'reopen', 'assign'];
const kMsOfHour = 3_600_000;

// A checkbox for several findings, which is half checked where some of them are chosen.
function Master({ ids, chosen, choose, label }: { ids: string[]; chosen: string[]; choose: Choose; label: string }) {
  const box = useRef<HTMLInputElement>(null);
  const state = masterOf(ids, chosen);
  useEffect(() => {
    if (box.current) box.current.indeterminate = state === 'some';
  }, [state]);
  return <input type="checkbox" ref={box} aria-label={label} checked={state === 'all'} onChange={(event) => choose(ids, event.currentTarget.checked)} />;
}

// The time until an acknowledged finding opens again.
function Due({ at }: { at: string | null }) {
  if (!at) return null;
  const isSoon = new Date(at).getTime() - Date.now() < kMsOfHour;
  return <time dateTime={at} title={time(at)} class={isSoon ? 'state doubtful' : ''}>{ago(at)}</time>;
}

function Inbox({ rows, ids, choose, caption }: { rows: Finding[]; ids: string[]; choose: Choose; caption: string }) {
  return (
    <Table
      caption={caption}
      rows={rows}
      none="No finding is of this kind."
      open={(row) => link(['findings', row.finding_id])}
      columns={[
        { head: '', cell: (row) => <input type="checkbox" aria-label={`choose ${row.finding_id}`} checked={ids.includes(row.finding_id)} onChange={(event) => choose([row.finding_id], event.currentTarget.checked)} /> },
        { head: 'State', cell: (row) => <State word={row.state} /> },
        { head: 'What', cell: (row) => <To path={['findings', row.finding_id]}><Name text={row.summary} /></To> },
        { head: '', cell: (row) => (isSettled(row) || row.state === 'acknowledged' ? '' : <Step ids={[row.finding_id]} action="ack" isKey />) },
        { head: 'Class', cell: (row) => <>{row.kind.replace(/_/g, ' ')}, {row.severity}</> },
        { head: 'Part', cell: (row) => <Name text={row.suspect} /> },
        { head: 'Change', cell: (row) => signed(row.worse_percent), right: true },
        { head: 'Age', cell: (row) => ago(row.opened_at).replace(' ago', ''), right: true },
        { head: 'Owner', cell: (row) => <Name text={row.owner ?? ''} /> },
        { head: 'Due', cell: (row) => <Due at={row.acknowledged_until} /> },
        { head: 'Id', cell: (row) => <Name text={row.finding_id} /> },
        { head: 'Group', cell: (row) => <Name text={row.event_id ?? ''} /> },
      ]}
    />
  );
}

function OneGroup({ group, ids, choose }: { group: Group; ids: string[]; choose: Choose }) {
  const all = idsOf(group);
  return (
    <details open>
      <summary>
        {all.length === 1 ? 'one finding' : `${all.length} findings of one event`}: <Name text={group.members[0].suspect} />
      </summary>
      <label>
        <Master ids={all} chosen={ids} choose={choose} label={`choose the ${all.length} of the event ${group.event}`} /> choose all {all.length}
      </label>
      <Inbox rows={group.members} ids={ids} choose={choose} caption={`findings of the event ${group.event}`} />
    </details>
  );
}

function Filters({ route }: { route: Route }) {
  const value = (name: string) => route.query.get(name) ?? '';
  const choices: [string, string, [string, string][]][] = [
    ['state', 'State', [['', 'open'], ...kStates.map((word): [string, string] => [word, word])]],
    ['side', 'Direction', [['', 'both'], ['worse', 'regressions'], ['better', 'improvements']]],
  ];
  return (
    <form class="bar" onSubmit={(event) => event.preventDefault()}>
      {choices.map(([name, label, all]) => (
        <label key={name}>
          {label}{' '}
          <select value={value(name)} onChange={(event) => change({ [name]: event.currentTarget.value })}>
            {all.map(([word, text]) => <option value={word}>{text}</option>)}
          </select>
        </label>
      ))}
      <label>
        <input type="checkbox" checked={value('by') === 'event'} onChange={(event) => change({ by: event.currentTarget.checked ? 'event' : '' })} /> by event
      </label>
      <label>
        Filter{' '}
        <input type="search" data-filter="" value={value('text')} onInput={(event) => change({ text: event.currentTarget.value }, true)} />
      </label>
    </form>
  );
}

// The budget of false alarms, as the morning report has it, beside what was measured of them.
const kBudget = 0.05;

function FalseAlarms({ list }: { list: FindingList }) {
  const twice = list.measured_twice ?? 0;
  const apart = list.measured_twice_apart ?? 0;
  return (
    <p class="quiet">
      Budget of false alarms: {percent(kBudget, 0)}. Measured:{' '}
      {twice > 0 ? `${percent(apart / twice)}, ${apart} of ${twice} figures that were measured twice with nothing changed` : 'not yet, no figure was measured twice'}.
    </p>
  );
}

export function Findings({ route }: { route: Route }) {
  const value = (name: string) => route.query.get(name) ?? '';
  const list = useApi<FindingList>('findings', { state: value('state'), limit: 1000 }, 10);
  const [chosen, setChosen] = useState<string[]>([]);
  const all = list.data?.findings ?? [];
  const shown = all.filter((finding) => fits(finding, { side: value('side'), text: value('text') }));
  // Those that a filter hides are not acted on.
  const ids = chosen.filter((id) => shown.some((finding) => finding.finding_id === id));
  const choose: Choose = (of, is) => setChosen([...chosen.filter((id) => !of.includes(id)), ...(is ? of : [])]);
  return (
    <>
      <h1>Findings</h1>
      <Filters route={route} />
      <Shown of={list}>
        {(found) => (
          <>
            {shown.length > 1 && (
              <p class="bar noprint">
                <label>
                  <Master ids={shown.map((one) => one.finding_id)} chosen={ids} choose={choose} label={`choose all ${shown.length}`} /> all {shown.length}
                </label>
                {ids.length > 0 && (
                  <>
                    {ids.length} chosen: {kActions.map((action) => <Step key={action} ids={ids} action={action} />)}
                    <Copy text={findingsMarkdown(shown.filter((one) => ids.includes(one.finding_id)), location.href, found.data_kind)} label="Copy as Markdown" />
                  </>
                )}
              </p>
            )}
            {value('by') === 'event' ? (
              groupsOf(shown).map((group) => <OneGroup key={group.event} group={group} ids={ids} choose={choose} />)
            ) : (
              <Inbox rows={shown} ids={ids} choose={choose} caption="findings" />
            )}
            <FalseAlarms list={found} />
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
