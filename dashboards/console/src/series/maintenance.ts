// Times in which somebody had paused a node, from its events.
import type { EventList } from '../api/types';

export interface Pause {
  node: string;
  from: number; // unix seconds, as `until`
  until: number; // Infinity: it lasts
}

// In any order of events. A pause whose begin is older than the events begins with the oldest one.
export function pausesOf(events: EventList['events']): Pause[] {
  const rows = [...events].sort((a, b) => a.event_id - b.event_id);
  const at = (text: string) => new Date(text).getTime() / 1000;
  const open = new Map<string, number>();
  const pauses: Pause[] = [];
  for (const { kind, node, at: text } of rows) {
    if (node === null) continue;
    if (kind === 'maintenance_paused') {
      if (!open.has(node)) open.set(node, at(text));
    } else if (kind === 'maintenance_resumed' || kind === 'maintenance_over') {
      pauses.push({ node, from: open.get(node) ?? at(rows[0].at), until: at(text) });
      open.delete(node);
    }
  }
  for (const [node, from] of open) pauses.push({ node, from, until: Infinity });
  return pauses;
}
