// What is wrong now, since when, and what to do.
import { useEffect, useState } from 'preact/hooks';
import { ScheduleActs } from '../parts/actions';
import { useApi, useLive } from '../api/api';
import { confirmedFirst } from '../parts/findings';
import { percent, time } from '../parts/format';
import { widest } from '../parts/widest';
import { Name, Shown, State, Synthetic, Table, To, When } from '../parts/parts';
import { link } from '../api/route';
import type { Finding, FindingList, NodeHeads, RunSummary, ScheduleInfo, SuspectList, Upgrade } from '../api/types';

const kSeconds = 10;
const kNoPairs = [400, 404, 409]; // answers for a run without pairs

// Those that are away are named; the others are counted, since a site may have thousands.
function Nodes() {
  const nodes = useApi<NodeHeads>('node_heads', { state: 'lost', limit: 5 }, kSeconds);
  return (
    <section class="card">
      <h2>Nodes</h2>
      <Shown of={nodes}>
        {(heads) => (
          <>
            <p class="large">
              {heads.attached} <small>of {heads.total} attached</small>
            </p>
            {heads.matching > 0 && (
              <p>
                <State word="lost" /> {heads.matching}:{' '}
                {heads.nodes.map((node) => (
                  <>
                    <To path={['nodes', node.name]}><Name text={node.name} /></To>{' '}
                  </>
                ))}
                {heads.matching > heads.nodes.length && '…'}
              </p>
            )}
            {heads.busy > 0 && <p><State word="busy" /> {heads.busy}</p>}
            {heads.paused > 0 && <p><State word="paused" /> {heads.paused}</p>}
            <p><To path={['nodes']}>All nodes</To></p>
          </>
        )}
      </Shown>
    </section>
  );
}

const kFindingsShown = 12;

// A list has no next steps: they are read for each finding that is shown.
function NextStep({ id, version }: { id: string; version: string }) {
  const finding = useApi<Finding>(`findings/${encodeURIComponent(id)}`, {}, undefined, version);
  return <Name text={finding.data?.next[0] ?? 'see its page'} />;
}

// Confirmed ones come first. `version` changes when a run was judged.
function Findings({ version }: { version: string }) {
  const list = useApi<FindingList>('findings', {}, kSeconds, version);
  return (
    <section class="card wide">
      <h2>Open findings</h2>
      <Shown of={list}>
        {({ findings }) => (
          <>
            <Table
              caption="open findings"
              rows={confirmedFirst(findings).slice(0, kFindingsShown)}
              none="No finding is open."
              open={(row) => link(['findings', row.finding_id])}
              columns={[
                { head: 'State', cell: (row) => <State word={row.state} /> },
                { head: 'What', cell: (row) => <To path={['findings', row.finding_id]}><Name text={row.summary} /></To> },
                { head: 'Where', cell: (row) => <Name text={row.suspect} /> },
                { head: 'Since', cell: (row) => <When at={row.since ?? row.opened_at} /> },
                { head: 'Next step', cell: (row) => <NextStep id={row.finding_id} version={version} /> },
              ]}
            />
            {findings.length > kFindingsShown && (
              <p class="quiet">
                <To path={['findings']}>{findings.length - kFindingsShown} more open findings</To>
              </p>
            )}
          </>
        )}
      </Shown>
    </section>
  );
}

