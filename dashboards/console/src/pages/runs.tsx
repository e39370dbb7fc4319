// Runs, and one run while it is under way.
import { useEffect, useState } from 'preact/hooks';
import { CancelRun, StartRun } from '../parts/actions';
import { useApi, useLive, part } from '../api/api';
import { duration, span, time } from '../parts/format';
import { Facts, Name, Shown, State, Table, To, When } from '../parts/parts';
import { link } from '../api/route';
import type { RunEvent, RunSummary, TaskDetail } from '../api/types';

export function Runs() {
  const list = useApi<{ runs: RunSummary[] }>('runs', { limit: 200 }, 10);
  return (
    <>
      <h1>Runs</h1>
      <p><StartRun label="Start a suite" /></p>
      <Shown of={list}>
        {({ runs }) => (
          <Table
            caption="runs"
            rows={runs}
            open={(run) => link(['runs', run.run_id])}
            columns={[
              { head: 'Outcome', cell: (run) => <State word={run.outcome ?? run.state} /> },
              { head: 'Run', cell: (run) => <To path={['runs', run.run_id]}>{run.run_id}</To> },
              { head: 'Suite', cell: (run) => <Name text={run.suite} /> },
              { head: 'Started', cell: (run) => time(run.started_at) },
              { head: 'Took', cell: (run) => span(run.started_at, run.ended_at), right: true },
              { head: 'Nodes', cell: (run) => run.nodes.length, right: true },
              { head: 'Tasks', cell: (run) => `${run.tasks_ended} of ${run.tasks_total}`, right: true },
              { head: 'By', cell: (run) => <Name text={`${run.requested_by} (${run.trigger})`} /> },
            ]}
          />
        )}
      </Shown>
    </>
  );
}

// While it is under way: the newest line of `railgauge runs watch`, and what is left.
function Now({ event }: { event: RunEvent }) {
  const { progress, text } = event;
  return (
    <>
      {progress && (
        <Facts
          rows={[
            ['Round', `${progress.round} of ${progress.rounds_total}`],
            ['Left', progress.seconds_left === null ? '–' : `about ${duration(progress.seconds_left)}`],
            ['Failures', String(progress.failures)],
            ['Held by', <Name text={progress.held_by ?? '–'} />],
          ]}
        />
      )}
      {text && <p class="quiet" id="now">Last: <Name text={text} /></p>}
    </>
  );
}

function Progress({ run }: { run: RunSummary }) {
  return (
    <>
      <progress max={run.tasks_total || 1} value={run.tasks_ended} aria-label="tasks that have ended" />
      <p>
        {run.tasks_ended} of {run.tasks_total} tasks have ended.{' '}
        {Object.entries(run.outcomes).map(([word, count]) => (
          <span class="count">
            <State word={word} /> {count}
          </span>
        ))}
      </p>
    </>
  );
}

interface TaskPage {
  run: RunSummary;
  tasks: TaskDetail[];
  next: number;
}

function Tasks({ page }: { page: TaskPage }) {
  const order = (task: TaskDetail) => (task.outcome && task.outcome !== 'passed' ? 0 : task.state === 'running' ? 1 : 2);
  return (
    <>
      <Table
        caption="tasks, those that did not pass first"
        rows={[...page.tasks].sort((a, b) => order(a) - order(b))}
        columns={[
          { head: 'Outcome', cell: (task) => <State word={task.outcome ?? task.state} /> },
          { head: 'Task', cell: (task) => task.task_id },
          { head: 'Kernel', cell: (task) => <Name text={task.kernel} /> },
          { head: 'Round', cell: (task) => task.round, right: true },
          { head: 'Endpoints', cell: (task) => <Name text={task.endpoints.join(' → ')} /> },
          { head: 'Reason', cell: (task) => <Name text={task.reason ?? ''} /> },
        ]}
      />
      {page.next > 0 && <p class="quiet">There are more tasks; `railgauge runs show {page.run.run_id}` has all.</p>}
    </>
  );
}

// Without a stream of events the tasks are read again every kLiveSeconds until the run has ended.
const kLiveSeconds = 2;

export function Run({ id }: { id: string }) {
  const [state, setState] = useState('');
  const live = useLive<RunEvent>(state && state !== 'ended' ? `live/runs/${part(id)}` : undefined);
  const seconds = state === 'ended' || live.isLive ? 0 : kLiveSeconds;
  const page = useApi<TaskPage>(`runs/${part(id)}/tasks`, {}, seconds, live.tick);
  useEffect(() => setState(page.data?.run.state ?? ''), [page.data]);
  return (
    <>
      <h1>
        Run <Name text={id} />
      </h1>
      <Shown of={page}>
        {(data) => <RunParts id={id} page={data} event={data.run.state === 'ended' ? undefined : live.state} isLive={live.isLive} />}
      </Shown>
    </>
  );
}

function RunParts({ id, page, event, isLive }: { id: string; page: TaskPage; event?: RunEvent; isLive: boolean }) {
  const run = event ? { ...page.run, ...event.run, nodes: page.run.nodes } : page.run;
  const isOver = run.state === 'ended';
  return (
    <>
      <p>
        <State word={run.outcome ?? run.state} /> {run.reason && <Name text={run.reason} />} {!isOver && isLive && <small id="live">live</small>}
      </p>
      <Progress run={run} />
      {event && !isOver && <Now event={event} />}
      <p class="links">
        {!isOver && <CancelRun id={id} />}
        <StartRun label="Run this again" suite={run.suite} nodes={run.nodes} />
      </p>
      <nav class="links" aria-label="this run's pages">
        <To path={['matrix']} values={{ run_id: id }}>Pair matrix and suspects</To>
        <To path={['series']} values={{ run_id: id }}>Its series</To>
        {isOver && <To path={['report']} values={{ run_id: id }}>Its report</To>}
      </nav>
      <Facts
        rows={[
          ['Suite', <Name text={run.suite} />],
          ['Created', <When at={run.created_at} />],
          ['Started', <When at={run.started_at} />],
          ['Ended', <When at={run.ended_at} />],
          ['Took', span(run.started_at, run.ended_at)],
          ['By', <Name text={`${run.requested_by} (${run.trigger})`} />],
          ['Nodes', `${run.nodes.length}`],
        ]}
      />
      <h2>Tasks</h2>
      <Tasks page={page} />
    </>
  );
}
