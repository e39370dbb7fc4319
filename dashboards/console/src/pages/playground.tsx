// The detector on one series, with other parameters than those by which nights are judged.
import { useEffect, useRef, useState } from 'preact/hooks';
import { useApi } from '../api/api';
import { draw } from '../series/chart';
import { time } from '../parts/format';
import { Name, Shown, Synthetic, To } from '../parts/parts';
import { change, numberOf, type Route } from '../api/route';
import { ChangeTable, seriesTitle } from './series';
import { onTheme } from '../parts/theme';
import type { History, SeriesChanges, Upgrade } from '../api/types';
import 'uplot/dist/uPlot.min.css';

const kPoints = 1000;
const kWaitMs = 250;
const kNone: Upgrade[] = [];
const kLeastNoise = 0.05; // percent; the slider's. A URL may have less, and the controller says what it refuses

function Slider({ name, label, value, least, most, step, words }: { name: string; label: string; value: number; least: number; most: number; step: number; words: string }) {
  const [at, setAt] = useState(value);
  useEffect(() => setAt(value), [value]);
  useEffect(() => {
    if (at === value) return;
    const timer = setTimeout(() => change({ [name]: at }, true), kWaitMs);
    return () => clearTimeout(timer);
  }, [at]);
  return (
    <label class="slider">
      {label} <input type="range" min={least} max={most} step={step} value={at} onInput={(event) => setAt(Number(event.currentTarget.value))} /> {words}
    </label>
  );
}

function Found({ history, id, route }: { history: History; id: string; route: Route }) {
  const number = (name: string, usual: number) => numberOf(route.query.get(name), usual);
  const delta = number('delta', 0);
  const noise = number('noise', 0.05);
  const first = Math.min(Math.max(number('first', history.points.length), 1), history.points.length);
  const usual = useApi<SeriesChanges>('series/changes', { series_id: id, limit: kPoints });
  const other = useApi<SeriesChanges>('series/changes', { series_id: id, limit: kPoints, delta: delta / 100, least_noise: noise / 100, first });
  const place = useRef<HTMLDivElement>(null);
  const [theme, setTheme] = useState(0);
  useEffect(() => onTheme(() => setTheme((count) => count + 1)), []);
  useEffect(() => {
    if (!place.current || history.points.length === 0) return;
    const chart = draw(place.current, { ...history, points: history.points.slice(0, first) }, 'date', 'playground');
    chart.mark(other.data, kNone);
    return () => chart.end();
  }, [history, other.data, first, theme]);
  return (
    <>
      <form class="bar" onSubmit={(event) => event.preventDefault()}>
        <Slider name="delta" label="Practical bound" value={delta} least={0} most={30} step={0.5} words={`${delta} %: steps below half of it are left out`} />
        <Slider name="noise" label="Least noise" value={noise} least={kLeastNoise} most={10} step={0.05} words={`${noise} %`} />
        <Slider
          name="first" label="As it was after point" value={first} least={1} most={history.points.length} step={1}
          words={`${first} of ${history.points.length}, ${time(history.points[Math.max(first - 1, 0)]?.measured_at)}`}
        />
        <button type="button" onClick={() => change({ delta: '', noise: '', first: '' })}>As nights are judged</button>
      </form>
      <div class="chart" ref={place} role="img" aria-label="the series up to this point; the tables below have what is found in it" />
      <h2>By these parameters</h2>
      {other.error && <p class="error" role="alert">{other.error}</p>}
      <ChangeTable history={history} changes={other.data} caption="changes by these parameters" />
      <h2>As nights are judged</h2>
      {usual.error && <p class="error" role="alert">{usual.error}</p>}
      <ChangeTable history={history} changes={usual.data} caption="changes by the usual parameters" />
    </>
  );
}

export function Playground({ route }: { route: Route }) {
  const id = route.query.get('series_id') ?? '';
  const history = useApi<History>(id ? 'series/history' : undefined, { series_id: id, limit: kPoints });
  return (
    <>
      <h1>Playground of the detector</h1>
      {!id && <p>Choose a series first: each has a link to its playground. <To path={['series']}>All series</To></p>}
      <Shown of={history}>
        {(data) => (
          <>
            <p>
              <To path={['series']} values={{ series_id: id }}><Name text={seriesTitle(data.series)} /></To> · <Name text={data.series.endpoints.join(' → ')} />{' '}
              <Synthetic is={data.points.some((point) => point.synthetic)} />
            </p>
            <p class="quiet">Nothing is stored, and no night is judged by it.</p>
            <Found history={data} id={id} route={route} />
          </>
        )}
      </Shown>
    </>
  );
}
