// Buttons that change something: each asks first, in a dialog with the words and fields of the call.
// Visitors who may not make the call have no button.
import { useEffect, useRef, useState } from 'preact/hooks';
import { get, part, post, useApi, useMay, words } from '../api/api';
import { now } from './clock';
import { duration, foldNames } from './format';
import { Name } from './parts';
import type { NodeInfo, RunSummary, SuiteInfo } from '../api/types';

export interface Field {
  name: string;
  label: string;
  value?: string;
  choices?: [string, string][];
  isNeeded?: boolean;
}
export type Given = Record<string, string>;

interface Question {
  title: string;
  text: string;
  about?: string[]; // a line for each thing that it changes
  verb: string;
  fields?: Field[];
  // Says something about what is given so far, "12 nodes, 132 tasks".
  preview?: (given: Given) => Promise<string>;
  send: (given: Given) => Promise<unknown>;
}

function Entry({ field, given, set }: { field: Field; given: Given; set: (value: string) => void }) {
  const value = given[field.name];
  return (
    <label>
      {field.label}{' '}
      {field.choices ? (
        <select name={field.name} value={value} onChange={(event) => set(event.currentTarget.value)}>
          {field.choices.map(([key, text]) => <option value={key}>{text}</option>)}
        </select>
      ) : (
        <input name={field.name} type="text" value={value} required={field.isNeeded} onInput={(event) => set(event.currentTarget.value)} />
      )}
    </label>
  );
}

const kPreviewMs = 400;

