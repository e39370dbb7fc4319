// The list of series, and series over time with what the detector finds in them.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { aaBands, type AaBand } from '../series/aa';
import { get, useApi, type Loaded } from '../api/api';
import { draw, type Axis, type Chart as Drawn } from '../series/chart';
import { columnsOf, countOf, isSynthetic, shifted } from '../series/columns';
import { bytes, figure, signed, time } from '../parts/format';
import { pausesOf } from '../series/maintenance';
import { Name, Shown, Synthetic, Table, To } from '../parts/parts';
import { chosenOf, facetsOf, splitBy, type Chosen } from '../series/facets';
import { bandOf, peersOf } from '../series/peers';
import { spanOf, valuesOfSpan, type Span } from '../series/span';
import { change, link, type Route } from '../api/route';
import { onTheme } from '../parts/theme';
import type { EventList, History, Series, SeriesChanges, SeriesColumns, Upgrade } from '../api/types';
import 'uplot/dist/uPlot.min.css';

const kMostCharts = 6;
const kPoints = 1000; // of a table, and among which changes are looked for
const kMostSeries = 10_000;

export function seriesTitle(series: Series): string {
  const size = series.message_bytes ? ` ${bytes(series.message_bytes)}` : '';
  return `${series.kernel} ${series.metric}${series.meaning ? ` ${series.meaning}` : ''}${size}`;
}

function Filter({ route, name, label }: { route: Route; name: string; label: string }) {
  return (
    <label>
      {label}{' '}
      <input
        type="search"
        value={route.query.get(name) ?? ''}
        data-filter={name === 'kernel' ? '' : undefined}
        onChange={(event) => change({ [name]: event.currentTarget.value })}
      />
    </label>
  );
}

// Keys of the URL by which the list is narrowed in the page: "is.memory=gpu".
const kIs = 'is.';
const kMostValues = 200; // of one key; the frequent ones

function choices(route: Route): Chosen {
  return Object.fromEntries([...route.query].filter(([name]) => name.startsWith(kIs)).map(([name, value]) => [name.slice(kIs.length), value]));
}

// Selects with counts, which narrow with each choice.
function Facets({ all, chosen, split }: { all: Series[]; chosen: Chosen; split: string }) {
  const facets = facetsOf(all, chosen);
  const choice = new Map(Object.entries(chosen)); // a key may be named as what every object has
  return (
    <form class="bar" id="facets" onSubmit={(event) => event.preventDefault()}>
      {facets.map(({ key, values }) => (
        <label key={key}>
          <Name text={key.replace(/_/g, ' ')} />{' '}
          <select value={choice.get(key) ?? ''} onChange={(event) => change({ [kIs + key]: event.currentTarget.value })}>
            <option value="">any of {values.length}</option>
            {values.filter(([value], i) => i < kMostValues || value === choice.get(key)).map(([value, count]) => <option value={value}>{`${value} (${count})`}</option>)}
          </select>
        </label>
      ))}
      {facets.length > 0 && (
        <label>
          Split by{' '}
          <select value={split} onChange={(event) => change({ split: event.currentTarget.value })}>
            <option value="">nothing</option>
            {facets.map(({ key }) => <option value={key}>{key.replace(/_/g, ' ')}</option>)}
          </select>
        </label>
      )}
    </form>
  );
}

function SeriesTable({ rows, caption }: { rows: Series[]; caption: string }) {
  return (
    <Table
      caption={caption}
      rows={rows}
      open={(row) => link(['series'], { series_id: row.series_id })}
      columns={[
        { head: 'Series', cell: (row) => <To path={['series']} values={{ series_id: row.series_id }}><Name text={seriesTitle(row)} /></To> },
        { head: 'Endpoints', cell: (row) => <Name text={row.endpoints.join(' → ')} /> },
        { head: 'Pair', cell: (row) => <Name text={row.pair} /> },
        { head: 'Parameters', cell: (row) => <Name text={Object.entries(row.parameters).map(([name, set]) => `${name}=${set}`).join(' ')} /> },
      ]}
    />
  );
}

