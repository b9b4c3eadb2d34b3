/** Published files stay as long as something names them, a cut is complete, and nothing grows without a limit. */
import { PaddletError } from '../../../src/base/errors.ts';
import { coveredShards } from '../../../src/checkpoint/file/coverage.ts';
import { type Cut, filesOfCut } from '../../../src/checkpoint/registry/cut.ts';
import {
  type CheckpointEntry,
  type Generation,
  generationsOf,
  timelineOf,
} from '../../../src/checkpoint/registry/entry.ts';
import { parseParting } from '../../../src/checkpoint/registry/partings.ts';
import type { Head } from '../../../src/cluster/placement/heads.ts';
import { MOST_DELTAS } from '../../../src/core/delta-chain.ts';
import { indexOf, type Oracle, type World } from './oracle.ts';

/**
 * Beside the files that are kept: those of the cut and of the one before, the newest, one being written, a parting, and
 * those that others are reading. Each of them may be one of a chain.
 */
const EXTRA_FILES = 10;
/** For each pserver, with one shard more; the rest of the store does not grow with anything that happens. */
const ENTRY_BYTES = 16_384;
const DELTA_BYTES = 1_024;
const KEYS = 400;

export function files(world: World): Oracle {
  const { keys, shards, keep } = world;

  const cutNow = (): Cut | undefined => {
    const found = world.get(keys.cut);
    return found && (JSON.parse(found.value) as Cut);
  };

  /** Files that were published or announced, by name. */
  const known = new Map<string, Generation>();

  const entries = (): { readonly index: number; readonly files: readonly Generation[] }[] =>
    world.keyNames().flatMap((key) => {
      if (!key.startsWith(keys.checkpointsPrefix) || key === keys.cut) return [];
      const entry = JSON.parse(world.get(key)!.value) as CheckpointEntry;
      return [{ index: Number(key.slice(keys.checkpointsPrefix.length)), files: generationsOf(entry) }];
    });

  const positionIn = ({ shards: coverage }: Generation, shard: number) =>
    coverage && coveredShards(coverage)?.get(shard);

  const epochIn = (file: Generation, shard: number): number => positionIn(file, shard)?.epoch ?? -1;

  function namedBy(index: number, uuid: string): string | undefined {
    const cut = cutNow();
    const isNeededBy = (file: string): boolean => file === uuid || ancestorsOf(file).has(uuid);
    if (cut !== undefined && [...filesOfCut(cut)].some(isNeededBy)) return keys.cut;
    const resting = world.keyNames().find((key) => {
      const rest = key.startsWith(keys.headsPrefix) ? (JSON.parse(world.get(key)!.value) as Head).rest : undefined;
      return rest !== undefined && isNeededBy(rest.uuid);
    });
    const mine = entries().find((entry) => entry.index === index);
    const isNamed = mine?.files.some((file) => file.uuid === uuid) === true;
    // One that leaves deletes its files before its key: others have newer copies of all that is in them.
    return resting ?? (isNamed && !isReplaced(index, uuid) ? keys.checkpoint(index) : undefined);
  }

  /** All files that it builds on. */
  function ancestorsOf(uuid: string): Set<string> {
    const found = new Set(known.get(uuid)?.parents);
    for (const parent of found) for (const one of known.get(parent)?.parents ?? []) found.add(one);
    return found;
  }

  function checkParents(index: number, named: readonly Generation[]): void {
    const names = new Set(named.map(({ uuid }) => uuid));
    const onDisk = new Set(world.filesOf(index));
    for (const { uuid, parents = [] } of named) {
      for (const parent of parents) {
        if (!names.has(parent)) world.violated(`${uuid} builds on ${parent}, which pserver ${index} does not list`);
        else if (!onDisk.has(parent) && !world.wasDamaged(index))
          world.violated(`${uuid} builds on ${parent}, which pserver ${index} does not have`);
      }
    }
  }

  function isReplaced(index: number, uuid: string): boolean {
    const file = known.get(uuid)!;
    const others = entries().flatMap((entry) => (entry.index === index ? [] : entry.files));
    return lacking(file, (shard) => others.some((other) => isNewer(other, file, shard))).length === 0;
  }

  /** By its epoch; a backup copy that was written down is of the epoch of its primary, at a later position. */
  function isNewer(a: Generation, b: Generation, shard: number): boolean {
    const [one, other] = [positionIn(a, shard), positionIn(b, shard)];
    if (one === undefined || other === undefined) return false;
    if (one.epoch !== other.epoch) return one.epoch > other.epoch;
    return timelineOf(a) >= timelineOf(b) && one.low > other.high;
  }

  /** Shards of the file for which that does not hold. */
  function lacking(file: Generation, holds: (shard: number, epoch: number) => boolean): number[] {
    const covered = [...((file.shards && coveredShards(file.shards)) ?? [])];
    return covered.flatMap(([shard, { epoch }]) => (holds(shard, epoch) ? [] : [shard]));
  }

  const announced = (): Generation[] =>
    world.keyNames().flatMap((key) => {
      return key.startsWith(keys.partingPrefix) ? parseParting(key, world.get(key)!.value).files : [];
    });

  /** Whatever was published or announced once: a copy that is as new, or newer, is so still. */
  function checkNewest(index: number, uuid: string): void {
    const file = known.get(uuid);
    if (file === undefined) return;
    const all = [...entries().flatMap(({ files }) => files), ...announced()];
    const others = all.filter((one) => one.uuid !== uuid);
    const lost = lacking(file, (shard, epoch) => others.some((other) => epochIn(other, shard) >= epoch));
    if (lost.length > 0)
      world.violated(`pserver ${index} removed ${uuid}, the newest copy of shards ${lost.join(' ')}`);
  }

  /** Those that the file has at that round, as its entry says. */
  function shardsOf({ index, uuid }: Cut['files'][number], round: number): number[] {
    const found = world.get(keys.checkpoint(index));
    const entry = found && (JSON.parse(found.value) as CheckpointEntry);
    const file = entry && generationsOf(entry).find((one) => one.uuid === uuid);
    const covered = [...((file?.shards && coveredShards(file.shards)) ?? [])];
    return covered.flatMap(([shard, { low, high }]) => (low === round && high === round ? [shard] : []));
  }

  function checkCut(cut: Cut, before: Cut | undefined): void {
    if (cut.timeline !== (before?.timeline ?? 0) || cut.round === 0) return;
    const covered = new Set(cut.files.flatMap((file) => shardsOf(file, cut.round)));
    const lacking = Array.from({ length: shards }, (_, shard) => shard).filter((shard) => !covered.has(shard));
    if (lacking.length > 0) world.violated(`the cut of round ${cut.round} lacks shards ${lacking.join(' ')}`);
    for (const { index, uuid } of cut.files) {
      if (world.wasDamaged(index) || world.filesOf(index).includes(uuid)) continue;
      world.violated(`the cut of round ${cut.round} names ${uuid}, which pserver ${index} does not have`);
    }
  }

  /** Sync mode: files of one round belong together, so each file is of one. */
  function checkRound(index: number, { uuid, round, shards: coverage }: Generation): void {
    const covered = [...((coverage && coveredShards(coverage)) ?? [])];
    const others = covered.filter(([, { low, high }]) => low !== round || high !== round).map(([shard]) => shard);
    if (round === undefined || others.length === 0) return;
    world.violated(`file ${uuid} of pserver ${index} is of round ${round}, but its shards ${others.join(' ')} are not`);
  }

  function checkSizes(index: number, key: string, value: string): void {
    const names = world.filesOf(index);
    const deltas = names.filter((name) => known.get(name)?.kind === 'delta').length;
    if (names.length - deltas > keep + EXTRA_FILES || deltas > (keep + EXTRA_FILES) * MOST_DELTAS)
      world.violated(`pserver ${index} has ${names.length} files, of which ${deltas} are deltas`);
    if (value.length > ENTRY_BYTES + deltas * DELTA_BYTES) world.violated(`${key} has grown to ${value.length} bytes`);
    const count = world.keyNames().length;
    if (count > KEYS) world.violated(`the store has grown to ${count} keys`);
  }

  return {
    removed(index, path) {
      const uuid = path.slice(path.lastIndexOf('/') + 1);
      const key = namedBy(index, uuid);
      if (key !== undefined) world.violated(`pserver ${index} removed ${uuid}, which ${key} names`);
      checkNewest(index, uuid);
    },
    answered({ request, outcome }) {
      if (request.type === 'readFile' && !(outcome instanceof PaddletError)) world.count('part of a file given');
    },
    wrote({ process, key, value, before }) {
      if (key.startsWith(keys.partingPrefix) || (key.startsWith(keys.checkpointsPrefix) && key !== keys.cut)) {
        for (const file of generationsOf(JSON.parse(value) as CheckpointEntry)) {
          if (!known.has(file.uuid)) checkRound(indexOf(process), file);
          known.set(file.uuid, file);
        }
      }
      if (key === keys.cut) checkCut(JSON.parse(value) as Cut, before && (JSON.parse(before.value) as Cut));
      else if (process.role === 'pserver' && key === keys.checkpoint(indexOf(process))) {
        checkSizes(indexOf(process), key, value);
        checkParents(indexOf(process), generationsOf(JSON.parse(value) as CheckpointEntry));
      }
    },
  };
}
