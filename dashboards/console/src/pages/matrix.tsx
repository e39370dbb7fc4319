// The pair matrix of a run: selection, picture, what is under the pointer, suspects, table twin.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { StartRun } from '../parts/actions';
import { get, useApi } from '../api/api';
import { bytes, figure, percent, time } from '../parts/format';
import { lastBefore } from '../matrix/against';
import { kOrders, lackOf } from '../matrix/bands';
import { csvOf, stepFor, svgOf, type Block } from '../matrix/export';
import { legendOf, type Mode } from '../matrix/colour';
import { MatrixView, type Cell, type Marks, type Place } from '../matrix/matrix_view';
import { Command, Name, Save, Shown, State, Synthetic, Table, To } from '../parts/parts';
import { change, type Route, type Values } from '../api/route';
import { range, Under, WorstPairs } from './matrix_cells';
import { Tiles } from '../matrix/tiles';
import type { MatrixFrame, MatrixTile, RunSummary, Suspect, SuspectList, Upgrade } from '../api/types';

const kFields = ['run_id', 'kernel', 'metric', 'message_bytes', 'rail', 'memory', 'node_set', 'order', 'against', 'runs', 'hop'];
const kCsvCells = 262_144; // the most of a tile
const kSvgCells = 10_000;
const kMostRerun = 512; // nodes of a block that are measured again

function selection(route: Route): Values {
  return Object.fromEntries(kFields.map((name) => [name, route.query.get(name) ?? '']));
}

// "verbs.write_lat latency_ns 8" and "rail 1 gpu", as the controller names what else there is.
function seriesOf(text: string): Values {
  const [kernel, metric, size] = text.split(' ');
  return { kernel, metric, message_bytes: size };
}
function layerOf(text: string): Values {
  const [, rail, memory] = text.split(' ');
  return { rail, memory: memory ?? '' };
}

function Picker({ label, value, choices, take }: { label: string; value: string; choices: [string, string][]; take: (value: string) => void }) {
  return (
    <label>
      {label}{' '}
      <select value={value} onChange={(event) => take(event.currentTarget.value)}>
        {choices.map(([key, text]) => <option value={key}>{text}</option>)}
      </select>
    </label>
  );
}

const kModes: [string, string][] = [
  ['share', 'of what is expected'], ['far', 'distance from its peers'], ['value', 'figure'], ['age', 'age'], ['coverage', 'tested share'],
];
const kHops: [string, string][] = [['', 'all'], ['within_leaf', 'within a leaf'], ['across_leaves', 'across leaves']];
const kNightsOfAge = 7;
const kNights: [string, string][] = [['', 'this run alone'], ['7', 'up to 7 runs'], ['30', 'up to 30 runs']];

// Run after run of one suite, the oldest to the left: a matrix over time.
function Scrubber({ frame, runs }: { frame: MatrixFrame; runs: RunSummary[] }) {
  const here = runs.find((run) => run.run_id === frame.run_id);
  const same = runs.filter((run) => run.state === 'ended' && run.suite === here?.suite).reverse();
  const at = same.findIndex((run) => run.run_id === frame.run_id);
  if (same.length < 2 || at < 0) return null;
  return (
    <label class="slider noprint">
      Over time{' '}
      <input type="range" id="scrubber" min="0" max={same.length - 1} value={at} onChange={(event) => change({ run_id: same[Number(event.currentTarget.value)].run_id, suspect: '' })} />{' '}
      {`${at + 1} of ${same.length} runs of ${here!.suite}, ${time(same[at].created_at)}`}
    </label>
  );
}

