// Summaries for a chat program or a ticket. Names that strangers chose are between back quotes.
import { signed } from './format';
import type { DataKind, Finding, Upgrade } from '../api/types';

const kMostLines = 5;
const code = (text: string) => `\`${text.replace(/[`\r\n]/g, ' ')}\``;

// The words of the controller for its data, as the last lines of a text that leaves the page.
function markOf(kind: DataKind | undefined): string {
  if (kind === undefined) return '';
  return kind === 'synthetic' ? '\n\nSYNTHETIC: of a modelled site' : '\n\nUNKNOWN: this data may be of a modelled site';
}

export function findingMarkdown(finding: Finding, url: string): string {
  const lines = [
    `**${finding.severity} ${finding.kind.replace(/_/g, ' ')}**, ${finding.state}: ${code(finding.summary)}`,
    '',
    `- where: ${code(finding.suspect)}`,
    ...(finding.worse_percent === null ? [] : [`- worse: ${signed(finding.worse_percent)}`]),
    `- since: ${finding.since ?? finding.opened_at}`,
    ...(finding.owner ? [`- owner: ${code(finding.owner)}`] : []),
    ...finding.causes.slice(0, kMostLines).map((cause) => `- changed: ${code(cause)}`),
    ...finding.next.slice(0, kMostLines).map((step) => `- to do: ${code(step)}`),
    '',
    `${finding.finding_id} <${url}>`,
  ];
  return `${lines.join('\n')}${markOf(finding.data_kind)}\n`;
}

// Several of the list, a line each; `kind` is that of the list.
export function findingsMarkdown(findings: Finding[], url: string, kind?: DataKind): string {
  const lines = findings.map((one) => {
    const owner = one.owner ? `, owner ${code(one.owner)}` : '';
    const worse = one.worse_percent === null ? '' : `, ${signed(one.worse_percent)} worse`;
    return `- **${one.severity}** ${one.state}: ${code(one.summary)}${worse}, since ${one.since ?? one.opened_at}${owner} (${one.finding_id})`;
  });
  return `${lines.join('\n')}\n\n<${url}>${markOf(kind)}\n`;
}

export function upgradeMarkdown(upgrade: Upgrade, url: string): string {
  const lines = [
    `**${upgrade.verdict ?? upgrade.state}**${upgrade.reason ? `: ${code(upgrade.reason)}` : ''}`,
    '',
    `- changed nodes: ${upgrade.nodes.length}, controls: ${upgrade.controls.length}`,
    ...upgrade.metrics.slice(0, kMostLines).map((one) => `- ${code(one.name)}: ${one.verdict}, ${signed(one.worse_percent)} worse (90 %: ${signed(one.low_percent)} to ${signed(one.high_percent)})`),
    ...upgrade.causes.slice(0, kMostLines).map((one) => `- changed: ${code(one.changes.join('; '))}: ${one.exposed_worse} of ${one.exposed} with it got worse, ${one.unexposed_worse} of ${one.unexposed} without`),
    ...upgrade.next.slice(0, kMostLines).map((step) => `- to do: ${code(step)}`),
    '',
    `${upgrade.upgrade_id} <${url}>`,
  ];
  return `${lines.join('\n')}${markOf(upgrade.synthetic ? 'synthetic' : upgrade.data_kind)}\n`;
}
