/**
 * `/parting/<token>`: the snapshot that an owner wrote after it had lost its index, under the token that was lost. Like
 * a published file it may have the newest copy of a shard. It is several files in sync mode when the owner's units were
 * at several rounds, as each file is of one round.
 */
import * as z from 'zod';
import { LIMITS } from '../../base/limits.ts';
import { parseStoreValue } from '../../core/tasks/state.ts';
import type { KeyValue } from '../../store/store.ts';
import { type Generation, generationSchema } from './entry.ts';
import type { PublishedFile } from './newest.ts';

/** `index`: of the folder with the files. `generations`: those beside the first. */
const partingSchema = generationSchema.extend({
  index: z
    .int()
    .min(0)
    .max(LIMITS.pservers - 1)
    .optional(),
  generations: z.array(generationSchema).max(LIMITS.checkpointGenerations).optional(),
});

/** The files of one snapshot, each with other shards. */
export interface PartingFiles {
  readonly index: number;
  readonly files: readonly [Generation, ...Generation[]];
}

export function encodeParting({ index, files: [first, ...others] }: PartingFiles): string {
  const more = others.length === 0 ? {} : { generations: others };
  return JSON.stringify({ ...first, ...more, index } satisfies z.infer<typeof partingSchema>);
}

/** `index` is undefined in a snapshot of an older version. Throws `StoreValueInvalid`. */
export function parseParting(key: string, value: string) {
  const { index, generations = [], ...first } = parseStoreValue(partingSchema, key, value);
  return { index, files: [first, ...generations] };
}

/** One file of a snapshot. */
export interface Parting extends PublishedFile {
  readonly key: string;
  readonly modRevision: bigint;
  /** The token that was lost. */
  readonly token: bigint;
}

/** Those of which the index is known. Throws `StoreValueInvalid`. */
export function parsePartings(prefix: string, entries: readonly KeyValue[]): Parting[] {
  return entries.flatMap(({ key, value, modRevision }) => {
    const { index, files } = parseParting(key, value);
    if (index === undefined) return [];
    return files.map((generation) => ({ index, generation, key, modRevision, token: tokenIn(prefix, key) }));
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
