// The inbox of findings without its drawing: what a filter leaves, and which findings are one group.
import { percent } from './format';
import type { Finding } from '../api/types';

export const kSettled = ['accepted', 'fixed', 'rolled_back', 'false'];
// Somebody looks after the finding, or after its cause.
const kCared = ['acknowledged', 'investigating', 'downstream'];
export const isSettled = (finding: Finding) => kSettled.includes(finding.state);
export const isCared = (finding: Finding) => kCared.includes(finding.state);

// A finding in a line, for a dialog that changes it.
export const lineOf = (finding: Pick<Finding, 'summary' | 'suspect'>) => (finding.summary.includes(finding.suspect) ? finding.summary : `${finding.summary}: ${finding.suspect}`);

export interface Filter {
  side: string; // "worse", "better"; "" is both
  text: string;
  tag: string; // "" is any
}

export function fits(finding: Finding, { side, text, tag }: Filter): boolean {
  if (tag && !finding.tags.includes(tag)) return false;
  const worse = finding.worse_percent;
  if (side === 'worse' && worse !== null && worse < 0) return false;
  if (side === 'better' && (worse === null || worse >= 0)) return false;
  const all = [finding.finding_id, finding.kind, finding.summary, finding.suspect, finding.owner ?? '', finding.metric ?? '', ...finding.tags].join(' ');
  return all.toLowerCase().includes(text.toLowerCase());
}

// Every tag of the findings, by name.
export const tagsOf = (findings: Finding[]) => [...new Set(findings.flatMap((one) => one.tags))].sort();

// The confidence without more digits than it has: of 99.96 it is "> 99.9 %".
export function confidence(percent: number | null): string {
  if (percent === null) return '–';
  if (percent > 99.9) return '> 99.9 %';
  return `${percent.toFixed(percent >= 99 ? 1 : 0)} %`;
}

// How many settled findings nobody called a false alarm, by the numbers of each of kSettled. `most`: lists end there.
export function precisionWords(counts: number[], most: number): string {
  const all = counts.reduce((sum, count) => sum + count, 0);
  const wrong = counts[kSettled.indexOf('false')];
  if (all === 0) return 'No finding is settled yet.';
  const newest = counts.some((count) => count >= most) ? `, of each state the newest ${most}` : '';
  return `${all - wrong} of ${all} settled findings were no false alarms${newest}: ${percent(1 - wrong / all)}.`;
}

export interface Group {
  event: string;
  members: Finding[];
}
export const idsOf = (group: Group) => group.members.map((one) => one.finding_id);

// Findings that began together, the largest group first.
export function groupsOf(findings: Finding[]): Group[] {
  const groups = new Map<string, Group>();
  for (const finding of findings) {
    const event = finding.event_id ?? finding.finding_id;
    const group = groups.get(event) ?? { event, members: [] };
    group.members.push(finding);
    groups.set(event, group);
  }
  return [...groups.values()].sort((a, b) => b.members.length - a.members.length);
}

// How many of `ids` are chosen: none, some or all, as a master checkbox shows it.
export function masterOf(ids: string[], chosen: string[]): 'none' | 'some' | 'all' {
  const count = ids.filter((id) => chosen.includes(id)).length;
  return count === 0 ? 'none' : count === ids.length ? 'all' : 'some';
}