function Bar({ frame, route, runs, mode }: { frame: MatrixFrame; route: Route; runs: RunSummary[]; mode: Mode }) {
  const upgrades = useApi<{ upgrades: Upgrade[] }>('upgrades', { limit: 20 });
  const size = frame.message_bytes;
  const here = `${frame.kernel} ${frame.metric} ${size}`;
  const layer = `rail ${frame.rail}${frame.memory ? ` ${frame.memory}` : ''}`;
  const named = (run: RunSummary): [string, string] => [run.run_id, `${run.suite} ${time(run.created_at)}`];
  const ended = runs.filter((run) => run.state === 'ended');
  const known: [string, string][] = ended.some((run) => run.run_id === frame.run_id) ? [] : [[frame.run_id, frame.run_id]];
  const before = lastBefore(runs.find((run) => run.run_id === frame.run_id), runs, upgrades.data?.upgrades ?? []);
  const others = ended.filter((run) => run.run_id !== frame.run_id);
  return (
    <form class="bar noprint" onSubmit={(event) => event.preventDefault()}>
      <Picker label="Run" value={frame.run_id} choices={[...known, ...ended.map(named)]} take={(run_id) => change({ run_id, suspect: '' })} />
      <Picker
        label="Figures"
        value={here}
        choices={[here, ...frame.other_series].map((text) => [text, `${text.split(' ').slice(0, 2).join(' ')} ${bytes(Number(text.split(' ')[2]))}`])}
        take={(text) => change({ ...seriesOf(text), rail: '', memory: '', suspect: '' })}
      />
      <Picker label="Facet" value={layer} choices={[layer, ...frame.other_layers].map((text) => [text, text])} take={(text) => change(layerOf(text))} />
      <Picker
        label="Order"
        value={frame.order}
        choices={kOrders}
        take={(order) => change({ order })}
      />
      <Picker
        label="Colour"
        value={mode}
        choices={kModes}
        take={(value) => change({ mode: value, ...(value === 'age' && !route.query.get('runs') ? { runs: kNightsOfAge } : {}) })}
      />
      <Picker label="Hops" value={route.query.get('hop') ?? ''} choices={kHops} take={(hop) => change({ hop })} />
      <Picker label="Of" value={route.query.get('runs') ?? ''} choices={kNights} take={(count) => change({ runs: count })} />
      <Picker
        label="Against"
        value={route.query.get('against') ?? ''}
        choices={[
          ['', 'median of its class'],
          ...(before ? [[before.run_id, `the last run before upgrade ${before.upgrade}`] as [string, string]] : []),
          ...others.filter((run) => run.run_id !== before?.run_id).map(named),
        ]}
        take={(against) => change({ against })}
      />
    </form>
  );
}

function Legend({ frame, mode }: { frame: MatrixFrame; mode: Mode }) {
  return (
    <ul class="legend" aria-label="colours">
      {legendOf(mode).map(({ colour, words }) => <li><i class="swatch" style={{ background: colour }} /> {words}</li>)}
      <li><i class="swatch hatched" /> not tested</li>
      <li><i class="swatch unread" /> being read</li>
      <li>Closer, a pair that is worse has a shape: ▲ by 3 to 15 %, ■ by more.</li>
      <li>Rows send, columns receive{frame.against ? '; compared with another run' : ''}.</li>
    </ul>
  );
}

