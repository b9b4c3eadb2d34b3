/**
 * What the launcher does about a role's process that ended: start it again after a pause that grows while it keeps
 * dying, or give up. Pure.
 */
import { EXIT } from '../base/errors.ts';

export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: string | null;
}

export type Verdict =
  | { readonly act: 'restart'; readonly afterMs: number }
  /** The job ended well for this process. */
  | { readonly act: 'done' }
  /** It was asked to stop. */
  | { readonly act: 'stopped' }
  /** Starting it again cannot help; the whole run ends with this code. */
  | { readonly act: 'giveUp'; readonly code: number };

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;
/** A process that lived so long begins with a clean slate. */
const SETTLED_MS = 10_000;
/** Quick deaths in a row, after which the trouble is not one that passes. */
const MAX_QUICK_DEATHS = 10;

const FATAL: ReadonlySet<number> = new Set([
  EXIT.usage,
  EXIT.data,
  EXIT.jobFailed,
  EXIT.parametersLost,
  EXIT.tasksDiscarded,
]);

export interface RestartPolicy {
  ended(end: ProcessEnd, livedMs: number): Verdict;
}

/** One for each process of the cluster. */
export function createRestartPolicy(): RestartPolicy {
  let quickDeaths = 0;
  return {
    ended({ code, signal }, livedMs) {
      if (code === EXIT.done) return { act: 'done' };
      if (code === EXIT.interrupted) return { act: 'stopped' };
      if (code !== null && FATAL.has(code)) return { act: 'giveUp', code };
      quickDeaths = livedMs >= SETTLED_MS ? 1 : quickDeaths + 1;
      // Killed from outside it may be as often as it likes: only what ends by itself has a trouble of its own.
      if (signal === null && quickDeaths > MAX_QUICK_DEATHS) return { act: 'giveUp', code: code ?? EXIT.bug };
      return { act: 'restart', afterMs: Math.min(FIRST_PAUSE_MS * 2 ** (quickDeaths - 1), LONGEST_PAUSE_MS) };
    },
  };
}
