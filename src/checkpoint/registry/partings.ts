/**
 * `/parting/<token>`: the snapshots that owners wrote after they had lost their index, each under the token that was
 * lost. Like published files they may have the newest copy of a shard.
 */
import * as z from 'zod';
import { LIMITS } from '../../base/limits.ts';
import { parseStoreValue } from '../../core/tasks/state.ts';
import type { KeyValue } from '../../store/store.ts';
import { generationSchema } from './entry.ts';
import type { PublishedFile } from './newest.ts';

/** `index`: of the folder with the file. */
export const partingSchema = generationSchema.extend({
  index: z
    .int()
    .min(0)
    .max(LIMITS.pservers - 1)
    .optional(),
});

export interface Parting extends PublishedFile {
  readonly key: string;
  readonly modRevision: bigint;
  /** That was lost. */
  readonly token: bigint;
}

/** Those of which the index is known. Throws `StoreValueInvalid`. */
export function parsePartings(prefix: string, entries: readonly KeyValue[]): Parting[] {
  return entries.flatMap(({ key, value, modRevision }) => {
    const { index, ...generation } = parseStoreValue(partingSchema, key, value);
    return index === undefined ? [] : [{ index, generation, key, modRevision, token: tokenIn(prefix, key) }];
  });
}

const tokenIn = (prefix: string, key: string): bigint => BigInt(key.slice(prefix.length));

/**
 * The published files and the parting snapshots that no entry names, those of one index newest first: in an epoch a
 * parting snapshot is the last that its owner wrote.
 */
export function withPartings(files: readonly PublishedFile[], partings: readonly Parting[]): PublishedFile[] {
  const named = new Set(files.map(({ generation: { uuid } }) => uuid));
  const others = partings.filter(({ generation: { uuid } }) => !named.has(uuid));
  return [...others.sort((a, b) => (a.token > b.token ? -1 : 1)), ...files];
}
