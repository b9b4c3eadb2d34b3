/**
 * The key `/checkpoints/kept`: files of the models that are kept under a name. The pservers drop them from their
 * entries as any other, but do not delete them; the master does, once no model that is kept has them.
 */
import * as z from 'zod';
import { LIMITS } from '../../base/limits.ts';
import { parseStoreValue } from '../../core/tasks/state.ts';
import { UUID_PATTERN } from '../file/paths.ts';

const fileSchema = z.strictObject({
  index: z
    .int()
    .min(0)
    .max(LIMITS.pservers - 1),
  uuid: z.string().regex(UUID_PATTERN),
});
/** A published file of a pserver. */
export type KeptFile = z.infer<typeof fileSchema>;

const modelSchema = z.strictObject({
  name: z.string().min(1).max(LIMITS.nameCharacters),
  files: z.array(fileSchema).max(LIMITS.manifestFiles),
});
export type KeptModel = z.infer<typeof modelSchema>;

export const keptSchema = z.strictObject({
  models: z.array(modelSchema).max(LIMITS.keptModels),
  /** Files of models that are kept no longer: those that nothing else names are being deleted. */
  released: z.array(fileSchema).max(LIMITS.manifestFiles).default([]),
});
export type Kept = z.infer<typeof keptSchema>;

export interface ReadKept extends Kept {
  /** 0n while the key does not exist. */
  readonly modRevision: bigint;
}

/** Throws `StoreValueInvalid`. */
export const parseKept = (key: string, found: { value: string; modRevision: bigint } | undefined): ReadKept =>
  found === undefined
    ? { models: [], released: [], modRevision: 0n }
    : { ...parseStoreValue(keptSchema, key, found.value), modRevision: found.modRevision };

export const encodeKept = ({ models, released }: Kept): string => JSON.stringify({ models, released } satisfies Kept);

/** Names of the files that no pserver may delete. */
export const filesOfKept = ({ models, released }: Kept): ReadonlySet<string> =>
  new Set([...models.flatMap(({ files }) => files), ...released].map(({ uuid }) => uuid));
