/** What a restore reads of a job none of whose pservers is alive. */
import { pause } from '../../base/backoff.ts';
import { PaddletError } from '../../base/errors.ts';
import type { Keys } from '../../store/keys.ts';
import type { KeyValue } from '../../store/store.ts';
import type { StoreAccess } from './publish.ts';

export interface RestoreAccess extends StoreAccess {
  readonly keys: Keys;
}

/** Asks the store once: may repeat the call while the store does not answer. */
export type Ask = <T>(call: () => Promise<T>) => Promise<T>;

/** The state of the store when no pserver was alive. */
export interface QuietJob {
  /** A revision at which no pserver was alive: no owner has, had or will have it as its token. */
  readonly token: bigint;
  readonly job: KeyValue;
  readonly desired: KeyValue | undefined;
  readonly entries: readonly KeyValue[];
  /** `/checkpoints/cut`. */
  readonly cut: KeyValue | undefined;
  /** `/checkpoints/kept`. */
  readonly kept: KeyValue | undefined;
  /** Heads of all units. */
  readonly heads: readonly KeyValue[];
  /** Keys under `/parting/`. */
  readonly partings: readonly KeyValue[];
}

const AT_A_TIME_MS = 200;

/**
 * Reads the store. Throws `JobConflict`, naming them, while pservers are alive; waits up to `patienceMs` for the leases
 * of dead ones to run out. Asks the store by `ask`.
 */
export async function readQuietJob(
  access: RestoreAccess,
  patienceMs: number,
  ask: Ask = (call) => call(),
): Promise<QuietJob> {
  const { store, keys, clock, signal } = access;
  const endMs = clock.monotonicMs() + patienceMs;
  for (;;) {
    const { entries: live, revision } = await ask(() => store.range({ prefix: keys.psPrefix }));
    if (live.length === 0) return { token: revision, ...(await ask(() => readJob(access))) };
    if (clock.monotonicMs() >= endMs) throw pserversLive(live);
    await pause(clock, AT_A_TIME_MS, signal);
    signal?.throwIfAborted();
  }
}

async function readJob({ store, keys }: RestoreAccess): Promise<Omit<QuietJob, 'token'>> {
  const { succeeded, results } = await store.txn({ if: [], then: [{ get: keys.job }, { get: keys.psDesired }] });
  const [job, desired] = results;
  if (!succeeded || job === undefined) throw new PaddletError('JobUnknown', `no job at ${keys.chroot}`);
  const { entries } = await store.range({ prefix: keys.checkpointsPrefix });
  const { entries: heads } = await store.range({ prefix: keys.headsPrefix });
  const { entries: partings } = await store.range({ prefix: keys.partingPrefix });
  return {
    job,
    desired,
    heads,
    partings,
    entries: entries.filter(({ key }) => key !== keys.cut && key !== keys.kept),
    cut: entries.find(({ key }) => key === keys.cut),
    kept: entries.find(({ key }) => key === keys.kept),
  };
}

export function pserversLive(live: readonly KeyValue[]): PaddletError {
  const names = live.map(({ key, value }) => `${key} (${value})`).join(', ');
  return new PaddletError('JobConflict', `pservers are alive: ${names}`, {
    hint: 'stop the job first (`paddlet stop`); if these pservers are dead, pass --lease-wait TIME to wait until their leases expire',
    details: { pservers: live.map(({ key, value }) => ({ key, address: value })) },
  });
}
