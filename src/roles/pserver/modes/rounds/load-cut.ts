/**
 * Sync mode: loads units from the last complete cut. A unit may have been on another pserver then, so it is loaded from
 * whichever file of the cut contains it. If a file of the cut is damaged, all pservers go back to the cut before it,
 * and finally to the initial values. This costs only time, because the rounds are computed again with the same bits.
 * But all pservers pay it, so a pserver waits for a file of the cut that it cannot find.
 */
import { isPaddletError, PaddletError } from '../../../../base/errors.ts';
import type { Storage } from '../../../../base/seams.ts';
import { coveredShards } from '../../../../checkpoint/file/coverage.ts';
import { corrupt } from '../../../../checkpoint/file/files.ts';
import { checkpointPath } from '../../../../checkpoint/file/paths.ts';
import { openCheckpoint } from '../../../../checkpoint/file/reader.ts';
import { type Cut, type CutFile, readCut, rolledFurtherBack } from '../../../../checkpoint/registry/cut.ts';
import { type Generation, generationsOf, readEntry } from '../../../../checkpoint/registry/entry.ts';
import { retryStore } from '../../../../cluster/ownership.ts';
import { raiseTimeline } from '../../../../cluster/placement/cut-view.ts';
import type { Fence } from '../../../../store/fence.ts';
import { filesOfPserver, type Look, lookForFiles, untilFound } from '../../files/wait-for-files.ts';
import { joined, type LoadedUnits, type LoadRoundsOptions, loadFile, loadInitial } from './load.ts';
import { unusable } from './load-last.ts';

export interface LoadCutOptions extends LoadRoundsOptions {
  /** Fence of the claim of the index, for raising the timeline if the cut is damaged. */
  readonly fence: Fence;
}

/**
 * Loads the shards, as whole units. Undefined if all pservers must go back to another cut, under a higher timeline:
 * this cut is unusable, or another pserver has already raised the timeline.
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
    // A file vanished after it was seen: look again.
    if (isPaddletError(error, 'CheckpointMissing')) return loadCut(options, cut, shards);
    context.host.log.error(unusable(error).message);
  }
  const further = (current: Cut): Cut | undefined =>
    current.timeline === cut.timeline ? rolledFurtherBack(current) : undefined;
  const raised = await raiseTimeline(context, fence, further);
  context.host.log.warn(`the cut of round ${cut.round} is damaged: all pservers go back to round ${raised.cut.round}`);
  return undefined;
}

/** The shards to load from one file of the cut. */
interface CutPart {
  readonly file: CutFile;
  readonly shards: readonly number[];
}

async function loadParts(options: LoadCutOptions, { round }: Cut, parts: readonly CutPart[]): Promise<LoadedUnits> {
  const loaded: LoadedUnits[] = [];
  for (const { file, shards } of parts) {
    const { index, uuid, md5 } = file;
    const [published, ...earlier] = await publishedFrom(options, index, uuid);
    // The entry may have lost its text; then the file is taken as whole.
    const generation = { timestamp: 0, ...published, uuid, md5 };
    loaded.push(await loadFile(options, index, [generation, ...earlier], { round, shards }));
  }
  return joined(loaded);
}

/** The files with the shards to load from each, or the error if no file has some shard. */
type CutFound = readonly CutPart[] | PaddletError | 'other cut';

/** Prefers a visible file to a file that this pserver would have to wait for. */
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

type CutSearch =
  /** The wanted shards that the file contains. */
  | { readonly shards: readonly number[] }
  /** The file may contain some of them, but cannot be found. */
  | { readonly missing: string }
  /** The file may have contained some of them, but is lost or damaged. */
  | { readonly lost: string };

async function lookInFile(
  options: LoadCutOptions,
  { index, uuid }: CutFile,
  wanted: readonly number[],
): Promise<CutSearch> {
  const { context, folder } = options;
  const { storage } = context.host;
  const place = { folder, index };
  const published = await publishedShards(options, index, uuid);
  const expected = published === undefined ? wanted : wanted.filter((shard) => published.has(shard));
  if (expected.length === 0) return { shards: [] };
  const sight = await lookForFiles(options, index, [uuid]);
  if (sight === 'forgotten') return { lost: `file ${uuid} of pserver ${index} is considered lost` };
  if (sight !== 'seen') return sight;
  if (published !== undefined) return { shards: expected };
  try {
    const here = await shardsInFile(storage, checkpointPath(place, uuid));
    return { shards: wanted.filter((shard) => here.has(shard)) };
  } catch (error) {
    const { message } = unusable(error);
    return isPaddletError(error, 'CheckpointMissing') ? { missing: message } : { lost: message };
  }
}

/** Shards of the file according to the entry of its index; undefined if the entry does not say. */
async function publishedShards(options: LoadCutOptions, index: number, uuid: string) {
  const [generation] = await publishedFrom(options, index, uuid);
  return generation?.shards && coveredShards(generation.shards);
}

/** The file and those before it in the entry of its index; none if the entry does not name it. */
async function publishedFrom({ context }: LoadCutOptions, index: number, uuid: string): Promise<Generation[]> {
  const { store, keys } = context;
  const { entry } = await retryStore(context, () => readEntry(store, keys.checkpoint(index)));
  const all = entry === undefined ? [] : generationsOf(entry);
  const at = all.findIndex((one) => one.uuid === uuid);
  return at < 0 ? [] : all.slice(at);
}

async function shardsInFile(storage: Storage, path: string): Promise<ReadonlySet<number>> {
  const reader = await openCheckpoint(storage, path);
  try {
    return new Set(reader.positions.map(({ shard }) => shard));
  } finally {
    await reader.close();
  }
}
