/** Writes the wanted numbers of pservers and trainers, within the bounds of the job. */
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import { type JobRecord, parseJobRecord } from '../../cluster/job/job-record.ts';
import { parseTrainersDesired, type TrainersDesired } from '../../cluster/job/trainers-desired.ts';
import { parseDesired } from '../../cluster/placement/ps-desired.ts';
import type { Job } from '../../job/schema.ts';
import { settle } from '../../store/retry-transaction.ts';
import type { Compare, KeyValue, Op } from '../../store/store.ts';
import { checkBounds, type SizesAsked } from '../base/size-bounds.ts';
import type { OpenJob } from '../base/with-job.ts';

export interface Sizes {
  readonly pservers: number;
  /** Number of trainers under `paddlet run`. */
  readonly trainers: number;
}

export type ResizableJob = Pick<OpenJob, 'store' | 'keys' | 'record' | 'signal' | 'limitMs' | 'retryStore'> & {
  readonly host: Pick<OpenJob['host'], 'clock'>;
};

/**
 * Returns the numbers before. Writes nothing when they are the same. Throws `Usage` for numbers outside the bounds of
 * the job, `JobConflict` when the job has ended, `StoreUnknownOutcome` when another process changed the numbers before
 * the store said whether it took these: asking again could undo a later resize.
 */
export async function requestSizes(job: ResizableJob, asked: SizesAsked): Promise<Sizes> {
  let isDoubtful = false;
  for (;;) {
    const before = await readSizes(job);
    checkBounds({ job: before.published, units: job.record.units }, asked);
    const puts = putsFor(job, before, asked);
    if (puts.length === 0) return sizesOf(before);
    const { succeeded } = await settle({
      ...{ clock: job.host.clock, signal: job.signal, limitMs: job.limitMs },
      run: () => job.store.txn({ if: before.unchanged, then: puts }),
      happened: async () => putsFor(job, await readSizes(job), asked).length === 0,
      onWaiting: (error) => {
        isDoubtful ||= isPaddletError(error, 'StoreUnknownOutcome');
      },
    });
    if (succeeded) return sizesOf(before);
    if (isDoubtful) throw unknownOutcome(job);
  }
}

const sizesOf = ({ pservers, trainers }: Sizes): Sizes => ({ pservers, trainers });

interface SizesRead extends Sizes {
  readonly published: Job;
  readonly trainersKey: TrainersDesired | undefined;
  /** Conditions under which everything is still as it was read. */
  readonly unchanged: readonly Compare[];
}

async function readSizes({ store, keys, record, retryStore }: ResizableJob): Promise<SizesRead> {
  const gets = [keys.job, keys.psDesired, keys.trainersDesired, keys.result].map((get) => ({ get }));
  const { results } = await retryStore(() => store.txn({ if: [], then: gets }));
  const [entry, desired, trainers, result] = results;
  const published = entry && parseJobRecord(keys.job, entry.value);
  if (published?.id !== record.id || desired === undefined) throw gone(record);
  if (result !== undefined) throw hasEnded(record);
  const trainersKey = trainers && parseTrainersDesired(trainers);
  const revision = (key: string, found: KeyValue | undefined): Compare => ({
    key,
    modRevision: found?.modRevision ?? 0n,
  });
  return {
    pservers: parseDesired(desired),
    trainers: trainersKey?.trainers ?? published.job.cluster.trainers,
    published: published.job,
    trainersKey,
    unchanged: [
      revision(keys.job, entry),
      revision(keys.psDesired, desired),
      revision(keys.trainersDesired, trainers),
      revision(keys.result, undefined),
    ],
  };
}

function putsFor({ keys }: ResizableJob, before: SizesRead, { pservers, trainers }: SizesAsked): Op[] {
  const jobFile = before.trainersKey?.jobFile ?? before.published.cluster.trainers;
  const puts: Op[] = [];
  if (pservers !== undefined && pservers !== before.pservers)
    puts.push({ put: keys.psDesired, value: String(pservers) });
  if (trainers !== undefined && trainers !== before.trainers) {
    const value: TrainersDesired = { trainers, jobFile };
    puts.push({ put: keys.trainersDesired, value: JSON.stringify(value) });
  }
  return puts;
}

const gone = ({ job }: JobRecord): PaddletError =>
  new PaddletError('JobUnknown', `job ${job.name} was removed or started over`);

const hasEnded = ({ job }: JobRecord): PaddletError =>
  new PaddletError('JobConflict', `job ${job.name} has ended: it has no processes to resize`, {
    hint: 'check the job with `paddlet status`; to continue a finished job, raise training.passes and use `paddlet run`',
  });

const unknownOutcome = ({ keys }: ResizableJob): PaddletError =>
  new PaddletError('StoreUnknownOutcome', `${keys.psDesired} changed before the store confirmed the new number`, {
    hint: 'another resize may have changed the number: check with `paddlet status`, and repeat this command if needed',
  });
