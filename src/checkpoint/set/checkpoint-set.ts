/**
 * Several files read as one checkpoint: of each shard the copy with the highest (epoch, seq). All must be of one job.
 * Memory: the headers, and where each shard is.
 */
import { dirname, join } from 'node:path';
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import type { Storage } from '../../base/seams.ts';
import type { ParameterSpec } from '../../tensor/spec.ts';
import { formatShards } from '../file/coverage.ts';
import { corrupt } from '../file/files.ts';
import type { FileFacts, ShardPosition } from '../file/format.ts';
import { differenceOf } from '../file/made-for.ts';
import { type CheckpointReader, openCheckpoint } from '../file/reader.ts';
import { findFiles } from '../registry/discover.ts';
import type { FileRef } from '../registry/file-ref.ts';
import { followParents, type ShardSource } from './shard-source.ts';

export interface CheckpointPart extends FileRef {
  readonly reader: CheckpointReader;
  /** Shards with rows that are read from this file. */
  readonly shards: readonly number[];
}

export interface CheckpointSet {
  /** Facts of the newest file: job, parameters, optimizers and shards are the same in all files. */
  readonly facts: FileFacts;
  /** Files that at least one shard is read from. */
  readonly parts: readonly CheckpointPart[];
  /** Sorted by shard number. */
  readonly shards: readonly ShardSource[];
  /** Shards of the job that are in none of the files. */
  readonly missing: readonly number[];
  close(): Promise<void>;
}

/**
 * Opens the files, and those that they build on, which are in the same folders. Throws `CheckpointMissing`,
 * `CheckpointCorrupt` (files of several jobs included).
 */
export async function openCheckpointSet(storage: Storage, files: readonly FileRef[]): Promise<CheckpointSet> {
  const opened: Opened[] = [];
  try {
    for (const ref of files) opened.push({ ref, reader: await openPart(storage, ref) });
    const damaged = await openParents(storage, opened);
    const set = joinParts(opened.slice(0, files.length), opened, damaged);
    const used = new Set(set.parts.map(({ reader }) => reader));
    for (const { reader } of opened) if (!used.has(reader)) await reader.close();
    return set;
  } catch (error) {
    // The first error says what is wrong.
    for (const { reader } of opened) await reader.close().catch(() => undefined);
    throw error;
  }
}

/**
 * Adds the files that those before them build on. One that is missing or damaged may be needed for no shard. Returns
 * what is wrong with the damaged ones, by name.
 */
async function openParents(storage: Storage, opened: Opened[]): Promise<Map<string, PaddletError>> {
  const damaged = new Map<string, PaddletError>();
  const known = new Set(opened.map(({ reader }) => reader.facts.uuid));
  // The list grows while it is read: a parent may be a delta, too.
  for (const { ref, reader } of opened) {
    const { index, parents = [] } = reader.facts;
    for (const uuid of parents.filter((name) => !known.has(name))) {
      known.add(uuid);
      const { earlier = [] } = ref;
      const published = earlier.find((generation) => generation.uuid === uuid);
      const path = join(dirname(ref.path), uuid);
      const parent: FileRef = { path, index, uuid, earlier, ...(published && { published }) };
      try {
        opened.push({ ref: parent, reader: await openPart(storage, parent) });
      } catch (error) {
        if (!isPaddletError(error, 'CheckpointMissing', 'CheckpointCorrupt')) throw error;
        if (error.code === 'CheckpointCorrupt') damaged.set(uuid, error);
      }
    }
  }
  return damaged;
}

/** Acts on the checkpoint at a path, which `findFiles` understands, and closes it. */
export async function withCheckpointAt<T>(
  storage: Storage,
  path: string,
  act: (set: CheckpointSet) => Promise<T>,
): Promise<T> {
  const set = await openCheckpointSet(storage, (await findFiles(storage, path)).files);
  try {
    return await act(set);
  } finally {
    await set.close();
  }
}

/** Opens one file and checks that it is the one its path names. */
export async function openPart(storage: Storage, { path, index, uuid }: FileRef): Promise<CheckpointReader> {
  const reader = await openCheckpoint(storage, path);
  const { facts } = reader;
  if ((uuid ?? facts.uuid) === facts.uuid && (index ?? facts.index) === facts.index) return reader;
  await reader.close();
  throw corrupt(path, `the file contains checkpoint ${facts.uuid} of pserver ${facts.index}: someone moved it here`);
}

