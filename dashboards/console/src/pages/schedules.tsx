// What starts by itself, what came of it day by day, and which nodes it has measured.
import { useEffect, useState } from 'preact/hooks';
import { ScheduleActs } from '../parts/actions';
import { get, part, useApi } from '../api/api';
import { now } from '../parts/clock';
import { daysOf, lastMeasured, nightsOf, type Day } from '../parts/coverage';
import { foldNames, time } from '../parts/format';
import { Facts, Name, Shown, State, Table, To, When } from '../parts/parts';
import { change, type Route } from '../api/route';
import type { Due, NodeHeads, RunSummary, ScheduleInfo } from '../api/types';

const kDays = 28;
const kRuns = 60;
const kMostSchedules = 12;
const kSeconds = 60;

// The due times of each schedule; asked for by name.
function useDues(schedules: ScheduleInfo[]): Map<string, Due[]> {
  const [dues, setDues] = useState(new Map<string, Due[]>());
  const names = schedules.slice(0, kMostSchedules).map((one) => one.name);
  useEffect(() => {
    let isOver = false;
    void Promise.all(names.map((name) => get<{ schedules: ScheduleInfo[] }>('schedules', { name }).catch(() => ({ schedules: [] })))).then((all) => {
      if (!isOver) setDues(new Map(all.flatMap(({ schedules: found }) => found.map((one) => [one.name, one.dues] as [string, Due[]]))));
    });
    return () => {
      isOver = true;
    };
  }, [names.join('\n')]);
  return dues;
}

const kSigns: Record<string, [string, string]> = {
  passed: ['●', 'good'], failed: ['■', 'bad'], crashed: ['■', 'bad'], timed_out: ['■', 'bad'], missed: ['▲', 'doubtful'], skipped: ['△', 'doubtful'],
};

function DayCell({ day }: { day: Day }) {
  const [sign, tone] = kSigns[day.word] ?? ['◇', 'plain'];
  if (!day.word) return <td class="day"><span class="hidden">nothing was due</span></td>;
  const words = `${day.date}: ${day.word.replace(/_/g, ' ')}${day.reason ? `, ${day.reason}` : ''}`;
  return (
    <td class="day">
      {day.run_id ? (
        <a href={`#/runs/${part(day.run_id)}`} class={`state ${tone}`} title={words} aria-label={words}>{sign}</a>
      ) : (
        <span class={`state ${tone}`} role="img" title={words} aria-label={words}>{sign}</span>
      )}
    </td>
  );
}

