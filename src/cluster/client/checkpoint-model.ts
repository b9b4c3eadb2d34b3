/**
 * A model loaded from files alone, without a store or a cluster: a checkpoint folder, or a merged model. What it is
 * comes from the record of the job that the files carry.
 */
import { PaddletError } from '../../base/errors.ts';
import type { Log, Storage } from '../../base/seams.ts';
import { isModelFile, withModelFile } from '../../checkpoint/export/model-file.ts';
import { differenceOf, type MadeFor } from '../../checkpoint/file/made-for.ts';
import { loadSet } from '../../checkpoint/load/load-set.ts';
import { withCheckpointAt } from '../../checkpoint/set/checkpoint-set.ts';
import { type Carrying, recordCarriedIn } from '../job/carried-record.ts';
import { trainedSpecOf } from '../job/job-model.ts';
import type { JobRecord } from '../job/job-record.ts';
import { type LocalPulls, localPulls } from './local-pulls.ts';

export interface CheckpointModel {
  readonly record: JobRecord;
  readonly client: LocalPulls;
  readonly checkpoint: {
    /** Files from which shards were read. */
    readonly files: readonly string[];
    /** When the newest file was written, in seconds since 1970; a merged model does not say. */
    readonly createdAt: number | undefined;
  };
}

export interface CheckpointModelOptions {
  readonly host: { readonly storage: Storage; readonly log: Pick<Log, 'warn'> };
  /** A checkpoint folder, the folder of a job, a file that has all shards, or a merged model. */
  readonly path: string;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Throws `CheckpointMissing` (no checkpoint there, shards in none of the files), `CheckpointCorrupt` (damage, files of
 * several jobs, parts of a model), `VersionMismatch` (no record of the job, or one of another version), `OutOfMemory`.
 */
export async function openCheckpointModel({ host, path, signal }: CheckpointModelOptions): Promise<CheckpointModel> {
  const { storage } = host;
  return (await isModelFile(storage, path)) ? openMerged(host, path) : openFiles(storage, path, signal);
}

const openFiles = (storage: Storage, path: string, signal: AbortSignal | undefined): Promise<CheckpointModel> =>
  withCheckpointAt(storage, path, async (set) => {
    const { facts, parts } = set;
    const record = recordOf(facts, path);
    const client = localPulls(await loadSet(set, signal), facts.parameters);
    return { record, client, checkpoint: { files: parts.map((part) => part.path), createdAt: facts.createdAt } };
  });

const openMerged = ({ storage, log }: CheckpointModelOptions['host'], path: string): Promise<CheckpointModel> =>
  withModelFile(storage, path, async ({ facts, hasChecksums, load }) => {
    const record = recordOf(facts, path);
    if (!hasChecksums) log.warn(`${path}: unchecked: an earlier version wrote it, without checksums`);
    const client = localPulls(await load(), facts.parameters);
    return { record, client, checkpoint: { files: [path], createdAt: undefined } };
  });

/** The record, whose model the files have. */
function recordOf(facts: Carrying & MadeFor, path: string): JobRecord {
  const record = recordCarriedIn(facts, path);
  const { training, cluster } = record.job;
  const expected = { parameters: trainedSpecOf(record), seed: training.seed, shards: cluster.shards };
  const difference = differenceOf(facts, expected);
  if (difference === undefined) return record;
  const message = `${path}: expected the ${difference.part} of the model of its job, got ${difference.found}`;
  throw new PaddletError('CheckpointCorrupt', message, {
    hint: 'export all variables: run `paddlet checkpoint export` without --vars',
  });
}
