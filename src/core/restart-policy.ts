/**
 * What the launcher does when a process of a role has ended: it restarts the process after a pause that grows with each
 * quick death, or gives up. Pure.
 */
import { EXIT } from '../base/errors.ts';

export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: string | null;
}

export type RestartDecision =
  | { readonly act: 'restart'; readonly afterMs: number }
  /** The job ended well for this process. */
  | { readonly act: 'done' }
  /** The process was asked to stop. */
  | { readonly act: 'stopped' }
  /** A restart cannot help: the whole run ends with this code. */
  | { readonly act: 'giveUp'; readonly code: number };

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;
/** The quick deaths before a process that lived this long do not count. */
const SETTLED_MS = 10_000;
/** After more quick deaths in a row than this, restarts do not help. */
const QUICK_DEATHS_ALLOWED = 10;

const FATAL: ReadonlySet<number> = new Set([
  EXIT.usage,
  EXIT.data,
  EXIT.jobFailed,
  EXIT.parametersLost,
  EXIT.tasksDiscarded,
]);

export interface RestartPolicy {
  ended(end: ProcessEnd, livedMs: number): RestartDecision;
  /**
   * The operating system did not start the process. Before its first start that is a limit of the machine; later it
   * may be short of something for a while.
   */
  notStarted(): RestartDecision;
}

/** One for each process of the cluster. */
export function createRestartPolicy(): RestartPolicy {
  let quickDeaths = 0;
  let hasRun = false;
  let hasSettled = false;
  const restart = (): RestartDecision => {
    return { act: 'restart', afterMs: Math.min(FIRST_PAUSE_MS * 2 ** (quickDeaths - 1), LONGEST_PAUSE_MS) };
  };
  return {
    notStarted() {
      quickDeaths += 1;
      if (!hasRun || quickDeaths > QUICK_DEATHS_ALLOWED) return { act: 'giveUp', code: EXIT.machine };
      return restart();
    },
    ended({ code, signal }, livedMs) {
      hasRun = true;
      hasSettled ||= livedMs >= SETTLED_MS;
      if (code === EXIT.done) return { act: 'done' };
      if (code === EXIT.interrupted) return { act: 'stopped' };
      if (code !== null && FATAL.has(code)) return { act: 'giveUp', code };
      // What the machine refuses from the start it will refuse again; later a disk may be full for a while.
      if (code === EXIT.machine && !hasSettled) return { act: 'giveUp', code };
      quickDeaths = livedMs >= SETTLED_MS ? 1 : quickDeaths + 1;
      // A process killed by a signal is always restarted: only one that ends by itself has a fault of its own.
      if (signal === null && quickDeaths > QUICK_DEATHS_ALLOWED) return { act: 'giveUp', code: code ?? EXIT.bug };
      return restart();
    },
  };
}
