// The fields of the interface's messages that the pages use; controller/api/*.proto has them all.

// A port of a NIC, as its agent reports it.
export interface Nic {
  device: string;
  port: number;
  pci_address?: string;
  netdev?: string;
  link_layer?: string;
  rate_gbps?: number;
  state?: string;
  firmware?: string;
}
// A node with all that is known of it.
export interface NodeInfo {
  name: string;
  node_id: string;
  state: string;
  version: string;
  address: string;
  attached_at: string | null;
  last_seen_at: string | null;
  busy: boolean | null;
  busy_reasons: string[];
  pause?: { reason: string; who: string; since_at: string; until_at: string } | null;
  labels: Record<string, string>;
  nics: Record<string, unknown>[];
  gpus: Record<string, unknown>[];
  facts: Record<string, string>;
  stack_versions: Record<string, string>;
  stack_settings: Record<string, string>;
  stack_hash: string;
}
// One of a page of nodes, in few words.
export interface NodeHead {
  name: string;
  state: string;
  last_seen_at: string | null;
  busy: boolean | null;
  busy_reasons: string[];
  nics: number;
  nics_active: number;
  gpus: number;
  gpus_active: number;
  stack_hash: string;
  labels: Record<string, string>;
  pause?: NodeInfo['pause'];
}
// A page of nodes by name, and counts of all nodes.
export interface NodeHeads {
  nodes: NodeHead[];
  next_after: string | null;
  total: number;
  attached: number;
  busy: number;
  paused: number;
  matching: number;
}
// Results of the checks of nodes; a remedy has a line for each command.
export interface PreflightReport {
  nodes: { node: string; state: string; checked_at: string | null; error: string }[];
  checks: { node: string; id: string; title: string; subject: string; state: string; observed: string; source: string; why: string; remedy: string[] }[];
  pairs: { node: string; gpu: string; nic: string; distance: string; answer: string; path: string; because: string; remedy: string[] }[];
}
// Events, the newest first.
export interface EventList {
  events: { event_id: number; at: string; kind: string; node: string | null; run_id: string | null; text: string }[];
}
// The report of the site in sections; `mood` is "plain", "good", "bad" or "doubtful".
export interface ReportPage {
  title: string;
  subtitle: string;
  verdict: string;
  mood: string;
  headline: string;
  sections: {
    title: string;
    summary: string;
    entries: { mark: string; mood: string; head: string; text: string; before_levels: number[]; after_levels: number[] }[];
    left: number;
  }[];
  next: string[];
  next_left: number;
  markdown: string;
}
// A run; its outcome is null until it has ended.
export interface RunSummary {
  run_id: string;
  suite: string;
  state: string;
  outcome: string | null;
  reason: string | null;
  trigger: string;
  requested_by: string;
  created_at: string;
  started_at: string | null;
  ended_at: string | null;
  tasks_total: number;
  tasks_ended: number;
  outcomes: Record<string, number>;
  nodes: string[];
  judged_at: string | null;
  left_out: string[];
}
// One state of a run under way; its nodes are in some of them only.
export interface RunEvent {
  run: RunSummary;
  task_id: string;
  text: string;
  progress: {
    round: number;
    rounds_total: number;
    failures: number;
    waiting_again: number;
    seconds_left: number | null;
    held_by: string | null;
  } | null;
}
// A suite of the controller's folder; one with an error cannot be started.
export interface SuiteInfo {
  name: string;
  summary: string;
  error: string;
}
// A task of a run, with its last attempt.
export interface TaskDetail {
  task_id: string;
  stage: number;
  round: number;
  kernel: string;
  endpoints: string[];
  state: string;
  outcome: string | null;
  reason: string | null;
  attempts: number;
}
// A series of a finding, with its levels before and after.
export interface FindingSeries {
  series_id: number;
  name: string;
  unit: string;
  before: number | null;
  after: number | null;
}
// A run that was started for a finding: its own series, or a control on pairs that it does not touch.
export interface FindingRun {
  run_id: string;
  kind: string;
  at: string;
  who: string;
  state: string;
  reason: string;
  worse_percent: number | null;
  figures: number;
}
// A change or fault that the analysis reports. Levels are relative to the one before.
// The word of the controller for its data, of an answer as a whole. Absent: it was measured.
export type DataKind = 'synthetic' | 'unknown';

