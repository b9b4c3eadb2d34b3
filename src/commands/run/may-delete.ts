/** `--fresh` deletes an unfinished job only when its user has said so, since the same command typed again would. */
import { PaddletError } from '../../base/errors.ts';
import { isoTime } from '../../host/clock.ts';
import type { Progress } from './job-before.ts';

export interface MayDeleteOptions {
  readonly job: string;
  readonly progress: Progress | undefined;
  /** `--yes`. */
  readonly isAgreed: boolean;
  /** Undefined if there is no terminal to ask on. */
  readonly ask: ((question: string) => Promise<boolean>) | undefined;
}

/** Throws `JobConflict` unless the job may be deleted. One that has ended, or never got anywhere, may be. */
export async function checkMayDelete({ job, progress, isAgreed, ask }: MayDeleteOptions): Promise<void> {
  if (progress === undefined || isAgreed) return;
  const what = `job ${job} is not finished (${textOf(progress)})`;
  if (ask !== undefined && (await ask(`${what}. Delete it and start over?`))) return;
  throw new PaddletError('JobConflict', `${what}; nothing was deleted`, {
    hint: 'resume it with the same command without --fresh, or delete it with --fresh --yes',
  });
}

function textOf({ pass, savedAt }: Progress): string {
  const at = pass === 0 ? '' : `${pass} passes done, `;
  if (savedAt === undefined) return `${at}no checkpoint yet`;
  return `${at}newest checkpoint of ${isoTime(savedAt)}`;
}
