// The inbox of findings, and one finding with its evidence.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { MeasureAgain, Step } from '../parts/actions';
import { useApi, useMay, part } from '../api/api';
import { Begin } from './begin';
import { Differences } from './differences';
import { now } from '../parts/clock';
import { ago, figure, percent, signed, time } from '../parts/format';
import { confidence, fits, groupsOf, idsOf, isCared, isSettled, kSettled, lineOf, masterOf, precisionWords, tagsOf, type Group } from '../parts/inbox';
import { findingMarkdown, findingsMarkdown } from '../parts/markdown';
import { Evidence } from './matrix';
import { Command, Copy, Facts, Levels, Lines, Name, Shown, State, Table, To, When } from '../parts/parts';
import { change, link, type Route } from '../api/route';
import type { Finding, FindingList, SuspectList } from '../api/types';

type Choose = (ids: string[], is: boolean) => void;

const kStates = ['new', 'confirmed', 'acknowledged', 'investigating', 'downstream', 'accepted', 'fixed', 'rolled_back', 'false', 'reopened'];
const kActions = ['ack', 'investigate', 'downstream', 'dismiss', 'resolve', 'roll_back', 'reopen', 'reset', 'assign', 'tag'];
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
  const isSoon = new Date(at).getTime() - now() < kMsOfHour;
  return <time dateTime={at} title={time(at)} class={isSoon ? 'state doubtful' : ''}>{ago(at)}</time>;
}

// When it began at the earliest and at the latest, with 90 %.
function Range({ finding }: { finding: Finding }) {
  const { begin_from: from, begin_until: until } = finding;
  if (!from || !until) return <>–</>;
  return <span title={`${time(from)} to ${time(until)}`}>{from === until ? time(from) : `${time(from)} to ${time(until)}`}</span>;
}

const kNoise: Record<string, [string, string]> = {
  ok: ['plain', 'the figures before it scatter around one level'],
  modal: ['doubtful', 'the figures before it have two levels'],
  outliers: ['doubtful', 'some figures before it are far from the others'],
  skewed: ['doubtful', 'the figures before it have a longer tail to one side'],
};
function Noise({ word }: { word: string | null }) {
  if (!word) return <>–</>;
  const [tone, text] = kNoise[word] ?? ['plain', ''];
  return <span class={`badge noise ${tone}`} title={text}>{word}</span>;
}

export function Tags({ tags }: { tags: string[] }) {
  return <>{tags.map((tag) => <To key={tag} path={['findings']} values={{ tag }}><span class="badge tag"><Name text={tag} /></span></To>)}</>;
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
        { head: 'What', cell: (row) => <><To path={['findings', row.finding_id]}><Name text={row.summary} /></To> <Tags tags={row.tags} /></> },
        { head: '', cell: (row) => (isSettled(row) || isCared(row) ? '' : <Step ids={[row.finding_id]} about={[lineOf(row)]} action="ack" isKey />) },
        { head: 'Class', cell: (row) => <>{row.kind.replace(/_/g, ' ')}, {row.severity}</> },
        { head: 'Part', cell: (row) => <Name text={row.suspect} /> },
        { head: 'Metric', cell: (row) => <Name text={row.metric ?? '–'} /> },
        { head: 'Change', cell: (row) => signed(row.worse_percent), right: true },
        { head: 'Confidence', cell: (row) => confidence(row.confidence_percent), right: true },
        { head: 'Noise', cell: (row) => <Noise word={row.noise} /> },
        { head: 'Range', cell: (row) => <Range finding={row} /> },
        { head: 'Again', cell: (row) => (row.confirmation ? <State word={row.confirmation} /> : '–') },
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

function Filters({ route, tags }: { route: Route; tags: string[] }) {
  const value = (name: string) => route.query.get(name) ?? '';
  const all = [...new Set([...tags, value('tag')])].filter(Boolean).sort();
  const choices: [string, string, [string, string][]][] = [
    ['state', 'State', [['', 'open'], ...kStates.map((word): [string, string] => [word, word.replace(/_/g, ' ')])]],
    ['side', 'Direction', [['', 'both'], ['worse', 'regressions'], ['better', 'improvements']]],
    ...(all.length ? [['tag', 'Tag', [['', 'any'], ...all.map((tag): [string, string] => [tag, tag])]] as [string, string, [string, string][]]] : []),
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

// The precision of settled findings. Read when it is opened.
function Precision() {
  const [isOpen, setOpen] = useState(false);
  const lists = kSettled.map((state) => useApi<FindingList>(isOpen ? 'findings' : undefined, { state, limit: kMostSettled }));
  const error = lists.find((list) => list.error)?.error;
  const counts = lists.map((list) => list.data?.findings.length);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Precision of the settled findings</summary>
      {isOpen && (error ? <p class="error" role="alert">{error}</p> : <p>{counts.every((count) => count !== undefined) ? precisionWords(counts as number[], kMostSettled) : 'Reading …'}</p>)}
    </details>
  );
}
const kMostSettled = 1000;

export function Findings({ route }: { route: Route }) {
  const value = (name: string) => route.query.get(name) ?? '';
  const list = useApi<FindingList>('findings', { state: value('state'), limit: 1000 }, 10);
  const [chosen, setChosen] = useState<string[]>([]);
  const all = list.data?.findings ?? [];
  const shown = all.filter((finding) => fits(finding, { side: value('side'), text: value('text'), tag: value('tag') }));
  // Those that a filter hides are not acted on.
  const ids = chosen.filter((id) => shown.some((finding) => finding.finding_id === id));
  const choose: Choose = (of, is) => setChosen([...chosen.filter((id) => !of.includes(id)), ...(is ? of : [])]);
  return (
    <>
      <h1>Findings</h1>
      <Filters route={route} tags={tagsOf(all)} />
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
                    {ids.length} chosen: {kActions.map((action) => <Step key={action} ids={ids} about={ids.map((id) => lineOf(all.find((one) => one.finding_id === id)!))} action={action} />)}
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
            <Precision />
          </>
        )}
      </Shown>
    </>
  );
}

