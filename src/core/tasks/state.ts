/** What the master's queue keeps in the store, in small values: one per 256 tasks, one per pass, one per discard. */

import * as z from 'zod';
import { PaddletError } from '../../base/errors.ts';
import { addMetrics } from '../pass-metrics.ts';

/** Tasks that share one store value. */
export const BLOCK_TASKS = 256;

/**
 * Maximum characters of the error and of the place in the report of a discarded task: many small files make a long
 * list.
 */
export const DISCARD_TEXT_LENGTH = 4096;

const count = z.int().min(0);

/** What trainers reported, added up. `read` and `duplicate` are observations, lower bounds when processes die. */
export const sumsSchema = z.strictObject({
  read: count,
  good: count,
  bad: count,
  duplicate: count,
  metrics: z.strictObject({
    records: count,
    weight: z.number(),
    loss: z.number(),
    correct: z.number(),
    squaredError: z.number(),
  }),
});
export type TaskSums = z.infer<typeof sumsSchema>;

export const noSums = (): TaskSums => ({
  read: 0,
  good: 0,
  bad: 0,
  duplicate: 0,
  metrics: { records: 0, weight: 0, loss: 0, correct: 0, squaredError: 0 },
});

/** What is added up comes from outside: a sum that is no longer a whole number could not be read back. */
const plus = (a: number, b: number): number => Math.min(Number.MAX_SAFE_INTEGER, a + b);

export const addSums = (a: TaskSums, b: TaskSums): TaskSums => ({
  read: plus(a.read, b.read),
  good: plus(a.good, b.good),
  bad: plus(a.bad, b.bad),
  duplicate: plus(a.duplicate, b.duplicate),
  metrics: addMetrics(a.metrics, b.metrics),
});

export const totalSums = (all: readonly TaskSums[]): TaskSums => all.reduce(addSums, noSums());

export const stateSchema = z.strictObject({ phase: z.enum(['train', 'ended']), pass: count });
export type QueueState = z.infer<typeof stateSchema>;

export const blockSchema = z.strictObject({
  /** Bitmap of done tasks, from the block's first task on. */
  done: z.string(),
  /** Tasks that are neither untouched nor done, by their number in the pass. */
  open: z.record(
    z.string().regex(/^\d+$/),
    z.strictObject({
      /** Number of the newest attempt. */
      last: count,
      failures: count,
      attempts: z.array(z.strictObject({ attempt: z.int().min(1), trainer: z.string() })),
    }),
  ),
  sums: sumsSchema,
});
export type TaskBlock = z.infer<typeof blockSchema>;

export const totalsSchema = z.strictObject({ tasks: count, done: count, discarded: count, sums: sumsSchema });
export type PassTotals = z.infer<typeof totalsSchema>;

export const discardSchema = z.strictObject({
  task: count,
  pass: count,
  records: count,
  trainer: z.string(),
  code: z.string(),
  error: z.string(),
  hint: z.string().optional(),
  where: z.string(),
});
export type DiscardedTask = z.infer<typeof discardSchema>;

export type QueueChange =
  | { readonly kind: 'state'; readonly value: QueueState }
  | { readonly kind: 'block'; readonly pass: number; readonly block: number; readonly value: TaskBlock }
  | { readonly kind: 'totals'; readonly pass: number; readonly value: PassTotals }
  | { readonly kind: 'discarded'; readonly task: number; readonly value: DiscardedTask }
  | { readonly kind: 'dropBlocks'; readonly pass: number };

/** Everything that a master finds in the store when it takes over. */
export interface SavedQueue {
  readonly state: QueueState;
  readonly blocks: ReadonlyMap<number, TaskBlock>;
  readonly totals: ReadonlyMap<number, PassTotals>;
  readonly discarded: readonly DiscardedTask[];
}

/** Reads a store value of ours; `StoreValueInvalid` names the key and the field. */
export function parseStoreValue<T>(schema: z.ZodType<T>, key: string, value: string): T {
  let json: unknown;
  try {
    json = JSON.parse(value);
  } catch (cause) {
    throw new PaddletError('StoreValueInvalid', `${key}: not JSON`, { cause });
  }
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new PaddletError('StoreValueInvalid', `${key}: ${issue?.path.join('.') || 'value'}: ${issue?.message}`);
}
