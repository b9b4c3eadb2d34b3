/** What `paddlet why` says: for scripts, and for people. */
import type { PaddletError } from '../../base/errors.ts';
import { visible } from '../../base/visible.ts';
import type { DirectingInfo } from '../../cluster/info.ts';
import { directingInfo } from '../../cluster/job/describe-job.ts';
import { type TableNote, tableNotes } from '../../cluster/job/limited-tables.ts';
import { type Cause, oneLine } from '../../cluster/why/cause.ts';
import { causesOf, phaseOf, type ShownStatus } from '../status/shown-status.ts';

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

export function answerOf(status: ShownStatus): Answer {
  const master = directingInfo(status);
  const notes = status.end === undefined ? tableNotes(status) : [];
  return {
    job: status.record.job.name,
    phase: phaseOf(status),
    ...(master?.recordsPerSecond === undefined ? {} : { recordsPerSecond: master.recordsPerSecond }),
    ...(master !== undefined && hasTrained(master) ? { quietSeconds: Math.round(master.quietMs / 100) / 10 } : {}),
    causes: causesOf(status),
    ...(notes.length === 0 ? {} : { notes }),
  };
}

const hasTrained = (master: DirectingInfo): boolean =>
  (master.mode === 'async' ? master.sums.read : (master.rounds.records ?? 0)) > 0;

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