function Ask({ question, close }: { question: Question; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const fields = question.fields ?? [];
  const [given, setGiven] = useState<Given>(() => Object.fromEntries(fields.map((one) => [one.name, one.value ?? one.choices?.[0]?.[0] ?? ''])));
  const [state, setState] = useState<{ isSending?: boolean; error?: string; seen?: string }>({});
  useEffect(() => dialog.current?.showModal(), []);
  const key = JSON.stringify(given);
  useEffect(() => {
    if (!question.preview) return;
    let isOld = false;
    const timer = setTimeout(() => {
      question.preview!(given).then(
        (seen) => !isOld && setState((old) => ({ ...old, seen })),
        (cause) => !isOld && setState((old) => ({ ...old, seen: words(cause) })),
      );
    }, kPreviewMs);
    return () => {
      isOld = true;
      clearTimeout(timer);
    };
  }, [key]);
  const send = (event: Event) => {
    event.preventDefault();
    if (state.isSending) return;
    setState((old) => ({ ...old, isSending: true, error: undefined }));
    question.send(given).then(close, (cause) => setState((old) => ({ ...old, isSending: false, error: words(cause) })));
  };
  return (
    <dialog class="ask" ref={dialog} onClose={close} aria-label={question.title}>
      <form onSubmit={send}>
        <h2><Name text={question.title} /></h2>
        {question.about && <ul class="plain about">{question.about.map((line) => <li><Name text={line} /></li>)}</ul>}
        <p><Name text={question.text} /></p>
        {fields.map((field) => <Entry field={field} given={given} set={(value) => setGiven({ ...given, [field.name]: value })} />)}
        {question.preview && <p class="quiet" role="status"><Name text={state.seen ?? '…'} /></p>}
        {state.error && <p class="error" role="alert"><Name text={state.error} /></p>}
        <p class="bar">
          <button type="submit" disabled={state.isSending}>{question.verb}</button>
          <button type="button" onClick={close}>Do nothing</button>
        </p>
      </form>
    </dialog>
  );
}

// `keyName`: the key of the keyboard that presses it. `name`: in words, for a label that is a sign.
export function Act({ call, label, name, keyName, question }: { call: string; label: string; name?: string; keyName?: string; question: () => Question }) {
  const may = useMay(call);
  const [asked, setAsked] = useState<Question>();
  const button = useRef<HTMLButtonElement>(null);
  if (!may) return null;
  const close = () => {
    setAsked(undefined);
    button.current?.focus();
  };
  return (
    <span class="act noprint" data-key={keyName}>
      <button type="button" data-act="" aria-label={name} ref={button} onClick={() => setAsked(question())}>{label}</button>
      {asked && <Ask question={asked} close={close} />}
    </span>
  );
}

// --- findings ------------------------------------------------------------------------------------

const kNote: Field = { name: 'text', label: 'Note' };
const kHour = 3600;
const kTimes: [string, string][] = [
  [String(kHour), '1 hour'], [String(8 * kHour), '8 hours'], [String(24 * kHour), '1 day'], [String(7 * 24 * kHour), '7 days'], [String(30 * 24 * kHour), '30 days'],
];

const kSteps: Record<string, { label: string; text: string; verb: string; key?: string }> = {
  ack: { label: 'acknowledge', text: 'Somebody looks after it. With a time it opens again then.', verb: 'Acknowledge', key: 'a' },
  dismiss: { label: 'false alarm', text: 'It was none: it counts as a false alarm.', verb: 'Mark as false', key: 'i' },
  accept: { label: 'accept', text: 'The new level is the baseline from now on: later losses count from there.', verb: 'Accept the new level' },
  resolve: { label: 'fixed', text: 'Its cause is mended.', verb: 'Mark as fixed' },
  comment: { label: 'note', text: 'It stays as it is.', verb: 'Add the note' },
  reopen: { label: 'reopen', text: 'It is open again.', verb: 'Reopen' },
  investigate: { label: 'investigate', text: 'Somebody looks for its cause. It opens again where it gets worse.', verb: 'Mark as investigated' },
  roll_back: { label: 'rolled back', text: 'Its cause was taken back, not mended. Seen again, it opens again.', verb: 'Mark as rolled back' },
  downstream: { label: 'downstream of', text: 'It is the effect of another finding or cause. It opens again where it gets worse, or is seen after that finding has ended.', verb: 'Mark as an effect' },
  reset: { label: 'reset', text: 'The state that a person set is undone: it is open as runs alone have it. A level that was accepted with it is no baseline any more.', verb: 'Reset' },
  tag: { label: 'tag', text: 'A tag is one word: letters, digits and . _ - : / are.', verb: 'Add the tag' },
  untag: { label: 'remove a tag', text: 'It is in the history all the same.', verb: 'Remove the tag' },
  assign: { label: 'assign', text: 'Its owner looks after it. Without a name nobody does.', verb: 'Assign' },
};

function textOf(action: string, owner: string | undefined, tags: string[]): Field {
  switch (action) {
    case 'comment': return { ...kNote, isNeeded: true };
    case 'assign': return { ...kNote, label: 'Owner', value: owner };
    case 'downstream': return { ...kNote, label: 'Cause: the id of a finding, or words', isNeeded: true };
    case 'tag': return { ...kNote, label: 'Tag', isNeeded: true };
    case 'untag': return { ...kNote, label: 'Tag', choices: tags.map((tag) => [tag, tag]) };
    default: return kNote;
  }
}

const kNamed = 5; // findings that a dialog names

// Several findings are done one after the other: those before an error stay done. `about`: what each
// of them is, for the dialog.
export function Step({ ids, about, action, isKey, owner, tags }: {
  ids: string[];
  about: string[];
  action: keyof typeof kSteps;
  isKey?: boolean;
  owner?: string;
  tags?: string[];
}) {
  const step = kSteps[action];
  const note = textOf(action, owner, tags ?? []);
  const fields = action === 'ack' ? [note, { name: 'seconds', label: 'For', choices: [['', 'until somebody ends it'] as [string, string], ...kTimes] }] : [note];
  return (
    <Act
      call="Judge.StepFinding"
      label={step.label}
      keyName={isKey ? step.key : undefined}
      question={() => ({
        title: `${step.verb}: ${ids.length === 1 ? ids[0] : `${ids.length} findings`}`,
        text: step.text,
        about: about.length > kNamed ? [...about.slice(0, kNamed), `and ${about.length - kNamed} more`] : about,
        verb: step.verb,
        fields,
        send: async ({ text, seconds }) => {
          if (seconds) await get('session'); // it sets the clock
          const until = seconds ? { until_unix_seconds: now() / 1000 + Number(seconds) } : {};
          for (const id of ids) await post(`findings/${part(id)}/steps`, { action, text, ...until });
        },
      })}
    />
  );
}

// Starts a run for a finding: of its own series, or as a control.
export function MeasureAgain({ id, kind }: { id: string; kind: 'rerun' | 'control' }) {
  const isControl = kind === 'control';
  return (
    <Act
      call="Judge.MeasureFinding"
      label={isControl ? 'add a control' : 'measure again'}
      question={() => ({
        title: `${isControl ? 'Add a control' : 'Measure again'}: ${id}`,
        text: isControl
          ? 'The same is measured among idle nodes of the same hardware that have no open finding and whose stack has not changed since it began. Where they got worse as well, the cause is not its own.'
          : 'Its own series are measured again. Most of them with half of its loss or more confirm it.',
        verb: isControl ? 'Measure the control' : 'Measure again',
        send: () => post(`findings/${part(id)}/runs`, { kind }),
      })}
    />
  );
}

// --- runs ----------------------------------------------------------------------------------------

interface RunPlan {
  suite: string;
  nodes: string[];
  rounds: number;
  tasks_total: number;
  expected_seconds: number;
  notes: string[];
}

async function planOf({ suite, nodes }: Given): Promise<string> {
  const plan = await get<RunPlan>('plan', { name: suite, node_set: nodes });
  const whom = nodes ? '' : 'ALL ';
  return `${whom}${plan.nodes.length} nodes, ${plan.tasks_total} tasks in ${plan.rounds} rounds, about ${duration(plan.expected_seconds)}`;
}

// Starts a suite; `suite` and `nodes` are what is asked at first. `more`: said in the dialog besides.
export function StartRun({ label, suite, nodes, more }: { label: string; suite?: string; nodes?: string[]; more?: string }) {
  const list = useApi<{ suites: SuiteInfo[] }>(useMay('Control.StartRun') ? 'suites' : undefined);
  const suites = (list.data?.suites ?? []).filter((one) => !one.error);
  const known = suites.some((one) => one.name === suite) ? suite : suites.some((one) => one.name === 'quick') ? 'quick' : undefined;
  if (!list.data) return null;
  return (
    <Act
      call="Control.StartRun"
      label={label}
      question={() => ({
        title: label,
        text: `${more ? `${more} ` : ''}It measures as soon as its nodes are free. Busy nodes are left out, unless a reason says otherwise.`,
        verb: 'Start the run',
        fields: [
          { name: 'suite', label: 'Suite', value: known, choices: suites.map((one) => [one.name, `${one.name}: ${one.summary}`]) },
          { name: 'nodes', label: 'Nodes (empty: all that are attached)', value: foldNames(nodes ?? []) },
          { name: 'why', label: 'Reason to use busy nodes too' },
        ],
        preview: planOf,
        send: async ({ suite: name, nodes: node_set, why }) => {
          const run = await post<RunSummary>('runs', {
            suite: { name }, node_set, ...(why ? { force: true, force_reason: why } : {}),
          });
          location.hash = `#/runs/${part(run.run_id)}`;
        },
      })}
    />
  );
}

export function CancelRun({ id }: { id: string }) {
  return (
    <Act
      call="Control.CancelRun"
      label="Cancel this run"
      question={() => ({
        title: `Cancel run ${id}`,
        text: 'Its tasks under way end. What it has measured stays.',
        verb: 'Cancel the run',
        send: () => post(`runs/${part(id)}/cancel`, {}),
      })}
    />
  );
}

// --- nodes and schedules -------------------------------------------------------------------------

export function Maintenance({ node }: { node: NodeInfo }) {
  if (node.pause)
    return (
      <Act
        call="Control.ResumeNodes"
        label="End its maintenance"
        question={() => ({
          title: `Resume ${node.name}`,
          text: 'Runs may use it again from now on.',
          verb: 'Resume',
          send: () => post(`nodes/${part(node.name)}/resume`, {}),
        })}
      />
    );
  return (
    <Act
      call="Control.PauseNodes"
      label="Pause for maintenance"
      question={() => ({
        title: `Pause ${node.name}`,
        text: 'Until then runs leave it out, and no finding about it opens or ends.',
        verb: 'Pause',
        fields: [{ name: 'reason', label: 'Reason, for everybody who misses it', isNeeded: true }, { name: 'seconds', label: 'For', choices: kTimes }],
        send: ({ reason, seconds }) => post(`nodes/${part(node.name)}/pause`, { reason, for_seconds: Number(seconds) }),
      })}
    />
  );
}

export function ScheduleActs({ name, state }: { name: string; state: string }) {
  const path = `schedules/${part(name)}`;
  const isPaused = state === 'paused';
  return (
    <>
      <Act
        call="Control.RunSchedule"
        label="run now"
        question={() => ({ title: `Run ${name} now`, text: 'Its suite starts now as well, whatever is due.', verb: 'Start it', send: () => post(`${path}/run`, {}) })}
      />{' '}
      <Act
        call={isPaused ? 'Control.ResumeSchedule' : 'Control.PauseSchedule'}
        label={isPaused ? 'resume' : 'pause'}
        question={() => ({
          title: `${isPaused ? 'Resume' : 'Pause'} ${name}`,
          text: isPaused ? 'It starts its suite by itself again.' : 'It starts nothing until it is resumed.',
          verb: isPaused ? 'Resume' : 'Pause',
          send: () => post(`${path}/${isPaused ? 'resume' : 'pause'}`, {}),
        })}
      />
    </>
  );
}
