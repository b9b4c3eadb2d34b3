/**
 * Sync mode: loads the exact last state of units, which their former owner left on a clean stop or in a parting
 * snapshot. Under one timeline, all units stay within one round of each other. So a last state of the current timeline
 * fits the other units, and no pserver has to go back for it.
 */
import { isPaddletError, type PaddletError } from '../../../../base/errors.ts';
import type { Cut } from '../../../../checkpoint/registry/cut.ts';
import type { Rest } from '../../../../cluster/placement/heads.ts';
import { shardsOfUnits, unitOf } from '../../../../core/units/units.ts';
import { type FormerState, type LastState, lastState } from '../../files/last-state.ts';
import { isAwayForNow, type Look, lookForFiles, untilFound } from '../../files/wait-for-files.ts';
import { waitForParting } from '../../files/wait-for-parting.ts';
import type { FormerUnits } from '../../take/take-units.ts';
import { joined, type LoadedUnits, type LoadRoundsOptions, loadFile } from './load.ts';

/** Undefined if the last state of any unit is of another timeline than the cut, or its file is damaged. */
export async function loadLast(
  options: LoadRoundsOptions,
  former: FormerUnits,
  cut: Cut,
): Promise<LoadedUnits | undefined> {
  const parts: LoadedUnits[] = [];
  const damaged = new Set<string>();
  let left = shardsOfUnits(former.units, { units: options.units, shards: options.expected.shards });
  await waitForParting({ ...options, limitMs: options.partingLimitMs }, former, left);
  while (left.length > 0) {
    const shards = left;
    // The parting snapshot of an owner may contain only some of the shards.
    const found = await untilFound(options, () => lookForAny(options, former, { shards, cut, damaged }));
    const part = await loadExact(options, found, cut.timeline, damaged);
    if (part === undefined) return undefined;
    if (part === 'vanished') continue;
    parts.push(part);
    left = left.filter((shard) => !found.shards.includes(shard));
  }
  return joined(parts);
}

async function loadExact(
  options: LoadRoundsOptions,
  found: LastState,
  timeline: number,
  damaged: Set<string>,
): Promise<LoadedUnits | 'vanished' | undefined> {
  const { log } = options.context.host;
  const { index, generations, exact, complaint, parting, partedAt, shards } = found;
  if (complaint !== undefined) log.error(complaint);
  const [newest, ...earlier] = generations;
  if (newest?.round === undefined || !exact || newest.timeline !== String(timeline)) return undefined;
  try {
    const loaded = await loadFile(options, index, [newest, ...earlier], { round: newest.round, shards });
    const rest: Rest = { index, uuid: newest.uuid };
    return {
      ...loaded,
      // No entry names a parting snapshot, so a head must not name it: it could not be found again.
      rests: new Map(parting === undefined ? shards.map((shard) => [unitOf(shard, options.units), rest]) : []),
      partedAt,
    };
  } catch (error) {
    if (isPaddletError(error, 'CheckpointMissing') && (await isAway(options, found))) return 'vanished';
    log.error(unusable(error).message);
    if (parting === undefined) return undefined;
    // Another process may also have written a parting snapshot of the units.
    damaged.add(newest.uuid);
    return 'vanished';
  }
}

const isAway = ({ context, folder }: LoadRoundsOptions, { index, generations }: LastState): Promise<boolean> => {
  const uuids = generations.map(({ uuid }) => uuid);
  return isAwayForNow(context.host.storage, { folder, index }, uuids);
};

/**
 * Looks once for the last state. The look has an answer if a published file of the owner is visible, if all its files
 * are given up, or if it published none.
 */
async function lookForAny(
  options: LoadRoundsOptions,
  former: FormerState,
  { shards, cut, damaged }: { shards: readonly number[]; cut: Cut; damaged: ReadonlySet<string> },
): Promise<Look<LastState>> {
  // Read the store on each look: an owner that still has its memory may announce a parting snapshot.
  const state = await lastState(options.context, former, shards, damaged);
  const { index, generations } = state;
  const ofCuts = [cut, cut.before].flatMap((one) => one?.files.filter((file) => file.index === index) ?? []);
  const published = [...generations, ...ofCuts];
  if (published.length === 0) return { answer: state };
  const uuids = [...new Set(published.map(({ uuid }) => uuid))];
  const sight = await lookForFiles(options, index, uuids);
  return typeof sight === 'string' ? { answer: state } : sight;
}

export function unusable(error: unknown): PaddletError {
  if (isPaddletError(error, 'CheckpointMissing', 'CheckpointCorrupt')) return error;
  throw error;
}