export interface Finding {
  data_kind?: DataKind; // where it is the whole answer
  finding_id: string;
  kind: string;
  state: string;
  severity: string;
  summary: string;
  suspect: string;
  worse_percent: number | null;
  opened_at: string;
  changed_at: string;
  acknowledged_until: string | null;
  owner: string | null;
  tags: string[];
  caused_by: string | null;
  metric: string | null;
  noise: string | null; // "ok", "modal", "outliers", "skewed"
  confidence_percent: number | null;
  confirmation: string | null; // "planned", "running", "confirmed", "failed"
  runs: FindingRun[]; // where one finding is asked for
  run_id: string | null;
  upgrade_id: string | null;
  node_id: string | null;
  series: FindingSeries[];
  steps: { at: string; who: string; action: string; text: string }[];
  good_at: string | null;
  since: string | null;
  since_judged: string | null;
  begin_from: string | null;
  begin_until: string | null;
  before_levels: number[];
  after_levels: number[];
  differences: UpgradeCause[];
  causes: string[];
  excluded: string[];
  next: string[];
  event_id: string | null;
  same_event: string[];
  common: string[];
}
// Findings, and how many figures that were measured twice differ: false alarms, measured.
export interface FindingList {
  data_kind?: DataKind;
  findings: Finding[];
  measured_twice: number | null;
  measured_twice_apart: number | null;
}
// The identity of a point over time.
export interface Series {
  series_id: number;
  kernel: string;
  revision: number;
  metric: string;
  meaning: string;
  unit: string;
  larger_is_better: boolean;
  message_bytes: number;
  endpoints: string[];
  pair: string;
  rank?: number;
  parameters: Record<string, string>;
}
// A figure of a series, in the series' unit; `headline` is the one that is judged.
export interface HistoryPoint {
  measured_at: string;
  run_id: string;
  outcome: string | null;
  headline: number;
  median: number;
  median_low: number | null;
  median_high: number | null;
  rate_low: number | null;
  rate_high: number | null;
  p99: number | null;
  sample_count: number;
  converged: boolean;
  synthetic: boolean;
  throttled: boolean;
  epoch: number | null;
}
// The points of a series as lists with an element a point; runs and stacks are stretches of points.
export interface SeriesColumns {
  series: Series;
  first_unix_ms: number;
  steps_ms: number[]; // from the point before
  headlines: (number | null)[];
  lows: (number | null)[];
  highs: (number | null)[];
  run_ids: string[];
  points_of_run: number[];
  epochs: number[]; // 0: not known
  points_of_epoch: number[];
  synthetic: boolean;
}
// A series with its points, the oldest first, or with columns in their place.
export interface History {
  series: Series;
  points: HistoryPoint[];
  columns?: Omit<SeriesColumns, 'series'>;
}
// A change; indices count the points of the history, from 0.
export interface SeriesChange {
  index: number;
  index_first: number;
  index_last: number;
  kind: string;
  before: number;
  after: number;
  effect_percent: number | null;
  effect_low_percent: number | null;
  effect_high_percent: number | null;
  worse: boolean | null;
}
// All that the detector finds in a series.
export interface SeriesChanges {
  too_few: boolean;
  noise_percent: number | null;
  changes: SeriesChange[];
  spikes: { index: number; value: number; expected: number }[];
  first_at?: string | null; // of the point with index 0
  first?: number; // the place of that point in a longer history
  // Marks that a page adds to a chart by date: times of maintenance, and a begin with a line.
  pauses?: { node: string; from: number; until: number }[];
  begin?: string;
  aa?: { first: number; last: number; low: number; high: number }[];
}
// A pair matrix without its figures. Shares are a figure over what is expected of it.
export interface MatrixFrame {
  run_id: string;
  against: string | null;
  kernel: string;
  metric: string;
  meaning: string;
  unit: string;
  message_bytes: number;
  larger_is_better: boolean;
  rail: number;
  memory: string;
  synthetic: boolean;
  order: string;
  nodes: string[];
  leaves: string[];
  sent_of_expected: (number | null)[];
  received_of_expected: (number | null)[];
  measured_pairs: number;
  untested_pairs: number;
  expected_within_leaf: number | null;
  expected_across_leaves: number | null;
  other_layers: string[];
  other_series: string[];
  steps: number[];
  scatter_share: number | null;
  runs: { run_id: string; ended_at: string; age_days: number }[];
  pods: string[]; // of an order by pod or slot alone, as the next one
  slots: string[];
}
// A rectangle of cells, each of step x step pairs, with the worst of them.
export interface MatrixTile {
  step: number;
  row: number;
  column: number;
  rows: number;
  columns: number;
  values: (number | null)[];
  of_expected: (number | null)[];
  untested: number[];
  age_days: (number | null)[];
}
// A part of the fabric that explains slow pairs.
export interface Suspect {
  place: number;
  name: string;
  kind: string;
  direction: string;
  node: string | null;
  other_node: string | null;
  leaf: string | null;
  rail: number | null;
  memory: string;
  confirmed: boolean;
  drop_share: number;
  tasks: number;
  slow_tasks: number;
  expected: number;
  seen: number;
  ruled_out: string[];
  sentence: string;
  evidence: { from: string; to: string; rail: number; memory: string; expected: number; seen: number }[];
  retest: string;
  retest_answer: string;
}
// The suspects of a run, the worst first.
export interface SuspectList {
  run_id: string;
  kernel: string;
  metric: string;
  unit: string;
  message_bytes: number;
  measured_pairs: number;
  possible_pairs: number;
  unmeasured_nodes: string[];
  synthetic: boolean;
  suspects: Suspect[];
}
// A metric of an upgrade; losses in percent, positive is worse.
export interface JudgedMetric {
  name: string;
  verdict: string;
  worse_percent: number;
  low_percent: number | null;
  high_percent: number | null;
  bound_percent: number;
  changed_nodes: number;
  control_nodes: number;
  coverage: number;
  reason: string | null;
  places: { node: string; endpoint: string; worse_percent: number; low_percent: number; high_percent: number }[];
}
// Changes that came together; numbers are of nodes. `needs` is "reboot", "drain", "jobs" or "unknown".
export interface UpgradeCause {
  changes: string[];
  exposed: number;
  exposed_worse: number;
  unexposed: number;
  unexposed_worse: number;
  p: number;
  explains: boolean;
  undos: { change: string; node: string; needs: string }[];
}
// A row of the audit trail.
export interface AuditList {
  entries: {
    at: string;
    who: string;
    role: string;
    address: string | null;
    rpc: string;
    subject: string | null;
    outcome: string;
    reason: string | null;
    refused: boolean;
    count: number;
  }[];
}
// Both sides of an upgrade, and its verdict.
export interface Upgrade {
  data_kind?: DataKind; // where it is the whole answer
  upgrade_id: string;
  state: string;
  verdict: string | null;
  kind: string | null;
  reason: string | null;
  suite: string;
  requested_by: string;
  created_at: string;
  judged_at: string | null;
  nodes: string[];
  controls: string[];
  before_runs: string[];
  after_runs: string[];
  since: string | null;
  metrics: JudgedMetric[];
  lost: { node: string; endpoint: string; name: string; kind: string; what: string }[];
  causes: UpgradeCause[];
  excluded: string[];
  notes: string[];
  next: string[];
  before_levels: number[];
  after_levels: number[];
  finding_id: string | null;
  synthetic: boolean;
  certificate_digest: string | null;
}
// A due time of a schedule: "started", "skipped", "missed" or "by_hand".
export interface Due {
  due_at: string;
  result: string;
  run_id: string | null;
  reason: string | null;
}
// A suite that starts by itself; its due times where it was asked for by name.
export interface ScheduleInfo {
  name: string;
  suite: string;
  state: string;
  error: string | null;
  cron: string;
  zone: string;
  next_at: string | null;
  last: { due_at: string; result: string; run_id: string | null } | null;
  missed: number;
  node_set: string;
  windows: string;
  blackouts: string;
  dues: Due[];
}
// A stored point with the facts of its task.
export interface ResultPoint {
  run_id: string;
  task_id: string;
  kernel: string;
  endpoints: string[];
  measured_at: string;
  outcome: string | null;
  point: Record<string, unknown>;
  parameters: Record<string, string>;
  facts: Record<string, string>; // of rank 0
}
// Whom the console knows, and until when.
export interface Session {
  who: string;
  role: string;
  read_only: boolean;
  ends_at: string | null;
  version: string;
  archive_lag_seconds: number | null; // of the oldest change that the archive lacks; null: there is no archive
  now: string; // by the controller's clock
  data_kind?: DataKind;
}
