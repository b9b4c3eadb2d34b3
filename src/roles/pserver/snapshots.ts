/** Writes and publishes this pserver's checkpoints: at the end of the job, on a clean stop, and in parting. */
import { type CheckpointFile, writeCheckpointFile } from '../../checkpoint/capture.ts';
import { type Generation, generationOf } from '../../checkpoint/entry.ts';
import type { CheckpointMeta } from '../../checkpoint/format.ts';
import { deleteDropped, publish } from '../../checkpoint/publish.ts';
import type { Ledger } from '../../core/ledger.ts';
import type { Fence } from '../../store/fence.ts';
import type { Parameters } from '../../tensor/parameters.ts';
import type { ParameterSpec } from '../../tensor/spec.ts';
import type { RoleContext } from '../context.ts';
import type { JobRecord } from '../job-record.ts';
import { patiently } from '../ownership.ts';

export interface SnapshotOptions {
  readonly context: RoleContext;
  readonly record: JobRecord;
  readonly spec: ParameterSpec;
  readonly fence: Fence;
  readonly index: number;
  readonly folder: string;
  readonly parameters: Parameters;
  readonly ledger: Ledger;
  readonly epochs: ReadonlyMap<number, number>;
  readonly seq: () => number;
}

export interface Snapshots {
  /** Published under the fence; `LeaseGone` when it is no longer ours. `clean`: nothing will be applied after it. */
  save(clean: boolean): Promise<CheckpointFile>;
  /**
   * After the lease was lost: a clean snapshot under this owner's own token, for whoever takes its shards. It needs no
   * fence: it is looked for only while the shards' heads still name this token.
   */
  part(): Promise<CheckpointFile>;
}

/** Generations kept beside the newest. */
const KEEP = 1;

export function createSnapshots(options: SnapshotOptions): Snapshots {
  const { context, record, fence, index, folder, parameters } = options;
  const { disk, clock, log, random } = context.host;
  const { keys, store } = context;

  function metaOf(clean: boolean): CheckpointMeta {
    const { job } = record;
    return {
      uuid: random.uuid(),
      jobId: record.id,
      jobName: job.name,
      index,
      token: fence.token,
      recovery: 0n,
      timeline: 0n,
      kind: 'full',
      clean,
      createdAt: clock.wallSeconds(),
      parameters: options.spec,
      optimizer: job.optimizer,
      seed: job.training.seed,
      shards: job.cluster.shards,
    };
  }

  async function write(clean: boolean): Promise<{ file: CheckpointFile; generation: Generation }> {
    const meta = metaOf(clean);
    const momentOf = (shard: number) => {
      const epoch = options.epochs.get(shard) ?? 0;
      return { shard, epoch, seq: options.seq(), ledger: options.ledger.encode() };
    };
    const file = await writeCheckpointFile({ disk, folder, meta, parameters, shards: parameters.shards(), momentOf });
    return { file, generation: generationOf(file, meta) };
  }

  return {
    async save(clean) {
      const { file, generation } = await write(clean);
      const published = await publish({ store, clock, fence, key: keys.checkpoint(index), generation, keep: KEEP });
      if (published.complaint !== undefined) log.warn(published.complaint);
      const failures = await deleteDropped(disk, { folder, index }, published.dropped);
      for (const { path, error } of failures) log.warn(`${path} could not be deleted: ${(error as Error).message}`);
      log.info(`checkpoint ${file.uuid} published`, { bytes: file.bytes, rows: file.rows, clean });
      return file;
    },
    async part() {
      const { file, generation } = await write(true);
      await patiently(context, () =>
        store.txn({
          if: [{ key: keys.parting(fence.token), createRevision: 0n }],
          then: [{ put: keys.parting(fence.token), value: JSON.stringify(generation) }],
        }),
      );
      log.info(`parting snapshot ${file.uuid} announced`, { bytes: file.bytes });
      return file;
    },
  };
}