function Picture({ frame, values, mode, marks, route, onPin, onBlock }: {
  frame: MatrixFrame;
  values: Values;
  mode: Mode;
  marks: Marks;
  route: Route;
  onPin: (cell: Cell) => void;
  onBlock: (block: Block | undefined) => void;
}) {
  const [isChoosing, setChoosing] = useState(false);
  const canvas = useRef<HTMLCanvasElement>(null);
  const view = useRef<MatrixView>();
  const now = useRef({ tiles: undefined as Tiles | undefined, marks, onPin, onBlock });
  const [under, setUnder] = useState<{ frame: MatrixFrame; cell?: Cell; isByKey: boolean }>();
  const [seenAt, setSeenAt] = useState('');
  const [error, setError] = useState<string>();
  now.current.marks = marks;
  now.current.onPin = onPin;
  now.current.onBlock = onBlock;
  if (view.current) view.current.isChoosing = isChoosing;
  useEffect(() => {
    // Of this run also when another one has ended meanwhile.
    const tiles = new Tiles({ ...values, run_id: frame.run_id }, frame, mode, (text) => {
      if (text !== undefined) setError(text || undefined);
      if (text) view.current?.dress();
      if (!text) view.current?.redraw();
    });
    now.current.tiles = tiles;
    const number = (name: string) => Number(route.query.get(name) ?? NaN);
    const inUrl: Place | undefined = Number.isFinite(number('x') + number('y') + number('zoom'))
      ? { x: number('x'), y: number('y'), zoom: number('zoom') }
      : undefined;
    const before = view.current?.nodes === frame.nodes.length ? view.current : undefined;
    const place = before ? { ...before.place } : inUrl;
    let timer = 0;
    const moved = (at: Place) => {
      clearTimeout(timer);
      const place = { x: at.x.toFixed(1), y: at.y.toFixed(1), zoom: at.zoom.toFixed(2) };
      timer = window.setTimeout(() => {
        setSeenAt(JSON.stringify(place));
        change(place, true);
      }, 400);
    };
    const hover = (at: Cell | undefined, isByKey = false) => setUnder({ frame, cell: at, isByKey });
    const made = new MatrixView(canvas.current!, frame, () => tiles, () => now.current.marks, place, hover, (at) => now.current.onPin(at), moved, (block) => now.current.onBlock(block));
    made.cursor = before?.cursor;
    made.isChoosing = isChoosing;
    view.current = made;
    (window as unknown as { matrixView?: MatrixView }).matrixView = made;
    return () => {
      clearTimeout(timer);
      tiles.end();
      made.end();
    };
  }, [frame, mode]);
  useEffect(() => view.current?.redraw(), [marks]);
  const cell = under?.frame === frame ? under.cell : undefined;
  const look = ({ step, row, column }: { step: number; row: number; column: number }) => {
    view.current?.show({ x: (column + 0.5) * step, y: (row + 0.5) * step, zoom: frame.nodes.length / step / 2 });
  };
  // What is in the picture, in as fine cells as `most` allows.
  const seen = (most: number) => {
    const block = view.current?.seenBlock() ?? { row: 0, rows: frame.nodes.length, column: 0, columns: frame.nodes.length };
    const step = stepFor(block, frame.steps, most);
    const cells = (first: number, count: number) => [Math.floor(first / step), Math.ceil((first + count) / step) - Math.floor(first / step)];
    const [row, rows] = cells(block.row, block.rows);
    const [column, columns] = cells(block.column, block.columns);
    return get<MatrixTile>('matrix/tile', { ...values, run_id: frame.run_id, step, row, rows, column, columns });
  };
  return (
    <>
      {error && <p class="error" role="alert">{error}</p>}
      <div class="bar noprint">
        <button type="button" onClick={() => view.current?.zoomBy(1.5)}>Closer</button>
        <button type="button" onClick={() => view.current?.zoomBy(1 / 1.5)}>Farther</button>
        <button type="button" onClick={() => view.current?.show({ x: frame.nodes.length / 2, y: frame.nodes.length / 2, zoom: 1 })}>All</button>
        <button type="button" aria-pressed={isChoosing} onClick={() => setChoosing(!isChoosing)}>Choose a block</button>
        <Save label="CSV" name={`${frame.run_id}.csv`} type="text/csv" text={async () => csvOf(frame, await seen(kCsvCells))} />
        <Save label="SVG" name={`${frame.run_id}.svg`} type="image/svg+xml" text={async () => svgOf(frame, await seen(kSvgCells), { mode, ...(mode === 'value' ? { range: now.current.tiles?.range } : {}) })} />
      </div>
      <canvas
        class="matrix"
        ref={canvas}
        tabIndex={0}
        role="application"
        aria-label={`pair matrix of ${frame.nodes.length} nodes: arrows walk along its cells, Enter looks closer or pins the pair; the tables below have the same figures`}
      />
      <Under frame={frame} cell={cell} isByKey={under?.isByKey === true} />
      <WorstPairs frame={frame} seenAt={seenAt} read={() => seen(kCsvCells)} look={look} pin={onPin} />
    </>
  );
}

