// Pieces that every page uses.
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ago, time } from './format';
import { link, type Values } from '../api/route';
import type { Loaded } from '../api/api';

// A name that a stranger chose: text, isolated from the direction of what is around it.
export function Name({ text }: { text: string }) {
  return (
    <bdi class="name" title={text.length > 60 ? text : undefined}>
      {text}
    </bdi>
  );
}

export function To({ path, values, children }: { path: string[]; values?: Values; children: ComponentChildren }) {
  return <a href={link(path, values)}>{children}</a>;
}

export function When({ at }: { at: string | null | undefined }) {
  if (!at) return <>–</>;
  return (
    <time dateTime={at} title={time(at)}>
      {time(at)} <small>({ago(at)})</small>
    </time>
  );
}

// States differ in shape as well as in colour.
const kTones: Record<string, [string, string]> = {
  good: ['●', 'passed pass ok yes started attached active fixed rolled_back measured well'],
  bad: ['■', 'failed regressed crashed timed_out lost corruption lost_function error fail no confirmed reopened broken refused critical high'],
  doubtful: ['▲', 'inconclusive waived invalid cancelled new busy warn warning paused missed skipped by_hand unknown medium'],
};
export function State({ word }: { word: string | null | undefined }) {
  const text = word || 'unknown';
  const tone = Object.entries(kTones).find(([, [, words]]) => words.split(' ').includes(text));
  return (
    <span class={`state ${tone ? tone[0] : 'plain'}`}>
      <span aria-hidden="true">{tone ? tone[1][0] : '◇'}</span> {text.replace(/_/g, ' ')}
    </span>
  );
}

export function Synthetic({ is }: { is: boolean | undefined }) {
  return is ? <span class="badge">synthetic figures</span> : null;
}

// The page's own state of loading: an error of a reading is shown above what was read before.
export function Shown<Data>({ of, children }: { of: Loaded<Data>; children: (data: Data) => ComponentChildren }) {
  return (
    <>
      {of.error && (
        <p class="error" role="alert">
          {of.error}
        </p>
      )}
      {of.data !== undefined ? children(of.data) : of.loading ? <p class="quiet">Reading …</p> : null}
    </>
  );
}

export interface Column<Row> {
  head: string;
  cell: (row: Row) => ComponentChildren;
  right?: boolean;
}

// Keys of rows: what they open, and a number where several open the same. A row keeps its place in
// the page by it, and so the choice of j and k.
function keysOf(urls: (string | undefined)[]): (string | undefined)[] {
  const counts = new Map<string, number>();
  return urls.map((url) => {
    if (url === undefined) return undefined;
    const count = counts.get(url) ?? 0;
    counts.set(url, count + 1);
    return count === 0 ? url : `${url} ${count}`;
  });
}

// A table whose rows j and k walk along, and Enter opens.
export function Table<Row>({ rows, columns, open, none, caption }: {
  rows: Row[];
  columns: Column<Row>[];
  open?: (row: Row) => string;
  none?: string;
  caption?: string;
}) {
  const [most, setMost] = useState(kRowsShown);
  if (rows.length === 0) return <p class="quiet">{none ?? 'There is none.'}</p>;
  const shown = rows.slice(0, most);
  const keys = keysOf(shown.map((row) => open?.(row)));
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={caption ?? 'table'}>
      <table>
        {caption && <caption class="hidden">{caption}</caption>}
        <thead>
          <tr>{columns.map((column) => <th scope="col" class={column.right ? 'right' : ''}>{column.head}</th>)}</tr>
        </thead>
        <tbody>
          {shown.map((row, i) => (
            <tr key={keys[i]} data-row={open ? '' : undefined} data-href={open ? open(row) : undefined}>
              {columns.map((column) => <td class={column.right ? 'right' : ''}>{column.cell(row)}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > most && (
        <button type="button" onClick={() => setMost(most + 1000)}>
          {rows.length - most} more rows
        </button>
      )}
    </div>
  );
}
const kRowsShown = 200;

export function Facts({ rows }: { rows: [string, ComponentChildren][] }) {
  return (
    <dl class="facts">
      {rows.map(([name, value]) => (
        <div>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Lines({ title, rows }: { title: string; rows: string[] | undefined }) {
  if (!rows || rows.length === 0) return null;
  return (
    <section>
      <h3>{title}</h3>
      <ul>{rows.map((row) => <li><Name text={row} /></li>)}</ul>
    </section>
  );
}

// Saves a text that this page has made; nothing is asked for.
export function Save({ name, text, label, type }: { name: string; text: () => string | Promise<string>; label: string; type?: string }) {
  const save = async () => {
    const url = URL.createObjectURL(new Blob([await text()], { type: type ?? 'text/plain' }));
    const link = document.createElement('a');
    link.href = url;
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  };
  return <button type="button" class="noprint" onClick={save}>{label}</button>;
}

export function Copy({ text, label }: { text: string; label: string }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 2000);
    return () => clearTimeout(timer);
  }, [copied]);
  return (
    <button type="button" class="noprint" onClick={() => navigator.clipboard?.writeText(text).then(() => setCopied(true))}>
      {copied ? 'copied' : label}
    </button>
  );
}

// What the command line does.
export function Command({ text }: { text: string }) {
  return (
    <span class="command">
      <code>{text}</code> <Copy text={text} label="copy" />
    </span>
  );
}

// Two levels as bars, relative to the one before: 1 is no change.
export function Levels({ before, after }: { before: number[]; after: number[] }) {
  const all = [...before, ...after];
  if (all.length === 0) return null;
  const low = Math.min(...all, 1);
  const high = Math.max(...all, 1);
  const width = 480;
  const y = (value: number) => 10 + (80 * (high - value)) / Math.max(high - low, 1e-9);
  const x = (index: number) => 20 + (index * (width - 40)) / Math.max(all.length - 1, 1);
  const edge = before.length && after.length ? (x(before.length - 1) + x(before.length)) / 2 : -9;
  return (
    <figure>
      <svg class="levels" viewBox={`0 0 ${width} 100`} role="img" aria-label="levels before and after, a row each in the table below">
        <line x1="0" x2={width} y1={y(1)} y2={y(1)} class="axis" />
        <line x1={edge} x2={edge} y1="0" y2="100" class="edge" />
        <text x={width - 2} y={y(1) - 3} text-anchor="end">1 is no change</text>
        <text x="2" y={y(low) - 3}>{low.toFixed(3)}</text>
        {before.map((value, i) => <circle cx={x(i)} cy={y(value)} r="4" class="before" />)}
        {after.map((value, i) => (
          <rect x={x(before.length + i) - 4} y={y(value) - 4} width="8" height="8" class="after" />
        ))}
      </svg>
      <details>
        <summary>The same as a table</summary>
        <Table
          rows={all.map((value, i) => ({ value, side: i < before.length ? 'before' : 'after' }))}
          columns={[
            { head: 'Side', cell: (row) => row.side },
            { head: 'Of the level before', cell: (row) => row.value.toFixed(4), right: true },
          ]}
        />
      </details>
    </figure>
  );
}
