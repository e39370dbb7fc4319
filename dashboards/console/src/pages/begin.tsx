// When a finding began: its first series, the range in which it began with 90 %, and buttons that
// move the begin by a figure or two.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Act } from '../parts/actions';
import { post, part, useApi } from '../api/api';
import { draw } from '../series/chart';
import { time } from '../parts/format';
import { To } from '../parts/parts';
import { onTheme } from '../parts/theme';
import type { Finding, History, Upgrade } from '../api/types';
import 'uplot/dist/uPlot.min.css';

const kPoints = 400;
const kNone: Upgrade[] = [];
const kSides = [15, 30, 60, kPoints];

function Nudge({ id, since, figures }: { id: string; since: string; figures: number }) {
  const sign = figures < 0 ? '−' : '+';
  const far = Math.abs(figures);
  const way = `${far} ${far === 1 ? 'figure' : 'figures'} ${figures < 0 ? 'earlier' : 'later'}`;
  return (
    <Act
      call="Judge.StepFinding"
      label={`${sign}${far}`}
      name={`${sign}${far}: it began ${way}`}
      question={() => ({
        title: `${id}: it began ${way}`,
        text: 'Changes of that time are looked for again. The judge\'s own begin stays beside it.',
        verb: 'Move the begin',
        send: () => post(`findings/${part(id)}/steps`, { action: 'nudge', figures, since_seen: since }),
      })}
    />
  );
}

function Chart({ finding, history }: { finding: Finding; history: History }) {
  const place = useRef<HTMLDivElement>(null);
  const [theme, setTheme] = useState(0);
  useEffect(() => onTheme(() => setTheme((count) => count + 1)), []);
  useEffect(() => {
    if (!place.current || history.points.length === 0) return;
    const index = (at: string | null | undefined) => (at ? history.points.findIndex((point) => point.measured_at === at) : -1);
    const first = index(finding.begin_from);
    const range = { index: Math.max(index(finding.since), 0), index_first: first, index_last: index(finding.begin_until), kind: 'step', before: 0, after: 0, effect_percent: null, effect_low_percent: null, effect_high_percent: null, worse: true };
    const changes = { too_few: false, noise_percent: null, changes: first < 0 ? [] : [range], spikes: [], begin: finding.since ?? undefined };
    const chart = draw(place.current, history, 'date', 'begin');
    chart.mark(changes, kNone);
    return () => chart.end();
  }, [history, finding.since, finding.begin_from, finding.begin_until, theme]);
  return <div class="chart" ref={place} role="img" aria-label="the first series of the finding; the page of the series has its figures as a table" />;
}

// As many figures before the begin as from it on.
function around(history: History, since: string, side: number): History {
  const first = history.points.findIndex((point) => point.measured_at === since);
  return first < 0 ? history : { ...history, points: history.points.slice(Math.max(first - side, 0), first + side) };
}

export function Begin({ finding }: { finding: Finding }) {
  const since = finding.upgrade_id ? null : finding.since;
  const id = since ? finding.series[0]?.series_id : undefined;
  const history = useApi<History>(id === undefined ? undefined : 'series/history', { series_id: id, limit: kPoints });
  const [side, setSide] = useState(30);
  const drawn = useMemo(() => history.data && since && around(history.data, since, side), [history.data, since, side]);
  if (!since || id === undefined) return null;
  return (
    <section id="begin">
      <h3>Its begin</h3>
      <p>
        The first figure that shows it: {time(since)}.{' '}
        {finding.begin_from && finding.begin_until && (
          <>90 % range: {finding.begin_from === finding.begin_until ? 'that figure alone' : `${time(finding.begin_from)} to ${time(finding.begin_until)}`}. </>
        )}
        {finding.since_judged && <>The judge has it at {time(finding.since_judged)}. </>}
        <To path={['series']} values={{ series_id: id }}>The series</To>
      </p>
      <p class="links nudge">{[-2, -1, 1, 2].map((figures) => <Nudge key={figures} id={finding.finding_id} since={since} figures={figures} />)}</p>
      <label class="noprint">
        Figures on each side{' '}
        <select value={side} onChange={(event) => setSide(Number(event.currentTarget.value))}>
          {kSides.map((count) => <option value={count}>{count === kPoints ? 'all' : count}</option>)}
        </select>
      </label>
      {drawn && <Chart finding={finding} history={drawn} />}
    </section>
  );
}