// Each node with its worst figures. Its rows are made when they are asked for: the picture is first.
function Twin({ frame }: { frame: MatrixFrame }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details id="nodes" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>The same as a table: each node's worst figures</summary>
      {isOpen && <NodeRows frame={frame} />}
    </details>
  );
}

function NodeRows({ frame }: { frame: MatrixFrame }) {
  const rows = frame.nodes.map((node, i) => ({
    node, leaf: frame.leaves[i] ?? '', pod: frame.pods[i], slot: frame.slots[i], sent: frame.sent_of_expected[i], received: frame.received_of_expected[i],
  }));
  type Row = (typeof rows)[0];
  const least = (row: Row) => {
    const both = [row.sent, row.received].filter((share): share is number => share !== null);
    if (both.length === 0) return Infinity;
    return frame.larger_is_better ? Math.min(...both) : -Math.max(...both);
  };
  return (
    <Table
      caption="nodes, the worst first"
      rows={rows.sort((a, b) => least(a) - least(b))}
      columns={[
        { head: 'Node', cell: (row) => <To path={['nodes', row.node]}><Name text={row.node} /></To> },
        ...(frame.pods.length ? [{ head: 'Pod', cell: (row: Row) => <Name text={row.pod || '–'} /> }] : []),
        { head: 'Leaf', cell: (row) => <Name text={row.leaf || '–'} /> },
        ...(frame.slots.length ? [{ head: 'Slot', cell: (row: Row) => <Name text={row.slot || '–'} /> }] : []),
        { head: 'Worst as sender', cell: (row) => (row.sent === null ? 'not tested' : percent(row.sent)), right: true },
        { head: 'Worst as receiver', cell: (row) => (row.received === null ? 'not tested' : percent(row.received)), right: true },
      ]}
    />
  );
}

function marksOf(frame: MatrixFrame, suspect: Suspect | undefined): Marks {
  const marks: Marks = { rows: new Set(), columns: new Set(), pairs: [] };
  if (!suspect) return marks;
  const places = new Map(frame.nodes.map((node, i) => [node, i]));
  const members = suspect.leaf && !suspect.node
    ? frame.leaves.flatMap((leaf, i) => (leaf === suspect.leaf ? [i] : []))
    : suspect.node !== null && places.has(suspect.node) ? [places.get(suspect.node)!] : [];
  if (suspect.kind !== 'pair')
    for (const at of members) {
      if (suspect.direction !== 'receives') marks.rows.add(at);
      if (suspect.direction !== 'sends') marks.columns.add(at);
    }
  for (const pair of suspect.evidence) {
    const from = places.get(pair.from);
    const to = places.get(pair.to);
    const isHere = pair.rail === frame.rail && (!frame.memory || !pair.memory || pair.memory === frame.memory);
    if (from !== undefined && to !== undefined && isHere) marks.pairs.push([from, to]);
  }
  return marks;
}