function List({ route }: { route: Route }) {
  const value = (name: string) => route.query.get(name) ?? '';
  // The interface finds series of any of the nodes; those of a pair have both.
  const together = value('together') !== '';
  const has = (series: Series, node: string) => series.endpoints.some((endpoint) => endpoint === node || endpoint.startsWith(`${node}/`));
  const list = useApi<{ series: Series[] }>('series', {
    run_id: value('run_id') || 'all',
    kernel: value('kernel'),
    metric: value('metric'),
    node_set: value('node_set'),
    message_bytes: value('message_bytes'),
    limit: together ? kMostSeries : kPoints,
  });
  return (
    <>
      <h1>Series</h1>
      <form class="bar" onSubmit={(event) => event.preventDefault()}>
        <Filter route={route} name="kernel" label="Kernel" />
        <Filter route={route} name="metric" label="Metric" />
        <Filter route={route} name="node_set" label="Nodes" />
        <Filter route={route} name="message_bytes" label="Size in bytes" />
        <Filter route={route} name="run_id" label="Run" />
      </form>
      <Shown of={list}>
        {({ series: all }) => {
          const of = together ? all.filter((series) => value('node_set').split(',').every((node) => has(series, node))) : all;
          const chosen = choices(route);
          const rows = chosenOf(of, chosen);
          const split = value('split');
          return (
            <>
              <Facets all={of} chosen={chosen} split={split} />
              <p class="quiet" role="status">
                {rows.length} of {all.length === kPoints ? `the first ${kPoints}` : of.length} series{together && ', those between these nodes'}
              </p>
              {split
                ? splitBy(rows, split).map(({ value: words, rows: group }) => (
                    <details open key={words}>
                      <summary><Name text={words || `without ${split}`} />: {group.length}</summary>
                      <SeriesTable rows={group} caption={`series of ${words || 'no value'}`} />
                    </details>
                  ))
                : <SeriesTable rows={rows} caption="series" />}
            </>
          );
        }}
      </Shown>
    </>
  );
}

export function ChangeTable({ history, changes, caption }: { history: History; changes: SeriesChanges | undefined; caption?: string }) {
  if (!changes) return null;
  if (changes.too_few) return <p class="quiet">{countOf(history)} points are too few to look for changes.</p>;
  const { times } = columnsOf(history);
  const at = (index: number) => (index < times.length ? isoOf(times[index]) : '–');
  return (
    <Table
      caption={caption ?? 'changes'}
      rows={changes.changes}
      none="The detector finds no change."
      columns={[
        { head: 'Change', cell: (row) => row.kind.replace(/_/g, ' ') },
        { head: 'Began', cell: (row) => at(row.index) },
        { head: 'At the earliest', cell: (row) => at(row.index_first) },
        { head: 'At the latest', cell: (row) => at(row.index_last) },
        { head: 'Before', cell: (row) => figure(row.before, history.series.unit), right: true },
        { head: 'After', cell: (row) => figure(row.after, history.series.unit), right: true },
        { head: 'Effect', cell: (row) => `${signed(row.effect_percent)} (${signed(row.effect_low_percent)} to ${signed(row.effect_high_percent)})`, right: true },
        { head: 'Worse', cell: (row) => (row.worse === null ? '–' : row.worse ? 'yes' : 'no') },
      ]}
    />
  );
}

