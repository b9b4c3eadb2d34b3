/** Which shards a file holds, and their positions, short enough for a value of the store. */
import * as z from 'zod';
import { LIMITS } from '../../base/limits.ts';
import type { ShardPosition } from './format.ts';

export const coverageSchema = z
  .array(
    z.object({
      epoch: z.int().min(0),
      /** Least and greatest seq among these shards. */
      seq: z.tuple([z.int().min(0), z.int().min(0)]),
      /** `0-510/2,7`: ranges with a step, both ends included. */
      shards: z.string().max(LIMITS.shards * 6),
      /** Index in the file's `parents` of the file that these shards build on. Absent if they are whole. */
      parent: z
        .int()
        .min(0)
        .max(LIMITS.deltaParents - 1)
        .optional(),
    }),
  )
  .max(LIMITS.shards)
  .readonly();

/** Shards by epoch. */
export type Coverage = z.infer<typeof coverageSchema>;

/** Names of the files that some of the shards build on. */
export const parentsOf = (positions: readonly ShardPosition[]): string[] =>
  [...new Set(positions.flatMap(({ parent }) => parent?.uuid ?? []))].sort();

export function coverageOf(positions: readonly ShardPosition[]): Coverage {
  const parents = parentsOf(positions);
  const placeOf = ({ parent }: ShardPosition): number => (parent === undefined ? -1 : parents.indexOf(parent.uuid));
  const groups = Map.groupBy(positions, (position) => `${position.epoch} ${placeOf(position)}`);
  return [...groups.values()]
    .map((group) => ({ group, epoch: group[0]!.epoch, parent: placeOf(group[0]!) }))
    .sort((a, b) => a.epoch - b.epoch || a.parent - b.parent)
    .map(({ group, epoch, parent }) => {
      const shards = group.map(({ shard }) => shard).sort((a, b) => a - b);
      let [low, high] = [Number.MAX_SAFE_INTEGER, 0];
      for (const { seq } of group) [low, high] = [Math.min(low, seq), Math.max(high, seq)];
      return { epoch, seq: [low, high], shards: formatShards(shards), ...(parent < 0 ? {} : { parent }) };
    });
}

/** Ascending shard numbers as ranges. */
export function formatShards(shards: readonly number[]): string {
  const parts: string[] = [];
  for (let at = 0; at < shards.length; ) {
    const first = shards[at]!;
    const step = (shards[at + 1] ?? first) - first;
    let end = at;
    while (end + 1 < shards.length && shards[end + 1]! - shards[end]! === step) end++;
    const isRange = end - at >= 2 || (end > at && step === 1);
    parts.push(isRange ? `${first}-${shards[end]}${step === 1 ? '' : `/${step}`}` : `${first}`);
    at = isRange ? end + 1 : at + 1;
  }
  return parts.join(',');
}

/** Undefined for a text that `formatShards` does not make. */
export function parseShards(text: string): number[] | undefined {
  if (text === '') return [];
  const shards: number[] = [];
  for (const part of text.split(',')) {
    const match = /^(\d{1,5})(?:-(\d{1,5})(?:\/(\d{1,5}))?)?$/.exec(part);
    if (match === null) return undefined;
    const first = Number(match[1]);
    const last = Number(match[2] ?? first);
    const step = Number(match[3] ?? 1);
    if (step === 0 || last < first || last >= LIMITS.shards || first <= (shards.at(-1) ?? -1)) return undefined;
    for (let shard = first; shard <= last; shard += step) shards.push(shard);
  }
  return shards;
}

/** Shard → its least and its greatest possible position. */
export type CoveredShards = ReadonlyMap<
  number,
  { readonly epoch: number; readonly low: number; readonly high: number; readonly parent?: number | undefined }
>;

/** Undefined when the ranges cannot be read. */
export function coveredShards(coverage: Coverage): CoveredShards | undefined {
  const covered = new Map<number, { epoch: number; low: number; high: number; parent?: number | undefined }>();
  for (const { epoch, seq, shards, parent } of coverage) {
    const numbers = parseShards(shards);
    if (numbers === undefined) return undefined;
    for (const shard of numbers)
      covered.set(shard, { epoch, low: seq[0], high: seq[1], ...(parent === undefined ? {} : { parent }) });
  }
  return covered;
}