function Triage({ finding }: { finding: Finding }) {
  const id = finding.finding_id;
  const may = useMay('Judge.StepFinding');
  const more = ['comment', 'assign', 'tag', ...(finding.tags.length ? ['untag'] : [])];
  const undo = isSettled(finding) || isCared(finding) ? ['reopen', 'reset'] : [];
  const steps = [...(isSettled(finding) ? [] : ['ack', 'investigate', 'downstream', 'dismiss', 'accept', 'resolve', 'roll_back']), ...undo, ...more];
  return (
    <section>
      <h3>Triage</h3>
      {may && <p class="links" id="steps">{steps.map((action) => <Step key={action} ids={[id]} about={[lineOf(finding)]} action={action} isKey owner={finding.owner ?? ''} tags={finding.tags} />)}</p>}
      <p class="quiet">
        {may ? 'Each is in the audit trail. The same by commands, and what goes to its vendor:' : 'Your role may only read. These commands change the finding; `i` and `a` on the keyboard lead here.'}
      </p>
      <ul class="plain" id="triage" tabIndex={-1}>
        <li data-key="a">acknowledge: <Command text={`railgauge findings ack ${id} --note WHY`} /></li>
        <li data-key="i">false alarm: <Command text={`railgauge findings resolve ${id} --false`} /></li>
        <li>accept the new level: <Command text={`railgauge findings accept ${id} --note WHY`} /></li>
        <li>fixed: <Command text={`railgauge findings resolve ${id}`} /></li>
        <li>looked into: <Command text={`railgauge findings investigate ${id}`} /></li>
        <li>the effect of another: <Command text={`railgauge findings downstream ${id} --of CAUSE`} /></li>
        <li>rolled back: <Command text={`railgauge findings resolve ${id} --rolled-back`} /></li>
        <li>undo a person's state: <Command text={`railgauge findings reset ${id}`} /></li>
        <li>a tag, a note: <Command text={`railgauge findings tag ${id} --add TAG`} /> <Command text={`railgauge findings note ${id} --note TEXT`} /></li>
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

// A cause that is words may be no page: the page then says so.
const Cause = ({ text }: { text: string }) => (/\s/.test(text) ? <Name text={text} /> : <To path={['findings', text]}><Name text={text} /></To>);

// The answers of runs that were started for it.
function Again({ finding }: { finding: Finding }) {
  const id = finding.finding_id;
  return (
    <section id="again">
      <h3>Measured again</h3>
      <p class="links">
        {finding.confirmation && <State word={finding.confirmation} />} <MeasureAgain id={id} kind="rerun" /> <MeasureAgain id={id} kind="control" />
      </p>
      <Table
        caption="runs that were started for the finding"
        rows={finding.runs}
        none="Nobody had it measured again."
        open={(row) => link(['runs', row.run_id])}
        columns={[
          { head: 'Run', cell: (row) => <To path={['runs', row.run_id]}>{row.run_id}</To> },
          { head: 'As', cell: (row) => row.kind },
          { head: 'State', cell: (row) => <State word={row.state} /> },
          { head: 'Worse', cell: (row) => signed(row.worse_percent), right: true },
          { head: 'Series', cell: (row) => row.figures, right: true },
          { head: 'Why', cell: (row) => <Name text={row.reason} /> },
          { head: 'At', cell: (row) => <When at={row.at} /> },
          { head: 'Who', cell: (row) => <Name text={row.who} /> },
        ]}
      />
      <p class="quiet">By commands: <Command text={`railgauge findings rerun ${id}`} /> <Command text={`railgauge findings rerun ${id} --control`} /></p>
    </section>
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
            <State word={finding.state} /> {finding.kind.replace(/_/g, ' ')}, {finding.severity} <Tags tags={finding.tags} />{' '}
            <Copy text={findingMarkdown(finding, location.href)} label="Copy as Markdown" />
          </p>
          <Facts
            rows={[
              ['Where', <Name text={finding.suspect} />],
              ...(finding.caused_by ? [['The effect of', <Cause text={finding.caused_by} />] as [string, ComponentChildren]] : []),
              ['Worse', signed(finding.worse_percent)],
              ['Confidence', confidence(finding.confidence_percent)],
              ['Metric', <Name text={finding.metric ?? '–'} />],
              ['Noise before it', <Noise word={finding.noise} />],
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
          <Again finding={finding} />
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
