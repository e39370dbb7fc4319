// The nodes, and one node: inventory, topology, preflight, stack, findings, what happened to it.
import { useState } from 'preact/hooks';
import { Maintenance } from '../parts/actions';
import { useApi, part } from '../api/api';
import { confirmedFirst } from '../parts/findings';
import { Facts, Name, Shown, State, Table, To, When } from '../parts/parts';
import { Preflight } from './preflight';
import { change, link, type Route } from '../api/route';
import { Topology } from './topology';
import type { EventList, FindingList, NodeHead, NodeHeads, NodeInfo } from '../api/types';

const kPage = 200;
const kStates = ['', 'attached', 'lost'];

export function Nodes({ route }: { route: Route }) {
  const text = route.query.get('text') ?? '';
  const state = route.query.get('state') ?? '';
  const after = route.query.get('after') ?? '';
  const list = useApi<NodeHeads>('node_heads', { text, state, after, limit: kPage }, 10);
  return (
    <>
      <h1>Nodes</h1>
      <form class="bar" onSubmit={(event) => event.preventDefault()}>
        <label>
          State{' '}
          <select value={state} onChange={(event) => change({ state: event.currentTarget.value, after: '' })}>
            {kStates.map((word) => <option value={word}>{word || 'all'}</option>)}
          </select>
        </label>
        <label>
          Filter{' '}
          <input type="search" data-filter="" value={text} onInput={(event) => change({ text: event.currentTarget.value, after: '' }, true)} />
        </label>
      </form>
      <Shown of={list}>
        {(heads) => (
          <>
            <p class="quiet">
              {heads.matching} of {heads.total} nodes; {heads.attached} attached, {heads.busy} busy, {heads.paused} paused
            </p>
            <Table
              caption="nodes"
              rows={heads.nodes}
              none="No node is of this name."
              open={(node) => link(['nodes', node.name])}
              columns={[
                { head: 'State', cell: (node) => <State word={node.state} /> },
                { head: 'Node', cell: (node) => <To path={['nodes', node.name]}><Name text={node.name} /></To> },
                { head: 'Labels', cell: (node) => <Name text={labelsOf(node)} /> },
                { head: 'Busy', cell: (node) => <Name text={heldBy(node)} /> },
                { head: 'NICs', cell: (node) => active(node.nics_active, node.nics), right: true },
                { head: 'GPUs', cell: (node) => active(node.gpus_active, node.gpus), right: true },
                { head: 'Stack', cell: (node) => <code>{node.stack_hash.slice(0, 8)}</code> },
                { head: 'Last seen', cell: (node) => <When at={node.last_seen_at} /> },
              ]}
            />
            <p class="links noprint">
              {after && <button type="button" onClick={() => change({ after: '' })}>First page</button>}
              {heads.next_after !== null && <button type="button" onClick={() => change({ after: heads.next_after! })}>Next page</button>}
            </p>
          </>
        )}
      </Shown>
    </>
  );
}

const labelsOf = (node: NodeHead | NodeInfo) => Object.entries(node.labels).sort().map(([key, value]) => `${key}=${value}`).join(' ');
const active = (count: number, all: number) => (count === all ? String(all) : `${count} of ${all} active`);

// Why the node is not measured now: its maintenance comes before its work.
function heldBy(node: NodeHead | NodeInfo): string {
  if (!node.pause) return node.busy_reasons.join('; ');
  return `paused until ${node.pause.until_at} by ${node.pause.who}: ${node.pause.reason}`;
}

// Devices have many fields; those with a plain value are shown as they are named.
function Devices({ title, rows }: { title: string; rows: Record<string, unknown>[] }) {
  const keys = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((key) =>
    rows.some((row) => (typeof row[key] === 'string' && row[key] !== '') || typeof row[key] === 'number'),
  );
  return (
    <>
      <h2>{title}</h2>
      <Table
        caption={title}
        rows={rows}
        none="None is reported."
        columns={keys.slice(0, 10).map((key) => ({
          head: kHeads[key] ?? key.replace(/_/g, ' '),
          cell: (row: Record<string, unknown>) => <Name text={plain(key, row[key])} />,
        }))}
      />
    </>
  );
}

const kHeads: Record<string, string> = { rate_bits_per_second: 'rate', numa_node_plus_one: 'NUMA node' };

