/** The job that `--fresh` would delete. Reads only what is needed, so that one of another version is found too. */
import { resolve } from 'node:path';
import * as z from 'zod';
import { parsedJson } from '../../base/parsed-json.ts';
import { readEntries } from '../../checkpoint/registry/discover.ts';
import { generationsOf } from '../../checkpoint/registry/entry.ts';
import { filesOfKept, keptSchema } from '../../checkpoint/registry/kept-key.ts';
import type { Keys } from '../../store/keys.ts';
import type { KeyValue, Store } from '../../store/store.ts';
import type { FilesOfJob } from './remove-checkpoints.ts';

export interface JobBefore {
  /** `/job`; undefined when there is none. */
  readonly entry: KeyValue | undefined;
  readonly pservers: number;
  readonly files: FilesOfJob;
  /** Bytes of the checkpoint files that it has published. */
  readonly publishedBytes: number;
  /** Undefined when its record does not say. */
  readonly job: { readonly id: string; readonly name: string } | undefined;
  /** Folder of its checkpoints, if the job names one. */
  readonly folder: string | undefined;
  readonly progress: Progress | undefined;
}

/** What a run without `--fresh` would resume from. */
export interface Progress {
  /** Number of the current pass, from 0; not known in sync mode. */
  readonly pass: number;
  /** Seconds since 1970, of the newest checkpoint; undefined when none was published. */
  readonly savedAt: number | undefined;
}

const recordSchema = z.object({
  id: z.string(),
  job: z.object({
    name: z.string().optional(),
    cluster: z.object({ leaseTtlMs: z.number() }),
    checkpoint: z.object({ dir: z.string().optional() }).optional(),
  }),
});

const stateSchema = z.object({ pass: z.int().min(0) });

export const recordOf = (value: string | undefined): z.infer<typeof recordSchema> | undefined =>
  parsed(recordSchema, value);

/** Undefined for what is missing, no JSON, or of another form. */
export const parsed = <T>(schema: z.ZodType<T>, value: string | undefined): T | undefined =>
  schema.safeParse(parsedJson(value ?? 'null')).data;

export async function readJobBefore(store: Store, keys: Keys): Promise<JobBefore> {
  const gets = [keys.job, keys.psDesired, keys.tasksState, keys.result].map((get) => ({ get }));
  const { results } = await store.txn({ if: [], then: gets });
  const [entry, desired, state, result] = results;
  const { entries } = await store.range({ prefix: keys.checkpointsPrefix });
  const { published } = readEntries(keys.checkpointsPrefix, entries);
  const files = published.flatMap((one) => generationsOf(one.entry));
  const kept = parsed(keptSchema, entries.find(({ key }) => key === keys.kept)?.value);
  const record = recordOf(entry?.value);
  const dir = record?.job.checkpoint?.dir;
  const savedAt = files.length === 0 ? undefined : Math.max(...files.map(({ timestamp }) => timestamp));
  const pass = parsed(stateSchema, state?.value)?.pass ?? 0;
  const isResumable = entry !== undefined && result === undefined && (savedAt !== undefined || pass > 0);
  return {
    entry,
    pservers: Number(desired?.value ?? 0),
    files: {
      jobId: record?.id,
      names: new Set([...files.map(({ uuid }) => uuid), ...(kept === undefined ? [] : filesOfKept(kept))]),
    },
    publishedBytes: files.reduce((sum, { bytes = 0 }) => sum + bytes, 0),
    job: record?.job.name === undefined ? undefined : { id: record.id, name: record.job.name },
    folder: dir === undefined ? undefined : resolve(dir),
    progress: isResumable ? { pass, savedAt } : undefined,
  };
}