// Read when it is opened: a table of all points of a chart would be its slowest part.
function Points({ history }: { history: History }) {
  const unit = history.series.unit;
  const [isOpen, setOpen] = useState(false);
  const newest = useApi<History>(isOpen ? 'series/history' : undefined, { series_id: history.series.series_id, limit: kPoints });
  const count = countOf(history);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>The same as a table: {Math.min(count, kPoints)} points{count > kPoints && `, the newest of ${count}`}</summary>
      {isOpen && newest.error && <p class="error" role="alert">{newest.error}</p>}
      <Table
        caption="points of the series"
        rows={[...(newest.data?.points ?? [])].reverse()}
        columns={[
          { head: 'Measured', cell: (row) => time(row.measured_at) },
          { head: 'Run', cell: (row) => <To path={['runs', row.run_id]}>{row.run_id}</To> },
          { head: 'Figure', cell: (row) => figure(row.headline, unit), right: true },
          { head: '95 % interval', cell: (row) => `${figure(row.rate_low ?? row.median_low, unit)} to ${figure(row.rate_high ?? row.median_high, unit)}`, right: true },
          { head: 'n', cell: (row) => row.sample_count, right: true },
          { head: 'Converged', cell: (row) => (row.converged ? 'yes' : 'no') },
          { head: 'Epoch', cell: (row) => row.epoch ?? '–', right: true },
        ]}
      />
    </details>
  );
}

function AaWords({ history, bands }: { history: History; bands: AaBand[] }) {
  const now = bands[bands.length - 1];
  if (!now) return null;
  return <p class="quiet">A/A band of the present level: {figure(now.low, history.series.unit)} to {figure(now.high, history.series.unit)}.</p>;
}

// The histories of some peers; none while they are not asked for.
function usePeers(history: History | undefined, isAsked: boolean): History[] {
  const [peers, setPeers] = useState(kNoPeers);
  useEffect(() => {
    setPeers(kNoPeers);
    if (!history || !isAsked) return;
    const abort = new AbortController();
    const { kernel, metric, message_bytes } = history.series;
    get<{ series: Series[] }>('series', { run_id: 'all', kernel, metric, message_bytes, limit: kMostSeries }, abort.signal)
      .then(({ series }) => Promise.all(peersOf(history.series, series).map((one) => get<History>('series/history', { series_id: one.series_id, limit: kPoints }, abort.signal))))
      .then(setPeers, () => undefined);
    return () => abort.abort();
  }, [history, isAsked]);
  return peers;
}

// A wheel or a drag ends before the URL changes.
const kSpanMs = 400;

function Chart({ id, axis, upgrades, withPeers, span }: { id: string; axis: Axis; upgrades: Upgrade[]; withPeers: boolean; span: Span | undefined }) {
  const columns = useApi<SeriesColumns>('series/columns', { series_id: id });
  const drawn = useMemo(() => columns.data && { series: columns.data.series, points: [], columns: columns.data }, [columns.data]);
  const history: Loaded<History> = { ...columns, data: drawn };
  const newest = useApi<SeriesChanges>('series/changes', { series_id: id, limit: kPoints });
  const found = useMemo(() => newest.data && drawn && shifted(newest.data, drawn), [newest.data, drawn]);
  const changes = { data: found, error: newest.error };
  const bands = useMemo(() => (drawn && found ? aaBands(columnsOf(drawn).figures, found) : []), [drawn, found]);
  const peers = usePeers(history.data, withPeers);
  const nodes = [...new Set((history.data?.series.endpoints ?? []).map((one) => one.split('/')[0]))].join(',');
  const events = useApi<EventList>(nodes ? 'events' : undefined, { node_set: nodes, kinds: 'maintenance', limit: kPoints });
  const pauses = useMemo(() => pausesOf(events.data?.events ?? []), [events.data]);
  const place = useRef<HTMLDivElement>(null);
  const canvas = useRef<Drawn>();
  const [theme, setTheme] = useState(0);
  useEffect(() => onTheme(() => setTheme((count) => count + 1)), []);
  useEffect(() => {
    if (!place.current || !history.data || countOf(history.data) === 0) return;
    const band = peers.length > 0 ? bandOf(history.data, peers) : undefined;
    let timer = 0;
    const zoomed = (to: Span | undefined) => {
      clearTimeout(timer);
      timer = window.setTimeout(() => change(valuesOfSpan(to), true), kSpanMs);
    };
    const chart = (canvas.current = draw(place.current, history.data, axis, 'series', band, zoomed));
    return () => {
      clearTimeout(timer);
      canvas.current = undefined;
      chart.end();
    };
  }, [history.data, axis, theme, peers]);
  useEffect(() => canvas.current?.show(span), [history.data, axis, theme, peers, span?.[0], span?.[1]]);
  useEffect(() => {
    if (!canvas.current || !history.data) return;
    // Times have no place on the axis of runs.
    canvas.current.mark({ ...(changes.data ?? kNoChanges), pauses: axis === 'date' ? pauses : [], aa: bands }, upgrades);
  }, [history.data, changes.data, bands, upgrades, axis, theme, peers, pauses]);
  return (
    <section>
      <Shown of={history}>
        {(data) => (
          <>
            <h2>
              <Name text={seriesTitle(data.series)} />
            </h2>
            <p>
              <Name text={data.series.endpoints.join(' → ')} /> · {data.series.larger_is_better ? 'larger' : 'smaller'} is better{' '}
              <Synthetic is={isSynthetic(data)} />{' '}
              <To path={['playground']} values={{ series_id: id }}>playground</To>
            </p>
            {withPeers && <p class="quiet">{peers.length === 0 ? 'No series measures the same elsewhere, or it is being read.' : `The grey band spans ${peers.length} series that measure the same elsewhere.`}</p>}
          </>
        )}
      </Shown>
      <div class="chart" ref={place} role="img" aria-label="the series over time; the table below has the same figures" />
      {changes.error && <p class="error">{changes.error}</p>}
      {history.data && <AaWords history={history.data} bands={bands} />}
      {history.data && <ChangeTable history={history.data} changes={changes.data} />}
      {pauses.length > 0 && (
        <ul class="quiet">
          {pauses.map((pause) => <li><Name text={pause.node} /> was paused from {isoOf(pause.from)} to {Number.isFinite(pause.until) ? isoOf(pause.until) : 'now'}</li>)}
        </ul>
      )}
      {history.data && <Points history={history.data} />}
    </section>
  );
}

