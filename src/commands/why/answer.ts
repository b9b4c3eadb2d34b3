/** What `paddlet why` says: for scripts, and for people. */
import type { PaddletError } from '../../base/errors.ts';
import { visible } from '../../base/visible.ts';
import type { JobView } from '../../view/job-view.ts';
import type { TableNote } from '../../view/limited-tables.ts';
import { progressOfMaster } from '../../view/progress.ts';
import { type Cause, oneLine } from '../../view/why/cause.ts';

export interface Answer {
  readonly job?: string;
  readonly phase: string;
  /** Trained on by the trainers, since this master began to direct the job. */
  readonly recordsPerSecond?: number;
  /** For how long no trainer has reported more records. */
  readonly quietSeconds?: number;
  /** The cause first; empty when nothing holds the job up. */
  readonly causes: readonly Cause[];
  /** Facts that hold nothing up, but should be known: tables that are too small. Absent without any. */
  readonly notes?: readonly TableNote[];
}

export function answerOf({ record, phase, master, why, notes }: JobView): Answer {
  const { recordsPerSecond } = master ?? {};
  const hasTrained = master !== undefined && (progressOfMaster(master).records ?? 0) > 0;
  return {
    job: record.job.name,
    phase,
    ...(recordsPerSecond === undefined ? {} : { recordsPerSecond }),
    ...(hasTrained ? { quietSeconds: Math.round(master.quietMs / 100) / 10 } : {}),
    causes: why,
    ...(notes.length === 0 ? {} : { notes }),
  };
}

export const storeAway = (url: string, { message, hint }: PaddletError): Answer => ({
  phase: 'unknown',
  causes: [
    {
      kind: 'store',
      sentence: message.startsWith(`store ${url}`)
        ? `The ${oneLine(message)}.`
        : `The store ${url} does not answer: ${oneLine(message)}.`,
      hint: hint ?? 'start the store, or check its address and the network',
    },
  ],
});

/** The cause, what to do, and what follows from it; then notes. */
export function whyText(answer: Answer): string {
  const noted = (answer.notes ?? []).flatMap(({ sentence, hint }) => ['', `note: ${sentence}`, `  ${hint}`]);
  return [causesText(answer), ...noted.map(visible)].join('\n');
}

function causesText({ job, phase, recordsPerSecond, quietSeconds, causes }: Answer): string {
  const rate = recordsPerSecond === undefined ? '' : `, ${recordsPerSecond} records/s on average`;
  const quiet = quietSeconds === undefined ? '' : `; the last records ${quietSeconds} s ago`;
  const head = job === undefined ? [] : [`job ${job}: ${phase}${rate}${quiet}`, ''];
  const [first, ...others] = causes;
  if (first === undefined) return [...head.slice(0, 1), 'Nothing is blocking it.'].map(visible).join('\n');
  const rest = others.map(({ sentence }) => `- ${sentence}`);
  const lines = [...head, first.sentence, ...(first.hint === undefined ? [] : [`  ${first.hint}`])];
  return [...lines, ...(rest.length === 0 ? [] : ['', 'and then:', ...rest])].map(visible).join('\n');
}
