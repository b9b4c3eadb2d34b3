/**
 * The key `/checkpoints/kept` lists the files of kept models. A pserver drops these files from its entry like others,
 * but does not delete them. The master deletes a file once no kept model has it and no entry names it.
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
  /** Files of models that the master no longer keeps. It is deleting those that nothing else names. */
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