function Calendar({ schedules, dues, runs }: { schedules: ScheduleInfo[]; dues: Map<string, Due[]>; runs: RunSummary[] }) {
  const dates = daysOf(kDays, now());
  if (schedules.length === 0) return null;
  return (
    <>
      <h2>The last {kDays} days, in UTC</h2>
      <p class="legend">
        <span class="state good">● passed</span> <span class="state bad">■ failed</span> <span class="state doubtful">▲ missed</span>{' '}
        <span class="state doubtful">△ skipped</span> <span class="state plain">◇ other</span>
      </p>
      <div class="scroll" tabIndex={0} role="region" aria-label="calendar">
        <table class="calendar">
          <caption class="hidden">what came of each schedule, day by day</caption>
          <thead>
            <tr>
              <th scope="col">Schedule</th>
              {dates.map((date) => <th scope="col" class="day" title={date}>{date.slice(8)}</th>)}
            </tr>
          </thead>
          <tbody>
            {schedules.slice(0, kMostSchedules).map((one) => (
              <tr>
                <th scope="row"><Name text={one.name} /></th>
                {nightsOf(dates, dues.get(one.name) ?? [], runs).map((day) => <DayCell day={day} />)}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

// Tested, untested, and why: of one run the causes are known.
function Coverage({ runs, heads, route }: { runs: RunSummary[]; heads: NodeHeads; route: Route }) {
  const ended = runs.filter((run) => run.state === 'ended');
  const chosen = ended.find((run) => run.run_id === route.query.get('run')) ?? ended[0];
  const groups = useApi<{ run: RunSummary; groups: { outcome: string | null; reason: string | null; tasks: number; endpoints: string; kernel: string }[] }>(
    chosen ? `runs/${part(chosen.run_id)}/groups` : undefined,
  );
  if (!chosen) return <p class="quiet">No run has ended yet.</p>;
  const measured = lastMeasured(ended);
  const stale = [...measured].filter(([, at]) => now() - new Date(at).getTime() > 7 * 86_400_000).map(([name]) => name);
  return (
    <>
      <h2>Coverage</h2>
      <Facts
        rows={[
          ['Known nodes', String(heads.total)],
          ['Measured', `${measured.size} by the last ${ended.length} runs`],
          ['Not measured', `${Math.max(heads.total - measured.size, 0)}`],
          ['Over a week ago', <Name text={stale.length === 0 ? 'none' : foldNames(stale)} />],
        ]}
      />
      <form class="bar noprint" onSubmit={(event) => event.preventDefault()}>
        <label>
          Run{' '}
          <select value={chosen.run_id} onChange={(event) => change({ run: event.currentTarget.value })}>
            {ended.map((run) => <option value={run.run_id}>{`${run.suite} ${time(run.created_at)}`}</option>)}
          </select>
        </label>
      </form>
      <Shown of={groups}>
        {(data) => (
          <>
            <p>
              <To path={['runs', chosen.run_id]}>{chosen.run_id}</To> measured {chosen.nodes.length} nodes:{' '}
              {Object.entries(chosen.outcomes).map(([word, count]) => <span class="count"><State word={word} /> {count}</span>)}
            </p>
            <Table
              caption="what was not tested, and why"
              rows={[
                ...(data.run.left_out ?? []).map((line) => ({ state: 'left out', what: line, why: '', tasks: 0 })),
                ...data.groups
                  .filter((group) => group.outcome !== 'passed')
                  .map((group) => ({ state: group.outcome ?? 'unknown', what: `${group.kernel} ${group.endpoints}`, why: group.reason ?? '', tasks: group.tasks })),
              ]}
              none="All that was planned was tested."
              columns={[
                { head: 'State', cell: (row) => <State word={row.state} /> },
                { head: 'What', cell: (row) => <Name text={row.what} /> },
                { head: 'Why', cell: (row) => <Name text={row.why} /> },
                { head: 'Tasks', cell: (row) => row.tasks || '', right: true },
              ]}
            />
          </>
        )}
      </Shown>
    </>
  );
}

export function Schedules({ route }: { route: Route }) {
  const list = useApi<{ schedules: ScheduleInfo[] }>('schedules', {}, kSeconds);
  const runs = useApi<{ runs: RunSummary[] }>('runs', { limit: kRuns }, kSeconds);
  const heads = useApi<NodeHeads>('node_heads', { limit: 1 }, kSeconds);
  const dues = useDues(list.data?.schedules ?? []);
  return (
    <>
      <h1>Schedules and coverage</h1>
      <Shown of={list}>
        {({ schedules }) => (
          <>
            <Table
              caption="schedules"
              rows={schedules}
              none="No suite starts by itself: `railgauge schedules add` adds one."
              columns={[
                { head: 'State', cell: (row) => <State word={row.error ? 'broken' : row.state} /> },
                { head: 'Schedule', cell: (row) => <Name text={row.name} /> },
                { head: 'Suite', cell: (row) => <Name text={row.suite} /> },
                { head: 'When', cell: (row) => <Name text={`${row.cron} ${row.zone}`} /> },
                { head: 'Next', cell: (row) => <When at={row.next_at} /> },
                { head: 'Nodes', cell: (row) => <Name text={row.node_set || 'all'} /> },
                { head: 'Not in', cell: (row) => <Name text={row.blackouts || '–'} /> },
                { head: 'Missed', cell: (row) => row.missed, right: true },
                { head: '', cell: (row) => (row.error ? <Name text={row.error} /> : <ScheduleActs name={row.name} state={row.state} />) },
              ]}
            />
            <Calendar schedules={schedules} dues={dues} runs={runs.data?.runs ?? []} />
          </>
        )}
      </Shown>
      {runs.data && heads.data && <Coverage runs={runs.data.runs} heads={heads.data} route={route} />}
    </>
  );
}
