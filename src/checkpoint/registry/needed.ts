/** Whether anything still needs the files of a pserver that no longer leads a unit (docs/copies.md, "Files"). */
import { type Cut, filesOfCut } from './cut.ts';
import type { PublishedFile } from './newest.ts';
import { unreplacedShards } from './retention.ts';

export interface PublishedState {
  /** Files that the entries of all pservers name. */
  readonly files: readonly PublishedFile[];
  readonly partings: readonly PublishedFile[];
  readonly cut: Cut;
  /** Names of the files that heads name as the last state. */
  readonly resting: ReadonlySet<string>;
}

export type Need =
  /** A head names this file as the last state of its unit. */
  | { readonly type: 'rest'; readonly uuid: string }
  /** The cut of this round, or the one before it, has one of the files; or it has yet to be completed. */
  | { readonly type: 'cut'; readonly round: number }
  /** No other pserver has published a newer copy of them. Undefined when it is not known which shards a file has. */
  | { readonly type: 'shards'; readonly shards: readonly number[] | undefined };

/**
 * Undefined when all files of the index may go. That stays so: its shards are in newer files, which only still newer
 * ones replace; only an owner of the index could make a head name one of them; and a cut that would name one has been
 * overtaken by a complete one.
 */
export function needOf(index: number, state: PublishedState): Need | undefined {
  const { files, partings, cut, resting } = state;
  const isMine = (file: PublishedFile): boolean => file.index === index;
  const mine = [...files, ...partings].filter(isMine).map(({ generation }) => generation);
  const rest = mine.find(({ uuid }) => resting.has(uuid));
  if (rest !== undefined) return { type: 'rest', uuid: rest.uuid };
  const ofCuts = filesOfCut(cut);
  const isOfCut = mine.some(({ uuid, round }) => ofCuts.has(uuid) || (round !== undefined && round > cut.round));
  if (isOfCut) return { type: 'cut', round: cut.round };
  const others = files.filter((file) => !isMine(file)).map(({ generation }) => generation);
  const shards = new Set<number>();
  for (const generation of mine) {
    const left = unreplacedShards(generation, others);
    if (left === undefined) return { type: 'shards', shards: undefined };
    for (const { shard } of left) shards.add(shard);
  }
  return shards.size === 0 ? undefined : { type: 'shards', shards: [...shards].sort((a, b) => a - b) };
}

/** The need as a text for people. */
export function needText(need: Need): string {
  if (need.type === 'rest') return `file ${need.uuid} is the last state of a unit`;
  if (need.type === 'cut') return `the cuts up to round ${need.round} need a file of it`;
  if (need.shards === undefined) return 'paddlet does not know which shards its files have';
  return `${need.shards.length} shards are in no newer file of another pserver`;
}
