// Differences of the stacks, with how many nodes with and without each got worse; and what it takes
// to separate changes that came together.
import { useApi, part } from '../api/api';
import { Maintenance, StartRun } from '../parts/actions';
import { Command, Name, Shown, State, Table, To } from '../parts/parts';
import type { NodeInfo, UpgradeCause } from '../api/types';

const kNeeds: Record<string, string> = {
  reboot: 'a reboot',
  drain: 'its driver loaded anew: no job may run',
  jobs: 'nothing now: jobs that start later have it',
  unknown: 'not known',
};

// The nodes that undoing would reboot, those of which that is not known, and those that have to be
// drained alone. A need that this page has no words for is not known.
export function costOf(cause: UpgradeCause): { reboots: string[]; unknown: string[]; drains: string[] } {
  const of = (fits: (needs: string) => boolean) => [...new Set(cause.undos.filter((one) => fits(one.needs)).map((one) => one.node))];
  const reboots = of((needs) => needs === 'reboot');
  const others = (nodes: string[]) => nodes.filter((node) => !reboots.includes(node));
  return {
    reboots,
    unknown: others(of((needs) => !['reboot', 'drain', 'jobs'].includes(needs))),
    drains: others(of((needs) => needs === 'drain')),
  };
}

function Changes({ cause }: { cause: UpgradeCause }) {
  if (cause.changes.length === 1) return <Name text={cause.changes[0]} />;
  return (
    <details>
      <summary>{cause.changes.length} changes that came together: <Name text={cause.changes[0]} /> …</summary>
      <ul>{cause.changes.map((one) => <li><Name text={one} /></li>)}</ul>
    </details>
  );
}

// Nodes that would be touched, with what holds them now.
function Touched({ names }: { names: string[] }) {
  const list = useApi<{ nodes: NodeInfo[] }>(`nodes/${part(names.join(','))}`, { may_be_old: 'true' });
  return (
    <Shown of={list}>
      {({ nodes }) => (
        <ul class="plain">
          {nodes.map((node) => (
            <li>
              <To path={['nodes', node.name]}><Name text={node.name} /></To> <State word={node.state} />{' '}
              {node.pause ? <State word="paused" /> : node.busy ? <><State word="busy" /> <Name text={node.busy_reasons.join('; ')} /></> : 'runs nothing'} <Maintenance node={node} />
            </li>
          ))}
        </ul>
      )}
    </Shown>
  );
}

// Half of the changes is taken back on one node, the rest on another: the next run accuses one half.
function Bisect({ cause, again }: { cause: UpgradeCause; again?: (nodes: string) => string }) {
  const names = [...new Set(cause.undos.map((one) => one.node))];
  const { reboots, unknown, drains } = costOf(cause);
  return (
    <section class="bisect">
      <h3>To separate {cause.changes.length} changes that came together</h3>
      <p>
        {reboots.length > 0 && <>Would be rebooted: <Name text={reboots.join(', ')} />. </>}
        {unknown.length > 0 && <>Not known whether a reboot is needed: <Name text={unknown.join(', ')} />. </>}
        {reboots.length === 0 && unknown.length === 0 && 'No node would be rebooted. '}
        {drains.length > 0 && <>Has to be free of jobs: <Name text={drains.join(', ')} />.</>} Nothing is done from here.
      </p>
      <Table
        caption="what would be taken back where"
        rows={cause.undos}
        columns={[
          { head: 'Take back', cell: (row) => <Name text={row.change} /> },
          { head: 'On', cell: (row) => <To path={['nodes', row.node]}><Name text={row.node} /></To> },
          { head: 'It takes', cell: (row) => kNeeds[row.needs] ?? kNeeds.unknown },
        ]}
      />
      <Touched names={names} />
      <p>
        Then measure them again: the half whose node is well again has the cause. <StartRun label="Measure these nodes again" nodes={names} />
        {again && <Command text={again(names.join(','))} />}
      </p>
    </section>
  );
}

// `again`: the command that judges these nodes anew.
export function Differences({ rows, caption, none, again }: { rows: UpgradeCause[]; caption: string; none: string; again?: (nodes: string) => string }) {
  return (
    <>
      <Table
        caption={caption}
        rows={rows}
        none={none}
        columns={[
          { head: 'Explains it', cell: (row) => (row.explains ? 'yes' : 'no') },
          { head: 'Changes', cell: (row) => <Changes cause={row} /> },
          { head: 'With it, worse', cell: (row) => `${row.exposed_worse} of ${row.exposed}`, right: true },
          { head: 'Without, worse', cell: (row) => `${row.unexposed_worse} of ${row.unexposed}`, right: true },
          { head: 'By chance', cell: (row) => row.p.toPrecision(2), right: true },
        ]}
      />
      {rows.filter((row) => row.undos?.length > 0).map((row) => <Bisect cause={row} again={again} />)}
    </>
  );
}
