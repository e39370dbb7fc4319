// The frame of the console: pages by URL, keys, theme, and whether the controller answers.
import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { onLink, readAgain, useApi, type Link } from './api/api';
import { Audit } from './pages/audit';
import { FindingPage, Findings } from './pages/findings';
import { onClock } from './parts/clock';
import { time } from './parts/format';
import { Marks } from './parts/mark';
import { MatrixPage } from './pages/matrix';
import { NodePage, Nodes } from './pages/nodes';
import { Overview } from './pages/overview';
import { Command, Name } from './parts/parts';
import { Playground } from './pages/playground';
import { Report } from './pages/report';
import { parse, type Route } from './api/route';
import { forget, identity, isKnown, onSession } from './api/session';
import { Run, Runs } from './pages/runs';
import { SavedViews } from './pages/saved';
import { Schedules } from './pages/schedules';
import { SeriesPage } from './pages/series';
import { UpgradePage, Upgrades } from './pages/upgrades';
import type { Session } from './api/types';
import './style.css';

const kPages: [string, string][] = [
  ['', 'Overview'],
  ['findings', 'Findings'],
  ['matrix', 'Matrix'],
  ['series', 'Series'],
  ['runs', 'Runs'],
  ['upgrades', 'Upgrades'],
  ['nodes', 'Nodes'],
  ['schedules', 'Schedules'],
  ['report', 'Report'],
  ['audit', 'Audit'],
];

const kKeys: [string, string][] = [
  ['j, k', 'the next and the previous row'],
  ['Enter', 'open the row'],
  ['a', 'acknowledge this finding, or the chosen one'],
  ['i', 'mark this finding as a false alarm'],
  ['/', 'the filter of this page'],
  ['?', 'these keys'],
  ['v', 'saved views'],
  ['o f m s r u n c e t', 'overview, findings, matrix, series, runs, upgrades, nodes, schedules, report, audit trail'],
  ['arrows, Enter', 'in the matrix: walk along cells, look closer or pin the pair'],
  ['Shift and arrows + − 0 b', 'in the matrix: move the picture, closer, farther, all, choose what is seen'],
];

function Page({ route }: { route: Route }) {
  const [page, id] = route.path;
  switch (page) {
    case undefined:
      return <Overview />;
    case 'findings':
      return id ? <FindingPage id={id} /> : <Findings route={route} />;
    case 'matrix':
      return <MatrixPage route={route} />;
    case 'series':
      return <SeriesPage route={route} />;
    case 'runs':
      return id ? <Run id={id} /> : <Runs />;
    case 'upgrades':
      return id ? <UpgradePage id={id} /> : <Upgrades />;
    case 'nodes':
      return id ? <NodePage name={id} /> : <Nodes route={route} />;
    case 'schedules':
      return <Schedules route={route} />;
    case 'report':
      return <Report route={route} />;
    case 'audit':
      return <Audit route={route} />;
    case 'playground':
      return <Playground route={route} />;
    default:
      return <p class="error">There is no page <Name text={page} />.</p>;
  }
}

// The place of the row that was chosen last. The row may have left the page, as one that was
// acknowledged does: the row that has its place is then the next one.
let placeOfChoice = -1;

// Rows that open something are walked along; the chosen one has the focus of its link.
function walk(by: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>('main [data-row]')];
  if (rows.length === 0) return;
  const now = rows.findIndex((row) => row.classList.contains('chosen'));
  const from = now >= 0 || placeOfChoice < 0 ? now : by > 0 ? placeOfChoice - 1 : placeOfChoice;
  placeOfChoice = Math.min(Math.max(from + by, 0), rows.length - 1);
  const next = rows[placeOfChoice];
  for (const row of rows) row.classList.toggle('chosen', row === next);
  next.querySelector<HTMLElement>('a, button')?.focus();
  next.scrollIntoView({ block: 'nearest' });
}

// The button of the chosen row, of the page, or the command to copy for those who may only read.
function press(key: string): void {
  const button = [`main .chosen [data-key="${key}"] button`, `#steps [data-key="${key}"] button`, `#triage [data-key="${key}"] button`]
    .map((where) => document.querySelector<HTMLElement>(where))
    .find((found) => found !== null);
  button?.focus();
  if (button?.hasAttribute('data-act')) button.click();
}

function act(key: string, toggleHelp: () => void, toggleViews: () => void): boolean {
  const go: Record<string, string> = { o: '', f: 'findings', m: 'matrix', s: 'series', r: 'runs', u: 'upgrades', n: 'nodes', c: 'schedules', e: 'report', t: 'audit' };
  if (key === 'j') walk(1);
  else if (key === 'k') walk(-1);
  else if (key === '/') document.querySelector<HTMLElement>('[data-filter]')?.focus();
  else if (key === '?') toggleHelp();
  else if (key === 'v') toggleViews();
  else if (key === 'a' || key === 'i') press(key);
  else if (key in go) location.hash = `#/${go[key]}`;
  else return false;
  return true;
}