export function Evidence({ suspect, list }: { suspect: Suspect; list: SuspectList }) {
  return (
    <section id="evidence">
      <h3>
        <State word={suspect.confirmed ? 'confirmed' : 'new'} /> <Name text={`${suspect.name} ${suspect.direction === 'both' ? '' : suspect.direction}`} />
      </h3>
      <p><Name text={suspect.sentence} /></p>
      {suspect.retest && <p>Measured again: <Name text={suspect.retest} /></p>}
      <Table
        caption="pairs that speak for the suspect"
        rows={suspect.evidence}
        none="No single pair is listed."
        columns={[
          { head: 'From', cell: (row) => <To path={['nodes', row.from]}><Name text={row.from} /></To> },
          { head: 'To', cell: (row) => <To path={['nodes', row.to]}><Name text={row.to} /></To> },
          { head: 'Rail', cell: (row) => row.rail, right: true },
          { head: 'Expected', cell: (row) => figure(row.expected, list.unit), right: true },
          { head: 'Seen', cell: (row) => figure(row.seen, list.unit), right: true },
          { head: 'Of expected', cell: (row) => percent(row.expected > 0 ? row.seen / row.expected : null), right: true },
          { head: '', cell: (row) => <To path={['series']} values={{ kernel: list.kernel, metric: list.metric, node_set: `${row.from},${row.to}`, together: 'yes' }}>series</To> },
        ]}
      />
      {suspect.ruled_out.length > 0 && (
        <>
          <h4>Ruled out</h4>
          <ul>{suspect.ruled_out.map((text) => <li><Name text={text} /></li>)}</ul>
        </>
      )}
      <p class="quiet">To measure it again: <Command text={`railgauge runs suspects ${list.run_id}`} /></p>
    </section>
  );
}

function Suspects({ list, chosen, rail }: { list: SuspectList; chosen: number; rail: number }) {
  return (
    <>
      <h2>Suspects</h2>
      <Table
        caption="suspects"
        rows={list.suspects}
        none="No part is suspect."
        open={(row) => `#/matrix?run_id=${encodeURIComponent(list.run_id)}&suspect=${row.place}`}
        columns={[
          { head: '', cell: (row) => <button type="button" aria-pressed={row.place === chosen} onClick={() => change({ suspect: row.place === chosen ? '' : row.place, rail: row.rail ?? rail })}>{row.place === chosen ? 'shown' : 'show'}</button> },
          { head: 'State', cell: (row) => <State word={row.confirmed ? 'confirmed' : row.retest_answer || 'new'} /> },
          { head: 'Part', cell: (row) => <Name text={`${row.name} ${row.direction === 'both' ? '' : row.direction}`} /> },
          { head: 'Missing', cell: (row) => percent(row.drop_share), right: true },
          { head: 'For and against', cell: (row) => `${row.slow_tasks} slow, ${row.tasks - row.slow_tasks} not`, right: true },
        ]}
      />
    </>
  );
}

function Pinned({ frame, cell }: { frame: MatrixFrame; cell: Cell }) {
  const from = frame.nodes[cell.row];
  const to = frame.nodes[cell.column];
  return (
    <section>
      <h2>Pair</h2>
      <p>
        <To path={['nodes', from]}><Name text={from} /></To> → <To path={['nodes', to]}><Name text={to} /></To>:{' '}
        {cell.value === null ? 'not tested' : figure(cell.value, frame.unit)}, {percent(cell.share)} of what is expected.{' '}
        <To path={['series']} values={{ kernel: frame.kernel, metric: frame.metric, message_bytes: frame.message_bytes, node_set: `${from},${to}`, together: 'yes' }}>
          Its series over time
        </To>
      </p>
      <StartRun label="Measure this pair again" nodes={[from, to]} />
    </section>
  );
}

// Senders and receivers of a block are measured together, since a run takes a set of nodes and no
// pairs.
function Chosen({ frame, block }: { frame: MatrixFrame; block: Block }) {
  const senders = frame.nodes.slice(block.row, block.row + block.rows);
  const receivers = frame.nodes.slice(block.column, block.column + block.columns);
  const nodes = [...new Set([...senders, ...receivers])];
  return (
    <section id="block">
      <h2>Block</h2>
      <p>
        {senders.length} senders, <Name text={range(frame, block.row, 1)} /> to <Name text={senders[senders.length - 1] ?? ''} />; {receivers.length} receivers,{' '}
        <Name text={range(frame, block.column, 1)} /> to <Name text={receivers[receivers.length - 1] ?? ''} />.
      </p>
      {nodes.length > kMostRerun ? (
        <p class="quiet">{nodes.length} nodes are more than the {kMostRerun} that are measured again from here.</p>
      ) : (
        <StartRun
          label="Measure this block again"
          nodes={nodes}
          more={`The suite measures all ${nodes.length} nodes of the block: it chooses the pairs itself, also among the senders and among the receivers, and not the ${senders.length * receivers.length} cells of the block alone.`}
        />
      )}
    </section>
  );
}

