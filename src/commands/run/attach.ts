/** `paddlet run --attach`: shows a run that another process started. It changes nothing of it. */

import { pause } from '../../base/backoff.ts';
import { isErrorCode, PaddletError } from '../../base/errors.ts';
import type { Disk } from '../../base/seams.ts';
import { type Holder, isFolderLocked, lastHolder } from '../../host/folder-lock.ts';
import { WantedSizes } from '../../roles/launcher/wanted-sizes.ts';
import { GrowingText } from '../base/growing-text.ts';
import { runLog } from '../base/job-logs.ts';
import type { Progress } from '../base/waiting.ts';
import { type ClusterRun, showProgress } from './cluster-run.ts';
import { pageSayer } from './say-page.ts';

/** How often the log is read, and whether the run has ended is asked. */
const LOOK_MS = 300;

export type AttachEnd =
  | { readonly how: 'detached' }
  /** `holder`: as the run described itself last, if it could. */
  | { readonly how: 'ended'; readonly holder: Holder | undefined };

/** Throws `JobUnknown` when no run works in the folder, `JobConflict` when it works on another job. */
export function checkAttachable(folder: string, job: string): void {
  if (isFolderLocked(folder)) {
    const holder = lastHolder(folder);
    if (holder !== undefined && holder.job !== job) throw otherJob(folder, holder, job);
    return;
  }
  throw new PaddletError('JobUnknown', `no \`paddlet run\` works in ${folder}`, {
    hint: 'start it with the same command without --attach',
  });
}

const otherJob = (folder: string, holder: Holder, job: string): PaddletError =>
  new PaddletError(
    'JobConflict',
    `the run in ${folder} (pid ${holder.pid}) works on job ${holder.job}, not on ${job}`,
    {
      hint: `give the job file of ${holder.job}, or name the folder of ${job} with --dir`,
    },
  );

/** Shows progress and log until the run ends or `stop` aborts. `write` takes the text of the run's log. */
export async function attach(run: ClusterRun, progress: Progress, write: (text: string) => void): Promise<AttachEnd> {
  const { host, folder, stop } = run;
  const sizes = new WantedSizes({ ...run, ...host }, run.loaded.job.cluster);
  const showing = showProgress(run, sizes, progress, {
    onLine: () => {},
    onMaster: pageSayer(run),
    children: () => [],
  });
  const first = lastHolder(folder);
  let log: RunLog | undefined;
  try {
    for (;;) {
      // Asked before the log is read: what the run logged at its end is shown too.
      const isOver = !isFolderLocked(folder);
      log ??= logOf(host.disk, folder);
      await log?.show(write, isOver);
      if (isOver) return { how: 'ended', holder: holderOf(folder, first) };
      if (stop.aborted) return { how: 'detached' };
      await pause(host.clock, LOOK_MS, stop);
    }
  } finally {
    showing.cancel();
    sizes.cancel();
  }
}

interface RunLog {
  /** Whole lines, and what there is of the last one when it is over. */
  show(write: (text: string) => void, isOver: boolean): Promise<void>;
}

/** From where the run began; undefined while it has not, and when its log could not be opened. */
export function logOf(disk: Disk, folder: string): RunLog | undefined {
  const { logNumber: number, logFrom: offset } = lastHolder(folder) ?? {};
  if (number === undefined || offset === undefined) return undefined;
  const growing = new GrowingText(disk, runLog(folder), { number, offset });
  let rest = '';
  return {
    show: async (write, isOver) => {
      for (let text = await growing.next(); text !== ''; text = await growing.next()) {
        const lines = `${rest}${text}`;
        const end = lines.lastIndexOf('\n') + 1;
        rest = lines.slice(end);
        if (end > 0) write(lines.slice(0, end));
      }
      if (isOver && rest !== '') write(`${rest}\n`);
    },
  };
}

/** A run that is refused leaves the description of another one behind. */
function holderOf(folder: string, first: Holder | undefined): Holder | undefined {
  const last = lastHolder(folder);
  return first === undefined || last?.started === first.started ? last : first;
}

/** The failure of a run that left no result; undefined when it was stopped. */
export function failureOf(holder: Holder | undefined): PaddletError | undefined {
  const ended = holder?.ended;
  if (ended === undefined) {
    const pid = holder === undefined ? '' : ` (pid ${holder.pid})`;
    return new PaddletError('Interrupted', `the attached run${pid} ended without a result: it was refused or killed`, {
      hint: 'run the same command without --attach to see why it is refused, or to resume the job',
    });
  }
  const { code, message, hint } = ended;
  if (message === undefined) return undefined;
  return new PaddletError(isErrorCode(code) ? code : 'Internal', message, hint === undefined ? {} : { hint });
}