function useKeys(toggleHelp: () => void, toggleViews: () => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.ctrlKey || event.metaKey || event.altKey || target.closest('dialog.ask')) return;
      if (event.key === 'Escape') return target.blur();
      if (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) return;
      if (event.key === 'Enter' && !/^(A|BUTTON|SUMMARY)$/.test(target.tagName)) {
        const row = document.querySelector<HTMLElement>('main .chosen[data-href]');
        if (row?.dataset.href) location.hash = row.dataset.href;
        return;
      }
      if (act(event.key, toggleHelp, toggleViews)) event.preventDefault();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}

const kAwayWords = { lost: 'The controller does not answer.', busy: 'The controller is busy and has refused a request.' };

function Banner({ link }: { link: Link }) {
  if (link === 'well') return null;
  return (
    <div class="banner" role="alert">
      {link !== 'ended' ? (
        `${kAwayWords[link]} What is shown is what it said last; the page asks again by itself.`
      ) : (
        <>{isKnown() ? 'The session has ended.' : 'Nobody is signed in here.'} A new URL: <Command text="railgauge console" /></>
      )}
    </div>
  );
}

function Help({ close }: { close: () => void }) {
  return (
    <dialog open class="help" aria-label="keys">
      <h2>Keys</h2>
      <dl class="facts">{kKeys.map(([key, words]) => <div><dt><kbd>{key}</kbd></dt><dd>{words}</dd></div>)}</dl>
      <button type="button" onClick={close} autofocus>Close</button>
    </dialog>
  );
}

const kThemes = ['auto', 'light', 'dark'];

function useTheme(): [string, () => void] {
  const [theme, setTheme] = useState(() => localStorage.getItem('theme') ?? 'auto');
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    localStorage.setItem('theme', theme);
  }, [theme]);
  return [theme, () => setTheme(kThemes[(kThemes.indexOf(theme) + 1) % kThemes.length])];
}

function useRoute(): Route {
  const [route, setRoute] = useState(() => parse(location.hash));
  useEffect(() => {
    const onHash = () => setRoute(parse(location.hash));
    addEventListener('hashchange', onHash);
    return () => removeEventListener('hashchange', onHash);
  }, []);
  return route;
}

// Its requests have the session in a header, which no link has.
async function signOut(): Promise<void> {
  try {
    await fetch('logout', { method: 'POST', headers: identity() });
  } finally {
    forget();
    location.reload();
  }
}

function Foot() {
  const session = useApi<Session>('session', {}, 60);
  const data = session.data;
  if (!data) return null;
  return (
    <footer>
      <Name text={data.who} /> ({data.role}) · {data.read_only && 'may only read: pages show the commands that change something · '}
      {data.ends_at && `idle sessions end ${time(data.ends_at)} · `}railgauge {data.version} · <a href="api/v1/openapi.json" target="_blank">interface</a>
      {data.ends_at && (
        <>
          {' · '}
          <button type="button" class="link" onClick={signOut}>sign out</button>
        </>
      )}
    </footer>
  );
}

function App() {
  const route = useRoute();
  const [link, setLink] = useState<Link>('well');
  const [help, setHelp] = useState(false);
  const [theme, nextTheme] = useTheme();
  const [, setSteps] = useState(0);
  useEffect(() => onLink(setLink), []);
  // Each page says again how long ago things were.
  useEffect(() => onClock(() => setSteps((count) => count + 1)), []);
  useEffect(() => onSession(readAgain), []);
  const [views, setViews] = useState(false);
  useKeys(() => setHelp((shown) => !shown), () => setViews((shown) => !shown));
  const page = route.path.join('/');
  useEffect(() => {
    const name = kPages.find(([path]) => path === (route.path[0] ?? ''))?.[1] ?? 'Console';
    document.title = `${route.path[1] ? `${route.path[1].slice(0, 60)} · ` : ''}${name} · Railgauge`;
    scrollTo(0, 0);
    placeOfChoice = -1;
  }, [page]);
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById('main')?.focus(); }}>To the page</a>
      <header class="noprint">
        <strong>Railgauge</strong>
        <nav aria-label="pages">
          {kPages.map(([path, title]) => (
            <a href={`#/${path}`} aria-current={(route.path[0] ?? '') === path ? 'page' : undefined}>{title}</a>
          ))}
        </nav>
        <button type="button" onClick={nextTheme}>Theme: {theme}</button>
        <button type="button" onClick={() => setViews(!views)} aria-expanded={views}>Views</button>
        <button type="button" onClick={() => setHelp(!help)} aria-expanded={help}>Keys</button>
      </header>
      <Banner link={link} />
      <Marks />
      {views && <SavedViews close={() => setViews(false)} />}
      {help && <Help close={() => setHelp(false)} />}
      <main id="main" tabIndex={-1}><Page key={page} route={route} /></main>
      <Foot />
    </>
  );
}

render(<App />, document.getElementById('app')!);
