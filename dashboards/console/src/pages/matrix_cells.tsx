// Single cells of the pair matrix: the one that is pointed at, and the worst ones as a table.
import { useEffect, useState } from 'preact/hooks';
import { get, words } from '../api/api';
import { figure, percent } from '../parts/format';
import { worstCells, type WorstCell } from '../matrix/export';
import type { Cell } from '../matrix/matrix_view';
import { askFor, figureOf, pointOf, runOf, type PairFigure } from '../matrix/pair_figure';
import { Facts, Name, Table, To } from '../parts/parts';
import type { MatrixFrame, MatrixTile, ResultPoint } from '../api/types';

const kHoverMs = 250;
const kWorst = 100; // rows of the table

// Names of the nodes that a cell covers.
export function range(frame: MatrixFrame, at: number, step: number): string {
  const first = frame.nodes[at * step] ?? '';
  const last = frame.nodes[Math.min((at + 1) * step, frame.nodes.length) - 1] ?? '';
  return step === 1 || first === last ? first : `${first} … ${last}`;
}

// Undefined: no point with the cell's own figure is kept.
async function figureUnder(frame: MatrixFrame, cell: Cell): Promise<PairFigure | undefined> {
  const [from, to] = [frame.nodes[cell.row], frame.nodes[cell.column]];
  const run = runOf(frame, cell.ageDays);
  if (run === undefined || cell.value === null) return undefined;
  const { points } = await get<{ points: ResultPoint[] }>('points/pair', askFor(frame, run, from, to));
  const found = pointOf(frame, from, to, cell.value, points);
  return found && figureOf(found);
}

const kNotKept = 'no interval is kept of this figure';

export function Under({ frame, cell, isByKey }: { frame: MatrixFrame; cell: Cell | undefined; isByKey: boolean }) {
  const [more, setMore] = useState<{ key: string; figure?: PairFigure; error?: string }>();
  const key = cell && cell.step === 1 && cell.value !== null ? `${cell.row} ${cell.column} ${cell.value}` : '';
  useEffect(() => {
    setMore(undefined);
    if (!key || !cell) return;
    let isOld = false;
    const timer = setTimeout(() => {
      figureUnder(frame, cell).then(
        (found) => !isOld && setMore({ key, figure: found }),
        (cause) => !isOld && setMore({ key, error: words(cause) }),
      );
    }, kHoverMs);
    return () => {
      isOld = true;
      clearTimeout(timer);
    };
  }, [key, frame]);
  if (!cell)
    return (
      <p class="quiet under">
        Point at a cell; a click looks closer, then pins the pair. Shift and a drag choose a block. Keys: arrows walk along cells, Enter looks closer or pins, Shift and arrows move the
        picture, +, −, 0, b for the block in view.
      </p>
    );
  const read = more?.key === key ? more : undefined;
  const found = read?.figure;
  const interval = () => {
    if (cell.step > 1 || cell.value === null) return '–';
    if (read === undefined) return '…';
    if (read.error !== undefined) return read.error;
    return found?.low !== undefined && found.high !== undefined ? `${figure(found.low, frame.unit)} to ${figure(found.high, frame.unit)}` : kNotKept;
  };
  return (
    <div class="under" aria-live={isByKey ? 'polite' : 'off'}>
      <Facts
        rows={[
          ['From', <Name text={range(frame, cell.row, cell.step)} />],
          ['To', <Name text={range(frame, cell.column, cell.step)} />],
          [cell.step === 1 ? 'Figure' : `Worst of ${cell.step * cell.step} pairs`, !cell.isRead ? 'being read' : cell.value === null ? 'not tested' : figure(cell.value, frame.unit)],
          ['Of expected', percent(cell.share)],
          ['Not tested', cell.step === 1 ? (cell.untested ? 'yes' : 'no') : `${cell.untested} pairs`],
          ['95 % interval', interval()],
          ['n', found?.n ?? '–'],
          ['Path used', found?.path ? <Name text={found.path} /> : '–'],
          ['Counters grown', found === undefined ? '–' : <Name text={found.counters || 'none'} />],
          ...(frame.runs.length > 1 ? [['Run', found?.run ? <To path={['runs', found.run]}>{found.run}</To> : '–'] as [string, preact.ComponentChildren]] : []),
        ]}
      />
    </div>
  );
}

// The worst cells of what is seen, as a table: the picture's twin. `look` goes to a cell of several
// pairs, so that the table then has those; `pin` opens one pair.
export function WorstPairs({ frame, seenAt, read, look, pin }: {
  frame: MatrixFrame;
  seenAt: string; // changes with what is seen
  read: () => Promise<MatrixTile>;
  look: (cell: WorstCell) => void;
  pin: (cell: Cell) => void;
}) {
  const [isOpen, setOpen] = useState(false);
  const [list, setList] = useState<{ cells?: WorstCell[]; step?: number; error?: string }>({});
  useEffect(() => {
    if (!isOpen) return;
    let isOld = false;
    read().then(
      (tile) => !isOld && setList({ cells: worstCells(frame, tile, kWorst), step: tile.step }),
      (cause) => !isOld && setList({ error: words(cause) }),
    );
    return () => {
      isOld = true;
    };
  }, [isOpen, frame, seenAt]);
  const step = list.step ?? 1;
  return (
    <details id="pairs" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>The same as a table: the worst pairs of what is seen</summary>
      {list.error && <p class="error" role="alert">{list.error}</p>}
      {isOpen && !list.cells && !list.error && <p class="quiet">Reading …</p>}
      {list.cells && (
        <>
          {step > 1 && <p class="quiet">A row is the worst of {step * step} pairs: `closer` shows those alone.</p>}
          <Table
            caption="pairs, the worst first"
            rows={list.cells}
            none="No pair of what is seen was tested."
            columns={[
              { head: 'From', cell: (row) => <Name text={range(frame, row.row, row.step)} /> },
              { head: 'To', cell: (row) => <Name text={range(frame, row.column, row.step)} /> },
              { head: step > 1 ? 'Worst' : 'Figure', cell: (row) => figure(row.value, frame.unit), right: true },
              { head: 'Of expected', cell: (row) => percent(row.share), right: true },
              ...(step > 1 ? [{ head: 'Not tested', cell: (row: WorstCell) => row.untested, right: true }] : []),
              {
                head: '',
                cell: (row) => {
                  const name = `${range(frame, row.row, row.step)} to ${range(frame, row.column, row.step)}`;
                  return row.step > 1 ? (
                    <button type="button" aria-label={`closer: ${name}`} onClick={() => look(row)}>closer</button>
                  ) : (
                    <button type="button" aria-label={`pin: ${name}`} onClick={() => pin({ ...row, ageDays: null, isRead: true })}>pin</button>
                  );
                },
              },
            ]}
          />
        </>
      )}
    </details>
  );
}