/** `all`: the files, and those that they build on. */
function joinParts(
  files: readonly Opened[],
  all: readonly Opened[],
  damaged: ReadonlyMap<string, PaddletError>,
): CheckpointSet {
  const newestFirst = newestRound(files).sort((a, b) => b.reader.facts.createdAt - a.reader.facts.createdAt);
  const first = newestFirst[0];
  if (first === undefined) throw new PaddletError('CheckpointMissing', 'not a checkpoint file');
  const { facts } = first.reader;
  const best = new Map<number, ShardPosition & { readonly reader: CheckpointReader }>();
  for (const { reader } of newestFirst) {
    expectSameJob(first.reader, reader);
    for (const position of reader.positions) {
      const found = best.get(position.shard);
      if (found === undefined || isNewer(position, found)) best.set(position.shard, { ...position, reader });
    }
  }
  const byName = new Map(all.map(({ reader }) => [reader.facts.uuid, reader]));
  const parentOf = (uuid: string): CheckpointReader | undefined => {
    const error = damaged.get(uuid);
    if (error !== undefined) throw error;
    return byName.get(uuid);
  };
  const shards = [...best.values()]
    .sort((a, b) => a.shard - b.shard)
    .map(({ reader, ...position }) => followParents(reader, position, parentOf));
  const shardsIn = new Map(all.map(({ reader }): [CheckpointReader, number[]] => [reader, []]));
  for (const { shard, links } of shards) for (const reader of links) shardsIn.get(reader)!.push(shard);
  const parts = all.flatMap(({ ref, reader }) => {
    const mine = shardsIn.get(reader)!;
    if (mine.length > 0) expectSameJob(first.reader, reader);
    return mine.length === 0 ? [] : [{ ...ref, reader, shards: mine }];
  });
  return {
    facts,
    parts,
    shards,
    missing: Array.from({ length: facts.shards }, (_, shard) => shard).filter((shard) => !best.has(shard)),
    close: async () => {
      for (const { reader } of parts) await reader.close();
    },
  };
}

type Opened = { readonly ref: FileRef; readonly reader: CheckpointReader };

/** Sync mode: files of one round only, the newest that has every shard, or the newest of all when none has. */
function newestRound(opened: readonly Opened[]): Opened[] {
  const byRound = Map.groupBy(opened, ({ reader }) => reader.facts.rounds?.round ?? -1);
  const newestFirst = [...byRound].sort(([a], [b]) => b - a).map(([, files]) => files);
  const whole = newestFirst.find((files) => {
    const shards = new Set(files.flatMap(({ reader }) => reader.positions.map(({ shard }) => shard)));
    return files.some(({ reader }) => shards.size === reader.facts.shards);
  });
  return [...(whole ?? newestFirst[0] ?? [])];
}

const isNewer = (a: ShardPosition, b: ShardPosition): boolean =>
  a.epoch > b.epoch || (a.epoch === b.epoch && a.seq > b.seq);

/** Throws `CheckpointCorrupt` when the two are not of one job. */
export function expectSameJob(a: CheckpointReader, b: CheckpointReader): void {
  if (a.facts.jobId !== b.facts.jobId) {
    const [one, other] = [a, b].map(({ facts }) => `${facts.jobName} (${facts.jobId})`);
    throw new PaddletError(
      'CheckpointCorrupt',
      `${b.path} belongs to job ${other}, but ${a.path} belongs to job ${one}`,
      {
        hint: 'give a folder that contains the files of only one job, or choose the job with --job-id',
      },
    );
  }
  const difference = differenceOf(b.facts, a.facts);
  if (difference !== undefined) throw corrupt(b.path, `different ${difference.part} than ${a.path}`);
}

/** Throws `CheckpointMissing` when a shard of the job is in none of the files. */
export function expectWhole({ missing, facts }: CheckpointSet): void {
  if (missing.length === 0) return;
  const which = formatShards(missing);
  throw new PaddletError(
    'CheckpointMissing',
    `${missing.length} of ${facts.shards} shards are not in any of the files: ${which.length > 200 ? `${which.slice(0, 200)}…` : which}`,
    { hint: 'give the folder that contains the files of all pservers of the job' },
  );
}

/** Tables and dense parameters by their places in the job. */
export interface Variables {
  readonly dense: readonly number[];
  readonly sparse: readonly number[];
}

/** Matches the names that a pattern means: `*` is any text, `?` any character. */
export function nameExpression(pattern: string): RegExp {
  const text = pattern
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${text}$`, 's');
}

/**
 * Those whose names match one of the patterns (`*` is any text, `?` any character); all of them without patterns.
 * Throws `Usage` for a pattern that matches nothing.
 */
export function chooseVariables(spec: ParameterSpec, patterns: readonly string[]): Variables {
  const names = [...spec.dense, ...spec.sparse].map(({ name }) => name);
  const expressions = patterns.map((pattern) => {
    const expression = nameExpression(pattern);
    if (!names.some((name) => expression.test(name))) {
      throw new PaddletError('Usage', `--vars ${pattern}: does not match a parameter or table`, {
        hint: `there are ${names.join(', ')}`,
      });
    }
    return expression;
  });
  const isChosen = ({ name }: { name: string }): boolean =>
    expressions.length === 0 || expressions.some((expression) => expression.test(name));
  const places = (specs: readonly { name: string }[]): number[] =>
    specs.flatMap((one, at) => (isChosen(one) ? [at] : []));
  return { dense: places(spec.dense), sparse: places(spec.sparse) };
}
