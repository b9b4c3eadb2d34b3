/**
 * Sync mode: units as the last complete cut has them. A unit is loaded from whichever file of the cut has it: it may
 * have been on another pserver then. A damaged file of the cut leads to the cut before it, and finally to the initial
 * values. That costs only time: the rounds are computed again with the same bits. But all pservers pay it, so a file of
 * the cut that cannot be found is waited for.
 */
import { isPaddletError, PaddletError } from '../../../../base/errors.ts';
import type { Disk } from '../../../../base/seams.ts';
import { coveredShards } from '../../../../checkpoint/file/coverage.ts';
import { corrupt } from '../../../../checkpoint/file/files.ts';
import { checkpointPath } from '../../../../checkpoint/file/paths.ts';
import { openCheckpoint } from '../../../../checkpoint/file/reader.ts';
import { type Cut, type CutFile, readCut, rolledFurtherBack } from '../../../../checkpoint/registry/cut.ts';
import { generationsOf, readEntry } from '../../../../checkpoint/registry/entry.ts';
import { retryStore } from '../../../../cluster/ownership.ts';
import { raiseTimeline } from '../../../../cluster/placement/cut-view.ts';
import type { Fence } from '../../../../store/fence.ts';
import { filesOfPserver, type Look, lookForFiles, untilFound } from '../../files/wait-for-files.ts';
import { joined, type LoadedUnits, type LoadRoundsOptions, loadFile, loadInitial } from './load.ts';
import { unusable } from './load-last.ts';

export interface LoadCutOptions extends LoadRoundsOptions {
  /** Of the claim of the index: to go further back than to this cut. */
  readonly fence: Fence;
}

/**
 * The shards, as whole units. Undefined when another cut is the one to go back to, under a higher timeline: this one
 * cannot be used, or another pserver has found that.
 */
export async function loadCut(
  options: LoadCutOptions,
  cut: Cut,
  shards: readonly number[],
): Promise<LoadedUnits | undefined> {
  const { context, fence } = options;
  if (shards.length === 0 || cut.round === 0) return loadInitial(options, shards);
  const found = await untilFound(options, () => lookForCut(options, cut, shards));
  if (found === 'other cut') return undefined;
  try {
    if (found instanceof PaddletError) throw found;
    return await loadParts(options, cut, found);
  } catch (error) {
    for (const shard of shards) if (options.into.hasShard(shard)) options.into.dropShard(shard);
    // A file vanished since it was seen.
    if (isPaddletError(error, 'CheckpointMissing')) return loadCut(options, cut, shards);
    context.host.log.error(unusable(error).message);
  }
  const further = (current: Cut): Cut | undefined =>
    current.timeline === cut.timeline ? rolledFurtherBack(current) : undefined;
  const raised = await raiseTimeline(context, fence, further);
  context.host.log.warn(`the cut of round ${cut.round} is damaged: all pservers go back to round ${raised.cut.round}`);
  return undefined;
}

/** What is loaded from a file. */
interface CutPart {
  readonly file: CutFile;
  readonly shards: readonly number[];
}

async function loadParts(options: LoadCutOptions, { round }: Cut, parts: readonly CutPart[]): Promise<LoadedUnits> {
  const loaded: LoadedUnits[] = [];
  for (const { file, shards } of parts) {
    const { index, uuid, md5 } = file;
    loaded.push(await loadFile(options, index, { uuid, md5, timestamp: 0 }, { round, shards }));
  }
  return joined(loaded);
}

/** Which file each shard is loaded from, or why there is none for some of them. */
type CutFound = readonly CutPart[] | PaddletError | 'other cut';

/** A file that is here is preferred to one that has to be waited for. */
async function lookForCut(options: LoadCutOptions, cut: Cut, shards: readonly number[]): Promise<Look<CutFound>> {
  const { store, keys } = options.context;
  const parts: CutPart[] = [];
  let missing: Look<never> | undefined;
  const complaints: string[] = [];
  let left = shards;
  for (const file of ownFirst(cut.files, options.index)) {
    const looked = await lookInFile(options, file, left);
    if ('missing' in looked) missing ??= { missing: looked.missing, of: filesOfPserver(file.index) };
    else if ('lost' in looked) complaints.push(looked.lost);
    else {
      parts.push({ file, shards: looked.shards });
      const found = new Set(looked.shards);
      left = left.filter((shard) => !found.has(shard));
    }
  }
  if (left.length === 0) return { answer: parts.filter((part) => part.shards.length > 0) };
  if (missing === undefined) {
    return { answer: corrupt(keys.cut, [`no file of the cut has shard ${left.join(', ')}`, ...complaints].join('; ')) };
  }
  const now = await retryStore(options.context, () => readCut(store, keys.cut));
  return now.cut.timeline === cut.timeline ? missing : { answer: 'other cut' };
}

const ownFirst = (files: readonly CutFile[], own: number): CutFile[] =>
  [...files].sort((a, b) => Number(b.index === own) - Number(a.index === own));

type LookedInFile =
  /** Those of the wanted shards that the file has. */
  | { readonly shards: readonly number[] }
  /** It may have some of them, and cannot be found. */
  | { readonly missing: string }
  /** It may have had some of them. */
  | { readonly lost: string };

async function lookInFile(
  options: LoadCutOptions,
  { index, uuid }: CutFile,
  wanted: readonly number[],
): Promise<LookedInFile> {
  const { context, folder } = options;
  const { disk } = context.host;
  const place = { folder, index };
  const published = await publishedShards(options, index, uuid);
  const expected = published === undefined ? wanted : wanted.filter((shard) => published.has(shard));
  if (expected.length === 0) return { shards: [] };
  const sight = await lookForFiles(options, index, [uuid]);
  if (sight === 'forgotten') return { lost: `file ${uuid} of pserver ${index} is considered lost` };
  if (sight !== 'seen') return sight;
  if (published !== undefined) return { shards: expected };
  try {
    const here = await shardsInFile(disk, checkpointPath(place, uuid));
    return { shards: wanted.filter((shard) => here.has(shard)) };
  } catch (error) {
    const { message } = unusable(error);
    return isPaddletError(error, 'CheckpointMissing') ? { missing: message } : { lost: message };
  }
}

/** What the index's entry says of the file; undefined when it does not name it. */
async function publishedShards({ context }: LoadCutOptions, index: number, uuid: string) {
  const { store, keys } = context;
  const { entry } = await retryStore(context, () => readEntry(store, keys.checkpoint(index)));
  const generation = entry && generationsOf(entry).find((one) => one.uuid === uuid);
  return generation?.shards && coveredShards(generation.shards);
}

async function shardsInFile(disk: Disk, path: string): Promise<ReadonlySet<number>> {
  const reader = await openCheckpoint(disk, path);
  try {
    return new Set(reader.positions.map(({ shard }) => shard));
  } finally {
    await reader.close();
  }
}
