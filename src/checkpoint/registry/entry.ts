/** The value of `/checkpoints/<index>`: the newest file, and the generations before it that are kept. */
import * as z from 'zod';
import { LIMITS } from '../../base/limits.ts';
import type { Store } from '../../store/store.ts';
import { coverageOf, coverageSchema, coveredShards, parentsOf } from '../file/coverage.ts';
import { type CheckpointMeta, FORMAT_VERSION } from '../file/format.ts';
import { UUID_PATTERN } from '../file/paths.ts';
import type { CheckpointFile } from '../file/write-durable-file.ts';

const decimal = z.string().max(LIMITS.decimalDigits).regex(/^\d+$/);

/** `uuid`, `md5` and `timestamp` (seconds) are all that the original protocol writes; such an entry is readable too. */
const generationFields = {
  uuid: z.string().regex(UUID_PATTERN),
  md5: z.string().regex(/^[0-9a-f]{32}$/),
  timestamp: z.number().min(0),
  bytes: z.int().min(0).optional(),
  rows: z.int().min(0).optional(),
  /** Fencing token of the owner that wrote the file. */
  token: decimal.optional(),
  /** The owner applied nothing after it wrote the file. The heads of the units show whether another owner has since. */
  clean: z.boolean().optional(),
  /** Format version of the file; a reader refuses any version but its own. */
  formatVersion: z.int().min(1).optional(),
  kind: z.string().max(LIMITS.nameCharacters).optional(),
  recovery: decimal.optional(),
  timeline: decimal.optional(),
  /** Sync mode: the version of the parameters that the file holds. */
  round: z.int().min(0).optional(),
  shards: coverageSchema.optional(),
  /** Of a delta: files of the same entry that its shards build on. */
  parents: z.array(z.string().regex(UUID_PATTERN)).max(LIMITS.deltaParents).readonly().optional(),
};

export const generationSchema = z.object(generationFields);
/** One published file. */
export type Generation = z.infer<typeof generationSchema>;

/** 0 in async mode. */
export const timelineOf = ({ timeline = '0' }: Generation): number => Number(timeline);

/** For messages. */
export const nameOf = ({ uuid, kind }: Generation): string => (kind === 'delta' ? `delta ${uuid}` : uuid);

export const entrySchema = z.object({
  ...generationFields,
  /** The index is no longer wanted, and its files are being deleted. */
  leaving: z.boolean().optional(),
  /** Generations kept beside the newest. */
  keep: z.int().min(0).optional(),
  /** Newest first. */
  generations: z.array(generationSchema).max(LIMITS.checkpointGenerations).optional(),
});
export type CheckpointEntry = z.infer<typeof entrySchema>;

export interface ReadEntry {
  /** Undefined if there is no entry, or if it cannot be parsed. */
  readonly entry: CheckpointEntry | undefined;
  /** Why the value could not be parsed. */
  readonly complaint: string | undefined;
  /** 0n when the key does not exist. */
  readonly modRevision: bigint;
}

export async function readEntry(store: Store, key: string): Promise<ReadEntry> {
  const found = await store.get(key);
  return parseEntry(key, found);
}

export function parseEntry(key: string, found: { value: string; modRevision: bigint } | undefined): ReadEntry {
  if (found === undefined) return { entry: undefined, complaint: undefined, modRevision: 0n };
  const { modRevision } = found;
  const refuse = (why: string): ReadEntry => ({ entry: undefined, complaint: `${key}: ${why}`, modRevision });
  let value: unknown;
  try {
    value = JSON.parse(found.value);
  } catch {
    return refuse('not JSON');
  }
  const parsed = entrySchema.safeParse(value);
  if (parsed.success) return { entry: parsed.data, complaint: undefined, modRevision };
  const issue = parsed.error.issues[0];
  return refuse(`${issue?.path.join('.')}: ${issue?.message}`);
}

/** All files of an entry, newest first. */
export function generationsOf(entry: CheckpointEntry): Generation[] {
  const { generations, leaving, ...fields } = entry;
  return [generationSchema.parse(fields), ...(generations ?? [])];
}

/** The files that a file builds on, of those that were published before it. */
export function ancestorsOf({ parents = [] }: Generation, earlier: readonly Generation[]): Generation[] {
  const names = new Set(parents);
  // A set may grow while it is gone through.
  for (const name of names) for (const one of earlier.find(({ uuid }) => uuid === name)?.parents ?? []) names.add(one);
  return earlier.filter(({ uuid }) => names.has(uuid));
}

/** Those of the shards that the file may have: all of them, when nothing readable is published of what it has. */
export function shardsIn({ shards: coverage }: Generation, shards: readonly number[]): readonly number[] {
  const covered = coverage && coveredShards(coverage);
  return covered === undefined ? shards : shards.filter((shard) => covered.has(shard));
}

/** What is published of a file just written. */
export function generationOf(file: CheckpointFile, meta: CheckpointMeta): Generation {
  return {
    uuid: file.uuid,
    md5: file.md5,
    timestamp: meta.createdAt,
    bytes: file.bytes,
    rows: file.rows,
    token: meta.token.toString(),
    clean: meta.clean,
    formatVersion: FORMAT_VERSION,
    kind: meta.kind,
    recovery: meta.recovery.toString(),
    timeline: meta.timeline.toString(),
    ...(meta.rounds === undefined ? {} : { round: meta.rounds.round }),
    shards: coverageOf(file.positions),
    ...(meta.kind === 'delta' ? { parents: parentsOf(file.positions) } : {}),
  };
}
