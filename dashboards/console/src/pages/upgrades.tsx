// The story of an upgrade: before, after, controls and verdict, on a page that prints.
import { useState } from 'preact/hooks';
import { useApi, part } from '../api/api';
import { Differences } from './differences';
import { percent, signed } from '../parts/format';
import { upgradeMarkdown } from '../parts/markdown';
import { Command, Copy, Facts, Levels, Lines, Name, Save, Shown, State, Synthetic, Table, To, When } from '../parts/parts';
import { link } from '../api/route';
import type { Upgrade } from '../api/types';

export function Upgrades() {
  const list = useApi<{ upgrades: Upgrade[] }>('upgrades', { limit: 200 }, 10);
  return (
    <>
      <h1>Upgrades</h1>
      <Shown of={list}>
        {({ upgrades }) => (
          <Table
            caption="upgrades"
            rows={upgrades}
            none="None was gated yet: `railgauge upgrades prepare` measures before one."
            open={(row) => link(row.upgrade_id ? ['upgrades', row.upgrade_id] : ['upgrades'])}
            columns={[
              { head: 'Verdict', cell: (row) => <State word={row.verdict ?? row.state} /> },
              { head: 'Upgrade', cell: (row) => row.upgrade_id && <To path={['upgrades', row.upgrade_id]}>{row.upgrade_id}</To> },
              { head: 'Created', cell: (row) => <When at={row.created_at} /> },
              { head: 'Nodes', cell: (row) => row.nodes.length, right: true },
              { head: 'Why', cell: (row) => <Name text={row.reason ?? ''} /> },
            ]}
          />
        )}
      </Shown>
    </>
  );
}

function Metrics({ upgrade }: { upgrade: Upgrade }) {
  return (
    <Table
      caption="judged metrics, the worst first"
      rows={upgrade.metrics}
      none="No metric is judged yet."
      columns={[
        { head: 'Verdict', cell: (row) => <State word={row.verdict} /> },
        { head: 'Metric', cell: (row) => <Name text={row.name} /> },
        { head: 'Worse', cell: (row) => signed(row.worse_percent), right: true },
        { head: '90 % interval', cell: (row) => `${signed(row.low_percent)} to ${signed(row.high_percent)}`, right: true },
        { head: 'Bound', cell: (row) => `${row.bound_percent} %`, right: true },
        { head: 'Changed, controls', cell: (row) => `${row.changed_nodes}, ${row.control_nodes}`, right: true },
        { head: 'Coverage', cell: (row) => percent(row.coverage, 0), right: true },
        { head: 'Places', cell: (row) => row.places.map((place) => <div><Name text={`${place.node}/${place.endpoint}`} /> {signed(place.worse_percent)}</div>) },
      ]}
    />
  );
}

// The signed text; who gets it checks it with `railgauge verify`.
function Certificate({ upgrade }: { upgrade: Upgrade }) {
  const [isAsked, setAsked] = useState(false);
  const document = useApi<{ text: string; digest: string }>(isAsked ? `certificates/${part(upgrade.upgrade_id)}` : undefined);
  if (!upgrade.certificate_digest) return null;
  return (
    <section>
      <h2>Certificate</h2>
      <p><Name text={upgrade.certificate_digest} /></p>
      <p class="noprint">
        <button type="button" onClick={() => setAsked(true)}>Show its text</button>{' '}
        <Command text={`railgauge certificate ${upgrade.upgrade_id}`} />
      </p>
      {isAsked && (
        <Shown of={document}>
          {(found) => (
            <>
              <pre class="document" tabIndex={0} role="region" aria-label="text of the certificate">{found.text}</pre>
              <Save name={`${upgrade.upgrade_id}.certificate`} text={() => `${found.text}\n`} label="Save it" />
            </>
          )}
        </Shown>
      )}
    </section>
  );
}

function Runs({ ids }: { ids: string[] }) {
  return (
    <>
      {ids.map((id) => <><To path={['runs', id]}>{id}</To> </>)}
      {ids.length === 0 && '–'}
    </>
  );
}

export function UpgradePage({ id }: { id: string }) {
  const loaded = useApi<Upgrade>(`upgrades/${part(id)}`, {}, 10);
  return (
    <Shown of={loaded}>
      {(upgrade) => (
        <article>
          <h1>Upgrade {upgrade.upgrade_id}</h1>
          <p class="verdict">
            <State word={upgrade.verdict ?? upgrade.state} /> <Name text={upgrade.reason ?? ''} /> <Synthetic is={upgrade.synthetic} />
          </p>
          <p class="noprint">
            <button type="button" onClick={() => print()}>Print, or save as PDF</button>{' '}
            <Copy text={upgradeMarkdown(upgrade, location.href)} label="Copy as Markdown" />{' '}
            <To path={['report']} values={{ upgrade_id: upgrade.upgrade_id }}>Its report</To>
          </p>
          <Facts
            rows={[
              ['Kind', upgrade.kind ?? '–'],
              ['Suite', <Name text={upgrade.suite} />],
              ['Changed nodes', <Name text={upgrade.nodes.join(' ')} />],
              ['Controls', <Name text={upgrade.controls.join(' ') || 'none'} />],
              ['Before', <Runs ids={upgrade.before_runs} />],
              ['After', <Runs ids={upgrade.after_runs} />],
              ['Since', <When at={upgrade.since} />],
              ['Judged', <When at={upgrade.judged_at} />],
              ['Finding', upgrade.finding_id ? <To path={['findings', upgrade.finding_id]}>{upgrade.finding_id}</To> : '–'],
            ]}
          />
          <h2>Before and after</h2>
          <Levels before={upgrade.before_levels} after={upgrade.after_levels} />
          <Metrics upgrade={upgrade} />
          {upgrade.lost.length > 0 && (
            <>
              <h2>Lost function</h2>
              <Table
                caption="lost function"
                rows={upgrade.lost}
                columns={[
                  { head: 'Kind', cell: (row) => <State word={row.kind} /> },
                  { head: 'Node', cell: (row) => <To path={['nodes', row.node]}><Name text={row.node} /></To> },
                  { head: 'What', cell: (row) => <Name text={`${row.name}: ${row.what}`} /> },
                ]}
              />
            </>
          )}
          <h2>Causes</h2>
          <Differences rows={upgrade.causes} caption="causes, the most likely first" none="No change is accused." again={(nodes) => `railgauge upgrades gate --nodes ${nodes}`} />
          <Lines title="Ruled out" rows={upgrade.excluded} />
          <Lines title="Limits of the statement" rows={upgrade.notes} />
          <Lines title="Next steps" rows={upgrade.next} />
          <Certificate upgrade={upgrade} />
        </article>
      )}
    </Shown>
  );
}