const kNone: Upgrade[] = [];
const kNoPeers: History[] = [];
const kNoChanges: SeriesChanges = { too_few: false, noise_percent: null, changes: [], spikes: [] };
const isoOf = (seconds: number) => time(new Date(1000 * seconds).toISOString());

export function SeriesPage({ route }: { route: Route }) {
  const ids = (route.query.get('series_id') ?? '').split(',').filter(Boolean).slice(0, kMostCharts);
  const axis: Axis = route.query.get('axis') === 'run' ? 'run' : 'date';
  const withPeers = (route.query.get('peers') ?? '') !== '';
  const upgrades = useApi<{ upgrades: Upgrade[] }>(ids.length ? 'upgrades' : undefined, { limit: 50 });
  if (ids.length === 0) return <List route={route} />;
  return (
    <>
      <h1>Series over time</h1>
      <form class="bar" onSubmit={(event) => event.preventDefault()}>
        <label>
          Axis{' '}
          <select value={axis} onChange={(event) => change({ axis: event.currentTarget.value, ...valuesOfSpan(undefined) })}>
            <option value="date">by date</option>
            <option value="run">by run</option>
          </select>
        </label>
        <label>
          <input type="checkbox" checked={withPeers} onChange={(event) => change({ peers: event.currentTarget.checked ? 'yes' : '' })} /> peers
        </label>
        <span class="legend">
          <i class="swatch band" /> 95 % interval <i class="swatch aa" /> A/A: 95 of 100 figures while nothing changes <i class="swatch range" /> where a change may have begun <i class="swatch epoch" /> another stack{' '}
          <i class="swatch upgrade" /> upgrade <i class="swatch maintenance" /> a node was paused · a drag zooms all charts, a double click shows all
        </span>
      </form>
      {ids.map((id) => <Chart key={id} id={id} axis={axis} upgrades={upgrades.data?.upgrades ?? kNone} withPeers={withPeers} span={spanOf(route.query)} />)}
      <p><To path={['series']}>Other series</To></p>
    </>
  );
}