export function MatrixPage({ route }: { route: Route }) {
  const values = selection(route);
  const mode = (route.query.get('mode') || 'share') as Mode;
  const chosen = Number(route.query.get('suspect') ?? 0);
  const suspects = useApi<SuspectList>('suspects', {
    run_id: values.run_id, kernel: values.kernel, metric: values.metric, message_bytes: values.message_bytes,
  });
  const suspect = suspects.data?.suspects.find((one) => one.place === chosen);
  // A suspect on one rail is looked at there, unless the URL says otherwise.
  if (!values.rail && suspect?.rail !== null && suspect?.rail !== undefined) values.rail = suspect.rail;
  const isReady = !chosen || suspects.data !== undefined || suspects.error !== undefined;
  // What is chosen keeps the picture and the focus until the next one is there.
  const frame = useApi<MatrixFrame>(isReady ? 'matrix' : undefined, values, 0, 0, true);
  const shownMode = useRef(mode);
  if (!frame.loading) shownMode.current = mode;
  const runs = useApi<{ runs: RunSummary[] }>('runs', { limit: 100 });
  const [pinned, setPinned] = useState<{ frame: MatrixFrame; cell: Cell }>();
  const [chosenBlock, setBlock] = useState<{ frame: MatrixFrame; block?: Block }>();
  const marks = useMemo(() => (frame.data ? marksOf(frame.data, suspect) : { rows: new Set<number>(), columns: new Set<number>(), pairs: [] }), [frame.data, suspect]);
  return (
    <>
      <h1>Pair matrix</h1>
      <Shown of={frame}>
        {(data) => (
          <>
            <Bar frame={data} route={route} runs={runs.data?.runs ?? []} mode={mode} />
            <p>
              {data.nodes.length} nodes, {data.measured_pairs} pairs tested, {data.untested_pairs} not; {data.larger_is_better ? 'larger' : 'smaller'} is better.{' '}
              {data.expected_within_leaf !== null && <>Within a leaf {figure(data.expected_within_leaf, data.unit)}. </>}
              {data.expected_across_leaves !== null && <>Across leaves {figure(data.expected_across_leaves, data.unit)}. </>}
              <Synthetic is={data.synthetic} />
            </p>
            {lackOf(data) && <p class="quiet">{lackOf(data)}; they come last. <code>labels_file</code> of an agent, or the file of labels of the site's profile, gives them.</p>}
            <Scrubber frame={data} runs={runs.data?.runs ?? []} />
            <Legend frame={data} mode={shownMode.current} />
            <div class="split" aria-busy={frame.loading}>
              <div>
                <Picture frame={data} values={frame.of ?? values} mode={shownMode.current} marks={marks} route={route} onPin={(cell) => setPinned({ frame: data, cell })} onBlock={(block) => setBlock({ frame: data, block })} />
              </div>
              <div>
                {chosenBlock?.block && chosenBlock.frame === data && <Chosen frame={data} block={chosenBlock.block} />}
                {pinned && pinned.frame === data && <Pinned frame={data} cell={pinned.cell} />}
                {suspect && suspects.data && <Evidence suspect={suspect} list={suspects.data} />}
                {suspects.data && <Suspects list={suspects.data} chosen={chosen} rail={data.rail} />}
              </div>
            </div>
            <Twin frame={data} />
          </>
        )}
      </Shown>
    </>
  );
}
