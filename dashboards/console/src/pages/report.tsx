// The report of the last hours, of a run or of an upgrade: what to read in the morning.
import { useApi } from '../api/api';
import { Copy, Levels, Name, Save, Shown } from '../parts/parts';
import { change, type Route } from '../api/route';
import type { ReportPage } from '../api/types';

const kHours: [string, string][] = [['', 'the last day'], ['72', 'three days'], ['168', 'a week'], ['720', '30 days']];
const kSigns: Record<string, string> = { good: '●', bad: '■', doubtful: '▲', plain: '◇' };

// A mood differs in shape as well as in colour.
function Mark({ mood, word }: { mood: string; word: string }) {
  if (!word) return null;
  return (
    <span class={`state ${mood}`}>
      <span aria-hidden="true">{kSigns[mood] ?? '◇'}</span> <Name text={word} />
    </span>
  );
}

function Section({ section }: { section: ReportPage['sections'][0] }) {
  return (
    <section>
      <h2><Name text={section.title} /></h2>
      {section.summary && <p><Name text={section.summary} /></p>}
      <ul class="plain entries">
        {section.entries.map((entry) => (
          <li>
            <Mark mood={entry.mood} word={entry.mark} /> <strong><Name text={entry.head} /></strong>
            {entry.text && <div><Name text={entry.text} /></div>}
            <Levels before={entry.before_levels} after={entry.after_levels} />
          </li>
        ))}
      </ul>
      {section.left > 0 && <p class="quiet">and {section.left} more</p>}
    </section>
  );
}

export function Report({ route }: { route: Route }) {
  const value = (name: string) => route.query.get(name) ?? '';
  const page = useApi<ReportPage>('report', { hours: value('hours'), run_id: value('run_id'), upgrade_id: value('upgrade_id') });
  return (
    <>
      <h1>Report</h1>
      <form class="bar noprint" onSubmit={(event) => event.preventDefault()}>
        <label>
          Of{' '}
          <select
            data-filter=""
            value={value('run_id') || value('upgrade_id') ? 'one' : value('hours')}
            onChange={(event) => change({ hours: event.currentTarget.value, run_id: '', upgrade_id: '' })}
          >
            {(value('run_id') || value('upgrade_id')) && <option value="one">{value('run_id') || value('upgrade_id')}</option>}
            {kHours.map(([hours, words]) => <option value={hours}>{words}</option>)}
          </select>
        </label>
        {page.data && <Copy text={page.data.markdown} label="Copy as Markdown" />}
        {page.data && <Save name="report.md" text={() => page.data!.markdown} label="Save as Markdown" />}
        <button type="button" onClick={() => print()}>Print, or save as PDF</button>
      </form>
      <Shown of={page}>
        {(data) => (
          <article>
            <p class="quiet"><Name text={`${data.title} · ${data.subtitle}`} /></p>
            <p class="verdict">
              <Mark mood={data.mood} word={data.verdict} /> <Name text={data.headline} />
            </p>
            {data.next.length > 0 && (
              <section>
                <h2>Next steps</h2>
                <ol>{data.next.map((step) => <li><Name text={step} /></li>)}</ol>
                {data.next_left > 0 && <p class="quiet">and {data.next_left} more</p>}
              </section>
            )}
            {data.sections.map((section) => <Section section={section} />)}
          </article>
        )}
      </Shown>
    </>
  );
}