// Of a run that measured no pairs the one before is shown.
function Suspects({ runs }: { runs: RunSummary[] }) {
  const [without, setWithout] = useState<string[]>([]);
  const run = runs.find((one) => !without.includes(one.run_id)) ?? runs[0];
  const list = useApi<SuspectList>(run ? 'suspects' : undefined, { run_id: run?.run_id });
  const lacksPairs = list.status !== undefined && kNoPairs.includes(list.status) && !list.loading;
  useEffect(() => {
    if (lacksPairs && run && !without.includes(run.run_id)) setWithout([...without, run.run_id]);
  }, [lacksPairs, run?.run_id]);
  if (!run) return null;
  return (
    <section class="card wide">
      <h2>Slow parts of the fabric</h2>
      <p class="quiet">
        of run <To path={['runs', run.run_id]}>{run.run_id}</To>, suite <Name text={run.suite} />,{' '}
        {time(run.ended_at)}; nodes of other runs are not part of it
      </p>
      {list.error ? (
        <p class="quiet">{list.error}</p>
      ) : (
        <Shown of={list}>
          {(found) => (
            <>
              <Synthetic is={found.synthetic} />
              <Table
                caption="suspects of the newest run"
                rows={found.suspects.slice(0, 12)}
                none="No part is suspect in this run."
                open={(row) => link(['matrix'], { run_id: run.run_id, suspect: row.place })}
                columns={[
                  { head: 'State', cell: (row) => <State word={row.confirmed ? 'confirmed' : 'new'} /> },
                  {
                    head: 'Part',
                    cell: (row) => (
                      <To path={['matrix']} values={{ run_id: run.run_id, suspect: row.place }}>
                        <Name text={`${row.name} ${row.direction === 'both' ? '' : row.direction}`} />
                      </To>
                    ),
                  },
                  { head: 'Missing', cell: (row) => percent(row.drop_share), right: true },
                  { head: 'Pairs', cell: (row) => `${row.slow_tasks} of ${row.tasks}`, right: true },
                  { head: 'In words', cell: (row) => <Name text={row.sentence} /> },
                ]}
              />
            </>
          )}
        </Shown>
      )}
    </section>
  );
}

function Runs({ runs }: { runs: RunSummary[] }) {
  return (
    <section class="card">
      <h2>Runs</h2>
      <ul class="plain">
        {runs.slice(0, 6).map((run) => (
          <li>
            <State word={run.outcome ?? run.state} />{' '}
            <To path={['runs', run.run_id]}><Name text={run.suite} /></To>{' '}
            <small>{run.state === 'running' ? `${run.tasks_ended} of ${run.tasks_total} tasks` : time(run.created_at)}</small>
          </li>
        ))}
      </ul>
      {runs.length === 0 && <p class="quiet">Nothing was measured yet: `railgauge run quick` begins.</p>}
      <p><To path={['runs']}>All runs</To></p>
    </section>
  );
}

function UpgradeCard() {
  const list = useApi<{ upgrades: Upgrade[] }>('upgrades', { limit: 3 }, 6 * kSeconds);
  return (
    <section class="card">
      <h2>Upgrades</h2>
      <Shown of={list}>
        {({ upgrades }) => (
          <>
            {upgrades.length === 0 && <p class="quiet">None was gated yet.</p>}
            <ul class="plain">
              {upgrades.map((one) => (
                <li>
                  <State word={one.verdict ?? one.state} />{' '}
                  {one.upgrade_id && <To path={['upgrades', one.upgrade_id]}>{one.upgrade_id}</To>}{' '}
                  <small>{one.nodes.length} nodes</small>
                </li>
              ))}
            </ul>
          </>
        )}
      </Shown>
      <p><To path={['upgrades']}>All upgrades</To></p>
    </section>
  );
}

function Schedules() {
  const list = useApi<{ schedules: ScheduleInfo[] }>('schedules', {}, 6 * kSeconds);
  return (
    <section class="card">
      <h2>Schedules</h2>
      <Shown of={list}>
        {({ schedules }) => (
          <>
            {schedules.length === 0 && <p class="quiet">No suite starts by itself.</p>}
            <ul class="plain">
              {schedules.slice(0, 6).map((one) => (
                <li>
                  <State word={one.error ? 'broken' : one.state} /> <Name text={one.name} />{' '}
                  <small>next {time(one.next_at)}</small> <ScheduleActs name={one.name} state={one.state} />
                  {one.missed > 0 && <small> · {one.missed} missed in 30 days</small>}
                </li>
              ))}
            </ul>
            <p><To path={['schedules']}>Schedules and coverage</To></p>
          </>
        )}
      </Shown>
    </section>
  );
}

export function Overview() {
  const live = useLive<{ runs: RunSummary[] }>('live/runs');
  const list = useApi<{ runs: RunSummary[] }>(live.isLive ? undefined : 'runs', { limit: 20 }, kSeconds);
  const runs = live.state?.runs ?? list.data?.runs ?? [];
  const judged = runs.map((run) => run.judged_at ?? run.ended_at ?? '').join();
  return (
    <>
      <h1>Overview</h1>
      <div class="cards">
        <Findings version={judged} />
        <Suspects runs={widest(runs)} />
        <Nodes />
        <Runs runs={runs} />
        <UpgradeCard />
        <Schedules />
      </div>
    </>
  );
}
