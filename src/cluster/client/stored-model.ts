/** A model loaded from its published checkpoints: all shards in the memory of this process, for pulls only. */
import { PaddletError } from '../../base/errors.ts';
import type { Host } from '../../base/seams.ts';
import { type ExpectedJob, loadFirstUsable } from '../../checkpoint/load/load.ts';
import { readEntries } from '../../checkpoint/registry/discover.ts';
import { newestFirst, ofWholeRound, publishedFiles } from '../../checkpoint/registry/newest.ts';
import { parsePartings, withPartings } from '../../checkpoint/registry/partings.ts';
import type { Keys } from '../../store/keys.ts';
import type { Store } from '../../store/store.ts';
import { createParameters } from '../../tensor/wasm-parameters.ts';
import { trainedSpecOf } from '../job/job-model.ts';
import type { JobRecord } from '../job/job-record.ts';
import { type LocalPulls, localPulls } from './local-pulls.ts';

export interface StoredModelOptions {
  readonly host: Host;
  readonly store: Store;
  readonly keys: Keys;
  readonly record: JobRecord;
  /** The folder that has the folders of the pservers. */
  readonly folder: string;
}

/** Throws `CheckpointMissing` when a shard is in no usable checkpoint. */
export async function openStoredModel(options: StoredModelOptions): Promise<LocalPulls> {
  const { host, store, keys, record, folder } = options;
  const { training, cluster } = record.job;
  const spec = trainedSpecOf(record);
  const { shards } = cluster;
  const parameters = createParameters({ spec, seed: training.seed, shards });
  const expected: ExpectedJob = { jobId: record.id, parameters: spec, seed: training.seed, shards };
  const { entries } = await store.range({ prefix: keys.checkpointsPrefix });
  const { published, complaints } = readEntries(keys.checkpointsPrefix, entries);
  for (const complaint of complaints) host.log.warn(complaint);
  const all = Array.from({ length: shards }, (_, shard) => shard);
  const partings = parsePartings(keys.partingPrefix, (await store.range({ prefix: keys.partingPrefix })).entries);
  const filesOf = newestFirst(ofWholeRound(withPartings(publishedFiles(published), partings)), all);
  const outcome = await loadFirstUsable(filesOf, { storage: host.storage, folder, expected, into: parameters });
  for (const { message } of outcome.complaints) host.log.warn(message);
  const missing = outcome.lost;
  if (missing.length > 0) {
    throw new PaddletError(
      'CheckpointMissing',
      `${folder} contains no usable checkpoint for ${missing.length} of the ${shards} shards`,
      {
        hint: 'give the folder of the job with --dir; a job writes its checkpoints at its end and on a clean stop',
      },
    );
  }
  return localPulls(parameters, spec);
}
