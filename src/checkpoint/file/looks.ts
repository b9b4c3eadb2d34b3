/**
 * When shards look for what is unseen (docs/decisions/0168), as the tensors of an extent. Only files of jobs whose rows
 * have a `seen` have them.
 */
import { assert } from '../../base/assert.ts';
import { LIMITS } from '../../base/limits.ts';
import { looksLength, looksOfWords, lookWords } from '../../core/shard/look-words.ts';
import type { LookState } from '../../core/shard/looks.ts';
import type { TrainedTable } from '../../tensor/optimizer.ts';
import { corrupt } from './files.ts';
import { TENSORS } from './format.ts';
import type { TensorInfo } from './safetensors/header.ts';
import { expectTensor, readElements, type Safetensors } from './safetensors/reader.ts';
import type { NewTensor } from './safetensors/writer.ts';

/** Place of the shard in the extent, pass, begin. */
const BEGIN_WORDS = 3;

export interface LookTensors {
  readonly looks: TensorInfo;
  /** Undefined if no shard has a begin. */
  readonly begins: TensorInfo | undefined;
}

/** `states`: of the shards of the extent, in their order. All or none of them are undefined. */
export function lookTensors(extent: number, states: readonly (LookState | undefined)[]): NewTensor[] {
  const words = states.flatMap((state) => (state === undefined ? [] : [lookWords(state)]));
  if (words.length === 0) return [];
  assert(words.length === states.length, 'all shards of a file have looks, or none');
  const begins = words.flatMap(({ begins: pairs }, place) =>
    Array.from({ length: pairs.length / 2 }, (_, at) => [BigInt(place), pairs[2 * at]!, pairs[2 * at + 1]!]),
  );
  const all = wide(
    TENSORS.looks(extent),
    [words.length, words[0]!.looks.length],
    words.flatMap(({ looks }) => [...looks]),
  );
  return begins.length === 0 ? [all] : [all, wide(TENSORS.begins(extent), [begins.length, BEGIN_WORDS], begins.flat())];
}

const wide = (name: string, shape: readonly number[], values: readonly bigint[]): NewTensor => ({
  ...{ name, dtype: 'U64', shape },
  parts: [new Uint8Array(BigUint64Array.from(values).buffer)],
});

/** Returns undefined if rows have no `seen`. Throws `CheckpointCorrupt`. */
export function lookTensorsOf(
  source: Safetensors,
  extent: number,
  { shardCount, tables }: { readonly shardCount: number; readonly tables: readonly TrainedTable[] },
): LookTensors | undefined {
  if (!tables.some(({ hasSeen }) => hasSeen)) return undefined;
  const looks = expectTensor(source, TENSORS.looks(extent), 'U64', [shardCount, looksLength(tables.length)]);
  const begins = source.tensors.get(TENSORS.begins(extent))?.shape[0];
  if (begins === undefined) return { looks, begins: undefined };
  if (begins > shardCount * LIMITS.keptBegins)
    throw corrupt(source.name, `${TENSORS.begins(extent)}: ${begins} begins of ${shardCount} shards`);
  return { looks, begins: expectTensor(source, TENSORS.begins(extent), 'U64', [begins, BEGIN_WORDS]) };
}

/** The looks of all shards of an extent, in their order. Throws `CheckpointCorrupt`. */
export async function readLooks(source: Safetensors, { looks, begins }: LookTensors): Promise<LookState[]> {
  const [shards, columns] = looks.shape as readonly [number, number];
  const all = await readElements(source, looks, 0, new BigUint64Array(shards * columns));
  const words = new BigUint64Array((begins?.shape[0] ?? 0) * BEGIN_WORDS);
  if (begins !== undefined) await readElements(source, begins, 0, words);
  const pairs = Array.from({ length: shards }, (): bigint[] => []);
  for (let at = 0; at < words.length; at += BEGIN_WORDS) pairs[Number(words[at])]?.push(words[at + 1]!, words[at + 2]!);
  return pairs.map((own, place) => {
    const some = { looks: all.slice(place * columns, (place + 1) * columns), begins: BigUint64Array.from(own) };
    const state = looksOfWords(some, columns - looksLength(0));
    if (state === undefined) throw corrupt(source.name, `${looks.name}: row ${place} does not say when a shard looks`);
    return state;
  });
}
