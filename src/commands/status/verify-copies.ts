/** `status --verify`: compares the copies of all units, each as soon as there are two that can be compared. */
import { compareUnit, type DifferingCopies, type UnitComparison } from '../../cluster/client/compare-copies.ts';
import type { CopyClient } from '../../cluster/client/copy-client.ts';
import { groupingOf } from '../../cluster/job/job-plan.ts';
import { untilOrLate } from '../../cluster/waiting.ts';
import { shardsOfUnit } from '../../core/units/units.ts';
import type { LiveCluster } from '../base/live-cluster.ts';
import type { OpenJob } from '../base/with-job.ts';

export interface CopiesVerification {
  readonly ok: boolean;
  readonly units: number;
  /** Units whose copies were found to be equal. */
  readonly equal: number;
  /** Units of which there is one copy: nothing to compare. */
  readonly alone: readonly number[];
  readonly different: readonly (DifferingCopies & { readonly unit: number })[];
  /** Units that could not be compared in time. */
  readonly unsettled: readonly { readonly unit: number; readonly why: string }[];
}

export interface VerifyOptions {
  readonly job: Pick<OpenJob, 'record' | 'store' | 'keys' | 'retryStore' | 'host' | 'limitMs'>;
  readonly cluster: Pick<LiveCluster, 'view'>;
  readonly client: Pick<CopyClient, 'digestAt'>;
  readonly signal: AbortSignal;
  readonly onUnit: (done: number, total: number) => void;
}

/** A pserver may answer again although nothing changes in the store. */
const LOOK_AGAIN_MS = 500;
/** Digests take the time of pservers that serve requests, too. */
const AT_A_TIME = 4;

export async function verifyCopies(options: VerifyOptions): Promise<CopiesVerification> {
  const { job, onUnit } = options;
  const { units } = groupingOf(job.record);
  const found = new Map<number, UnitComparison>();
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < units) {
      const unit = next++;
      found.set(unit, await verifyUnit(options, unit));
      onUnit(found.size, units);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  return summed(units, found);
}

/** Repeated while the copies come and go, for the time limit at most. */
async function verifyUnit({ job, cluster, client, signal }: VerifyOptions, unit: number): Promise<UnitComparison> {
  const { store, keys, retryStore, host, limitMs, record } = job;
  const { view } = cluster;
  const { clock, log } = host;
  const deadlineMs = clock.monotonicMs() + limitMs;
  const asking = {
    digestAt: client.digestAt.bind(client),
    headRevision: async (of: number) => (await retryStore(() => store.get(keys.head(of))))?.modRevision,
  };
  for (;;) {
    const version = view.version();
    const place = view.units()[unit]!;
    const compared = await compareUnit(asking, place, shardsOfUnit(unit, groupingOf(record)));
    if (compared.outcome !== 'unsettled' || clock.monotonicMs() > deadlineMs) return compared;
    log.debug(`unit ${unit}: ${compared.why}`);
    const wait = { clock, maxWaitMs: LOOK_AGAIN_MS, signal };
    await untilOrLate(view.changed, () => view.version() !== version || undefined, wait);
  }
}

function summed(units: number, found: ReadonlyMap<number, UnitComparison>): CopiesVerification {
  const all = [...found].sort(([a], [b]) => a - b);
  const different = all.flatMap(([unit, one]) =>
    one.outcome === 'different' ? one.shards.map((shard) => ({ unit, ...shard })) : [],
  );
  const unsettled = all.flatMap(([unit, one]) => (one.outcome === 'unsettled' ? [{ unit, why: one.why }] : []));
  const alone = all.flatMap(([unit, { outcome }]) => (outcome === 'alone' ? [unit] : []));
  const equal = all.filter(([, { outcome }]) => outcome === 'equal').length;
  return { ok: different.length + unsettled.length === 0, units, equal, alone, different, unsettled };
}

export function verificationText({ units, equal, alone, different, unsettled }: CopiesVerification): string {
  const digests = (one: DifferingCopies): string =>
    one.digests.map(({ pserver, digest }) => `pserver ${pserver} has ${digest.slice(0, 16)}`).join(', ');
  return [
    `${equal} of ${units} units: all copies are equal`,
    ...(alone.length === 0 ? [] : [`one copy, nothing to compare: unit ${alone.join(', ')}`]),
    ...different.map(
      (one) => `DIFFERENT: unit ${one.unit}, shard ${one.shard}, after ${one.position} updates: ${digests(one)}`,
    ),
    ...unsettled.map(({ unit, why }) => `not compared: unit ${unit}: ${why}`),
  ].join('\n');
}
