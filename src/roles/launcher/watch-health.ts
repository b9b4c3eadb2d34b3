/**
 * What a running job waits for: asks the store for the processes, and each of them how it is. Only while there is no
 * progress, so that a job that advances is not disturbed.
 */
import { isPaddletError } from '../../base/errors.ts';
import type { Cancel, Clock, Log } from '../../base/seams.ts';
import type { Network } from '../../protocol/messages/channel.ts';
import type { Keys } from '../../store/keys.ts';
import type { Store } from '../../store/store.ts';
import { askProcesses, type LiveProcess } from '../../view/describe-job.ts';
import { healthOf, type JobNeeds, type SeenProcess, type Waiting } from '../../view/health.ts';
import { createSuspendedChildren, type LiveChild, type SuspendedChildren } from './suspended-children.ts';

const EVERY_MS = 1_000;
/** A process that is well answers in milliseconds; a trainer between steps, and it takes several turns to join. */
const ANSWER_WITHIN_MS = 2_000;

export interface WatchHealthOptions {
  readonly store: Store;
  readonly keys: Keys;
  readonly network: Network;
  readonly clock: Clock;
  readonly log: Log;
  /** What the job needs now. */
  readonly needs: () => JobNeeds;
  /** Processes that this one started. */
  readonly children: () => readonly LiveChild[];
  /** Whether the job has advanced since this was asked last. */
  readonly hasAdvanced: () => boolean;
  /** Called after each look; with nothing when the job advances, or when all that it needs is there. */
  readonly onWaiting: (waitingFor: readonly Waiting[]) => void;
}

export function watchHealth(options: WatchHealthOptions): Cancel {
  const { clock, log, needs, hasAdvanced, onWaiting } = options;
  const seen = { silence: createSilence(clock), suspended: createSuspendedChildren(clock, log, needs().leaseTtlMs) };
  let cancelled = false;
  let cancelTimer: Cancel = () => {};
  const look = async (): Promise<void> => {
    const waitingFor = hasAdvanced() ? [] : await lookAt(options, seen);
    if (cancelled) return;
    onWaiting(waitingFor);
    arm();
  };
  const arm = (): void => {
    cancelTimer = clock.after(EVERY_MS, () => void look());
  };
  arm();
  return () => {
    cancelled = true;
    cancelTimer();
  };
}

interface Seen {
  readonly silence: Silence;
  readonly suspended: SuspendedChildren;
}

async function lookAt(options: WatchHealthOptions, { silence, suspended }: Seen): Promise<readonly Waiting[]> {
  const { store, keys, network, clock, needs, children } = options;
  const trouble = store.trouble?.();
  const ofStore: Waiting[] = trouble === undefined ? [] : [{ kind: 'store', text: `the store: ${trouble.text}` }];
  try {
    const askedMs = clock.monotonicMs();
    const processes = await askProcesses(store, keys, network, ANSWER_WITHIN_MS);
    const { waitingFor } = healthOf(needs(), silence(processes, askedMs));
    const ofChildren = suspended(children(), processes, needs());
    const others = waitingFor.filter(({ text }) => text !== ofStore[0]?.text);
    return [...ofStore, ...ofChildren, ...others.filter(({ kind }) => ofChildren.every((one) => one.kind !== kind))];
  } catch (error) {
    if (!isPaddletError(error)) throw error;
    return ofStore.length > 0 ? ofStore : [{ kind: 'store', text: `the store ${store.url}: ${error.message}` }];
  }
}

type Silence = (processes: readonly LiveProcess[], askedMs: number) => SeenProcess[];

/** Remembers since when each process, by its lease, has not answered. */
function createSilence(clock: Clock): Silence {
  let sinceMs = new Map<string, number>();
  return (processes, askedMs) => {
    const nowMs = clock.monotonicMs();
    const silent = processes.filter(({ answer }) => answer.kind === 'none').map(({ lease }) => lease);
    sinceMs = new Map(silent.map((lease) => [lease, sinceMs.get(lease) ?? askedMs]));
    return processes.map(({ role, id, answer, address, lease }) => {
      const since = sinceMs.get(lease);
      return { role, id, answer, address, ...(since === undefined ? {} : { silentMs: nowMs - since }) };
    });
  };
}
