/**
 * The content of a pserver's checkpoint file, format version 4 (docs/checkpoint-format.md): the metadata and the names
 * of the tensors. A file is a row of *extents*, each with whole shards, so that it is written front to back while
 * shards not yet captured still grow, and any one shard can be read by itself.
 */

import * as z from 'zod';
import { canonicalJson } from '../../base/canonical-json.ts';
import { PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { once } from '../../base/once.ts';
import type { PassMetrics } from '../../core/pass-metrics.ts';
import { type OptimizerLayout, optimizerLayout, type TrainedSpec } from '../../tensor/optimizer.ts';
import type { StoredTable } from '../../tensor/stored-tables.ts';
import { corrupt } from './files.ts';
import { UUID_PATTERN } from './paths.ts';
import type { Metadata } from './safetensors/header.ts';
import { trainedSpecSchema } from './spec-schema.ts';

export const FORMAT = 'paddlet.checkpoint';
export const FORMAT_VERSION = 4;
/** The oldest version that is read. It has no `seen`, no candidates and no looks. */
const OLDEST_VERSION = 3;

/** A file that has the shard as it was after `seq` updates. */
export interface ShardParent {
  readonly uuid: string;
  readonly seq: number;
}

/** The position of a shard when it was captured: its epoch, and the updates applied to it. */
export interface ShardPosition {
  readonly shard: number;
  readonly epoch: number;
  readonly seq: number;
  /** The file has only what changed since this one; undefined: it has the whole shard. */
  readonly parent?: ShardParent;
}

/** Sync mode: the position of all shards of the file. */
export interface RoundsMeta {
  /** The version of the parameters: what the rounds before it have made. */
  readonly round: number;
  /** Sums of metrics of passes, and of the job at some rounds. */
  readonly metrics: readonly PassMetrics[];
}

export interface CheckpointMeta {
  /** The file's own name. */
  readonly uuid: string;
  readonly jobId: string;
  readonly jobName: string;
  /** The pserver's index, and the fencing token of its claim. */
  readonly index: number;
  readonly token: bigint;
  readonly recovery: bigint;
  readonly timeline: bigint;
  /** `delta`: of some shards, the file has only what changed since a file before it. */
  readonly kind: 'full' | 'delta';
  /** Names of the files of the same index that shards of a delta build on; none otherwise. */
  readonly parents?: readonly string[] | undefined;
  /** True when nothing was applied after it: a clean stop, the end of the job, a parting snapshot. */
  readonly clean: boolean;
  /** Seconds since 1970. */
  readonly createdAt: number;
  /** Each with its optimizer. */
  readonly parameters: TrainedSpec;
  readonly seed: number;
  /** Shards of the job, not of this file. */
  readonly shards: number;
  /** Absent in async mode. */
  readonly rounds?: RoundsMeta | undefined;
  /** The record of the job, for predictions: JSON that is nothing to checkpoints. Absent in files from before it. */
  readonly job?: string | undefined;
}

/** The kind of a file, as commands and metrics call it. */
export type FileKind = 'base' | 'delta';

export const fileKind = ({ kind }: Pick<CheckpointMeta, 'kind'>): FileKind => (kind === 'delta' ? 'delta' : 'base');

export interface FileFacts extends CheckpointMeta {
  readonly extents: number;
  readonly rows: number;
  readonly shardsHere: number;
  /** CRC-32 of the tensor of checksums. */
  readonly checksumsCrc32: number;
}

export const TENSORS = {
  /** U64 [shards, 4]: shard, epoch, seq, number of its ledger in this extent. */
  shards: (extent: number) => `paddlet/shards.${extent}`,
  /** U64 [ledgers + 1]: where each ledger begins in `ledgers`. */
  ledgerStarts: (extent: number) => `paddlet/ledger_starts.${extent}`,
  /** U8: ledgers one after the other, then zeros up to a multiple of 8 of the file. */
  ledgers: (extent: number) => `paddlet/ledgers.${extent}`,
  /** U64 [shards, 2 + tables]: base of `seen`, and the updates that move it and look at each table (looks.ts). */
  looks: (extent: number) => `paddlet/looks.${extent}`,
  /** U64 [begins, 3]: place of a shard in the extent, pass, begin of the pass. */
  begins: (extent: number) => `paddlet/begins.${extent}`,
  /** U64 [shards, 2], in a delta: 1 + place of the parent in `parents`, or 0 for a whole shard; seq of the parent. */
  parents: (extent: number) => `paddlet/parents.${extent}`,
  /** U32: CRC-32 of every tensor before it. */
  checksums: 'paddlet/checksums',
} as const;

/**
 * `sparse/<name>/<field>.<extent>`, `candidates/…`, `gone/…`, `dense/…`: names may hold slashes, first and last part
 * are fixed.
 */
export const tensorName = (
  kind: StoredTable['kind'] | 'gone' | 'dense',
  name: string,
  field: string,
  extent: number,
): string => `${kind}/${name}/${field}.${extent}`;

export const slotField = (slot: string): string => `slot.${slot}`;

/** What the optimizer of each parameter keeps beside its values, in the order of the parameters. */
interface State {
  readonly dense: readonly OptimizerLayout[];
  readonly sparse: readonly OptimizerLayout[];
}

const stateOf = ({ dense, sparse }: TrainedSpec): State => ({
  dense: dense.map(({ optimizer }) => optimizerLayout(optimizer)),
  sparse: sparse.map(({ optimizer }) => optimizerLayout(optimizer)),
});

const text = (value: unknown): string => JSON.stringify(value);

export function encodeMetadata(facts: FileFacts): Metadata {
  return {
    format: FORMAT,
    formatVersion: String(FORMAT_VERSION),
    features: '[]',
    uuid: facts.uuid,
    jobId: facts.jobId,
    jobName: facts.jobName,
    index: text(facts.index),
    token: facts.token.toString(),
    recovery: facts.recovery.toString(),
    timeline: facts.timeline.toString(),
    kind: facts.kind,
    ...(facts.parents === undefined ? {} : { parents: text(facts.parents) }),
    clean: text(facts.clean),
    createdAt: text(facts.createdAt),
    parameters: text(facts.parameters),
    seed: text(facts.seed),
    shards: text(facts.shards),
    ...(facts.rounds === undefined ? {} : { rounds: text(facts.rounds) }),
    ...(facts.job === undefined ? {} : { job: facts.job }),
    shardsHere: text(facts.shardsHere),
    extents: text(facts.extents),
    rows: text(facts.rows),
    state: text(stateOf(facts.parameters)),
    checksumsCrc32: text(facts.checksumsCrc32),
  };
}

/** A text of JSON that is of the schema. */
export const json = <T>(schema: z.ZodType<T>) =>
  z.string().transform((value, context): T => {
    try {
      const parsed = schema.safeParse(JSON.parse(value));
      if (parsed.success) return parsed.data;
      const issue = parsed.error.issues[0];
      context.addIssue(`${issue?.path.join('.') ?? ''} ${issue?.message ?? 'invalid'}`.trim());
    } catch {
      context.addIssue('not JSON');
    }
    return z.NEVER;
  });

const count = z.int().min(0);
const decimal = z
  .string()
  .regex(/^\d{1,20}$/)
  .transform(BigInt);

const passMetricsSchema = once(() =>
  z.strictObject({
    pass: count,
    records: count,
    weight: z.number(),
    loss: z.number(),
    correct: z.number(),
    squaredError: z.number(),
    version: count.optional(),
  }),
);
const roundsSchema = once(() =>
  z.strictObject({ round: count, metrics: z.array(passMetricsSchema()).max(LIMITS.keptMetrics) }),
);

const layouts = once(() =>
  z
    .array(
      z.strictObject({
        slots: z.array(z.string().max(LIMITS.optimizerSlotCharacters)).max(LIMITS.optimizerSlots),
        steps: z.boolean(),
      }),
    )
    .max(LIMITS.parameters),
);

const metadataSchema = once(() =>
  z.object({
    features: json(z.array(z.string())),
    uuid: z.string().regex(UUID_PATTERN),
    jobId: z.string().min(1).max(LIMITS.nameCharacters),
    jobName: z.string().max(LIMITS.nameCharacters),
    index: json(count.max(LIMITS.pservers - 1)),
    token: decimal,
    recovery: decimal,
    timeline: decimal,
    kind: z.literal(['full', 'delta']),
    parents: json(z.array(z.string().regex(UUID_PATTERN)).min(1).max(LIMITS.deltaParents)).optional(),
    clean: json(z.boolean()),
    createdAt: json(z.number().min(0)),
    parameters: json(trainedSpecSchema()),
    seed: json(z.int()),
    shards: json(z.int().min(1).max(LIMITS.shards)),
    rounds: json(roundsSchema()).optional(),
    job: z.string().max(LIMITS.carriedJobCharacters).optional(),
    shardsHere: json(count.max(LIMITS.shards)),
    extents: json(count.max(LIMITS.shards)),
    rows: json(count),
    state: json(z.strictObject({ dense: layouts(), sparse: layouts() })),
    checksumsCrc32: json(z.uint32()),
  }),
);

/**
 * Throws `VersionMismatch` for a file of another format version, `CheckpointCorrupt` for a foreign file or metadata
 * that do not agree with each other.
 */
export function parseMetadata(metadata: ReadonlyMap<string, string>, file: string): FileFacts {
  if (metadata.get('format') !== FORMAT) throw corrupt(file, 'a safetensors file, but not a checkpoint of paddlet');
  expectVersion(metadata.get('formatVersion'), file);
  const parsed = metadataSchema().safeParse(Object.fromEntries(metadata));
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw corrupt(file, `__metadata__: ${issue?.path.join('.')}: ${issue?.message}`);
  }
  const { features, state, ...facts } = parsed.data;
  if (features.length > 0) throw corrupt(file, `needs features that this paddlet lacks: ${features.join(', ')}`);
  if ((facts.kind === 'delta') !== (facts.parents !== undefined))
    throw corrupt(file, `__metadata__: parents: expected in a delta and in no other file; its kind is ${facts.kind}`);
  if (canonicalJson(state) !== canonicalJson(stateOf(facts.parameters))) {
    throw corrupt(file, '__metadata__: state: does not match the optimizers of the parameters');
  }
  return facts;
}

function expectVersion(version: string | undefined, file: string): void {
  if (version === undefined || !/^\d{1,9}$/.test(version)) throw corrupt(file, `format version ${version}`);
  const found = Number(version);
  if (found >= OLDEST_VERSION && found <= FORMAT_VERSION) return;
  throw new PaddletError(
    'VersionMismatch',
    `${file}: expected a checkpoint of format version ${OLDEST_VERSION} or ${FORMAT_VERSION}, got version ${found}`,
    { hint: 'use the paddlet version that wrote the file', details: { found, expected: FORMAT_VERSION } },
  );
}
