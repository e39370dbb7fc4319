// When the archive is late, in words. Pure.
import { duration } from './format';

// RailgaugeMirrorBehind, of dashboards/source/alerts.py, has the same bound.
export const kLateSeconds = 500;

// An action that the archive may lack still: true until it has all changes of that time.
export function mayLack(lagSeconds: number | null | undefined, secondsSince: number): boolean {
  return lagSeconds === null || lagSeconds === undefined || lagSeconds >= secondsSince;
}

// The lag comes first: an archive that is that late lacks what was just done, too.
// The words of a page for a late archive, and the command that says more; undefined: it is in time.
export function lateWords(lagSeconds: number | null | undefined, mayLackAct: boolean): { words: string; command: string } | undefined {
  if (lagSeconds !== null && lagSeconds !== undefined && lagSeconds > kLateSeconds)
    return {
      words: `The archive is ${duration(lagSeconds)} late: boards and other sites see this one as it was then, and a standby that takes over knows no more. Nothing is lost while this controller lives. PostgreSQL's words:`,
      command: 'railgauge events --kind mirror',
    };
  if (mayLackAct)
    return { words: 'Done, but the archive may lack it still: a controller that takes over now would not know it. The lag of the archive:', command: 'railgauge status' };
  return undefined;
}
