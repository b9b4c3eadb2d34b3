/** What went wrong last: of each process the newest warning or error that it still remembers, one line each. */
import { visible } from '../../base/visible.ts';
import type { LiveProcess } from '../../view/describe-job.ts';
import { processName } from '../../view/process-name.ts';
import { cut, durationText } from '../base/fit.ts';

/** What is older has passed, or is repeated; `--json` and the log have it. */
const RECENT_SECONDS = 600;
/** When a pserver dies, all others say so. */
const MOST_SHOWN = 8;

/** `wallSeconds`: now; clocks of other machines may differ from it. Empty when there is nothing to say. */
export function errorsText(processes: readonly LiveProcess[], wallSeconds: number, columns: number): string[] {
  const lines = processes.flatMap(({ role, id, answer }) => {
    const newest = answer.kind === 'info' ? answer.info.errors.at(-1) : undefined;
    if (newest === undefined) return [];
    const ageSeconds = Math.max(0, Math.round(wallSeconds - newest.time));
    if (ageSeconds > RECENT_SECONDS) return [];
    return [`  ${processName({ role, id })}, ${durationText(ageSeconds)} ago: ${newest.level}: ${newest.text}`];
  });
  if (lines.length === 0) return [];
  const left = lines.length - MOST_SHOWN;
  const shown = [...lines.slice(0, MOST_SHOWN), ...(left > 0 ? [`  and of ${left} more processes: see --json`] : [])];
  return ['', 'latest warnings and errors:', ...shown.map((line) => cut(visible(line), columns))];
}