// Fields that are one more than their number have 0 for an unknown one.
function plain(key: string, value: unknown): string {
  if (typeof value === 'number' && key.endsWith('_plus_one')) return value > 0 ? String(value - 1) : '–';
  if (typeof value === 'number' && key === 'rate_bits_per_second') return `${value / 1e9} Gb/s`;
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

function Values({ title, of }: { title: string; of: Record<string, string> }) {
  const rows = Object.entries(of).sort(([a], [b]) => a.localeCompare(b));
  if (rows.length === 0) return null;
  return (
    <details open={rows.length < 30}>
      <summary>{title}: {rows.length}</summary>
      <Table
        caption={title}
        rows={rows}
        columns={[
          { head: 'Name', cell: ([name]) => <Name text={name} /> },
          { head: 'Value', cell: ([, value]) => <Name text={value} /> },
        ]}
      />
    </details>
  );
}

const kEvents = 100;

function History({ name }: { name: string }) {
  const [most, setMost] = useState(kEvents);
  const list = useApi<EventList>('events', { node_set: name, limit: most }, 30);
  return (
    <>
      <h2>What happened to it</h2>
      <Shown of={list}>
        {({ events }) => (
          <>
            <Table
              caption="events of this node, the newest first"
              rows={events}
              none="Nothing is stored."
              columns={[
                { head: 'At', cell: (row) => <When at={row.at} /> },
                { head: 'Kind', cell: (row) => row.kind.replace(/_/g, ' ') },
                { head: 'Run', cell: (row) => (row.run_id ? <To path={['runs', row.run_id]}>{row.run_id}</To> : '') },
                { head: 'What', cell: (row) => <Name text={row.text} /> },
              ]}
            />
            {events.length === most && <button type="button" onClick={() => setMost(10 * most)}>Earlier ones</button>}
          </>
        )}
      </Shown>
    </>
  );
}

function OpenFindings({ node }: { node: NodeInfo }) {
  const findings = useApi<FindingList>('findings', { limit: 1000 });
  return (
    <>
      <h2>Open findings</h2>
      <Table
        caption="open findings of this node"
        rows={confirmedFirst((findings.data?.findings ?? []).filter((one) => one.node_id === node.node_id || one.suspect.split(/[ /]/).includes(node.name)))}
        none="No finding names it."
        open={(row) => link(['findings', row.finding_id])}
        columns={[
          { head: 'State', cell: (row) => <State word={row.state} /> },
          { head: 'What', cell: (row) => <To path={['findings', row.finding_id]}><Name text={row.summary} /></To> },
          { head: 'Since', cell: (row) => <When at={row.since ?? row.opened_at} /> },
        ]}
      />
    </>
  );
}

export function NodePage({ name }: { name: string }) {
  const loaded = useApi<{ nodes: NodeInfo[] }>(`nodes/${part(name)}`, { with_facts: 'true', may_be_old: 'true' }, 15);
  return (
    <>
      <h1>
        Node <Name text={name} />
      </h1>
      <Shown of={loaded}>
        {({ nodes }) =>
          nodes.map((node) => (
            <>
              <p>
                <State word={node.state} /> {node.pause && <State word="paused" />} {node.busy && <State word="busy" />} <Name text={heldBy(node)} />
              </p>
              <p><Maintenance node={node} /></p>
              <Facts
                rows={[
                  ['Id', <Name text={node.node_id} />],
                  ['Agent', <Name text={node.version} />],
                  ['Attached', <When at={node.attached_at} />],
                  ['Last seen', <When at={node.last_seen_at} />],
                  ['Labels', <Name text={labelsOf(node) || '–'} />],
                  ['Its series', <To path={['series']} values={{ node_set: node.name }}>series of this node</To>],
                ]}
              />
              <OpenFindings node={node} />
              <Preflight name={node.name} />
              <Topology node={node} />
              <Devices title="NICs" rows={node.nics} />
              <Devices title="GPUs" rows={node.gpus} />
              <h2>Stack</h2>
              <Values title="Versions" of={node.stack_versions} />
              <Values title="Settings" of={node.stack_settings} />
              <Values title="Facts" of={node.facts} />
              <History name={node.name} />
            </>
          ))
        }
      </Shown>
    </>
  );
}
