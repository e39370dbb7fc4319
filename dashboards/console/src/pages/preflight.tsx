// Whether a node is fit to be measured, and what mends it.
import { useState } from 'preact/hooks';
import { Act } from '../parts/actions';
import { part, post, useMay } from '../api/api';
import { Command, Name, State, Table } from '../parts/parts';
import type { PreflightReport } from '../api/types';

const kOrder = ['fail', 'error', 'unknown', 'warn', 'waived', 'pass'];
const place = (state: string) => (kOrder.indexOf(state) + kOrder.length) % kOrder.length;

type Check = PreflightReport['checks'][0];

// Commands for the operator, one a line; lines that begin with "#" are words.
function Remedy({ lines }: { lines: string[] }) {
  return <>{lines.map((line) => <div>{line.startsWith('#') ? <Name text={line.slice(1).trim()} /> : <Command text={line} />}</div>)}</>;
}

function Checks({ rows, caption }: { rows: Check[]; caption: string }) {
  return (
    <Table
      caption={caption}
      rows={[...rows].sort((a, b) => place(a.state) - place(b.state))}
      columns={[
        { head: 'State', cell: (row) => <State word={row.state} /> },
        { head: 'Check', cell: (row) => <Name text={`${row.title}${row.subject ? ` (${row.subject})` : ''}`} /> },
        { head: 'Observed', cell: (row) => <Name text={row.observed} /> },
        { head: 'Why it matters', cell: (row) => <Name text={row.why} /> },
        { head: 'Remedy', cell: (row) => <Remedy lines={row.remedy} /> },
      ]}
    />
  );
}

function Answer({ report }: { report: PreflightReport }) {
  const bad = report.checks.filter((check) => check.state !== 'pass' && check.state !== 'waived');
  const good = report.checks.filter((check) => !bad.includes(check));
  return (
    <>
      {report.nodes.map((node) => (
        <p>
          <State word={node.state} /> {node.error ? <Name text={node.error} /> : `${bad.length} of ${report.checks.length} checks need a look`}
        </p>
      ))}
      {bad.length > 0 && <Checks rows={bad} caption="checks that need a look, the worst first" />}
      {report.pairs.length > 0 && (
        <Table
          caption="GPUDirect, each GPU with its nearest NICs"
          rows={report.pairs}
          columns={[
            { head: 'GPUDirect', cell: (row) => <State word={row.answer} /> },
            { head: 'GPU', cell: (row) => <Name text={row.gpu} /> },
            { head: 'NIC', cell: (row) => <Name text={`${row.nic} (${row.distance})`} /> },
            { head: 'By', cell: (row) => <Name text={row.path || row.because} /> },
            { head: 'Remedy', cell: (row) => <Remedy lines={row.remedy} /> },
          ]}
        />
      )}
      {good.length > 0 && (
        <details>
          <summary>{good.length} checks passed or do not apply</summary>
          <Checks rows={good} caption="checks that passed or do not apply" />
        </details>
      )}
    </>
  );
}

export function Preflight({ name }: { name: string }) {
  const [report, setReport] = useState<PreflightReport>();
  const may = useMay('Control.RunPreflight');
  return (
    <section id="preflight">
      <h2>Preflight</h2>
      <p class="links">
        <Act
          call="Control.RunPreflight"
          label="Check it now"
          question={() => ({
            title: `Preflight of ${name}`,
            text: 'Its agent reads the settings that RDMA and GPUDirect need. Nothing is changed.',
            verb: 'Check',
            send: async () => setReport(await post<PreflightReport>(`nodes/${part(name)}/preflight`, {})),
          })}
        />
        {!may && <Command text={`railgauge preflight ${name}`} />}
      </p>
      {report && <Answer report={report} />}
    </section>
  );
}
