/**
 * What the shards of one pserver have applied, by (pass, task, push): the reason why retried pushes, second attempts and
 * late pushes of the dead never count twice (DESIGN §5).
 *
 * For each pending task the ledger holds the next push wanted and the good records below that position; a closed task is
 * one bit; complete passes collapse to a watermark. Positions are values taken from the pushes themselves, never
 * counters: applying the same push to two copies of a shard gives the same ledger.
 */
import * as z from 'zod';
import { assert } from '../../base/assert.ts';
import { PaddletError } from '../../base/errors.ts';
import { type Bitmap, bitmapFromText, bitmapToText, createBitmap } from '../bitmap.ts';

export interface PushPosition {
  readonly pass: number;
  readonly task: number;
  readonly push: number;
  readonly last: boolean;
  /** Good records of the task up to and including this push. */
  readonly good: number;
}

export type Judgement =
  | { readonly outcome: 'apply' }
  | { readonly outcome: 'duplicate' }
  /** The push is ahead of the ledger; the trainer rewinds to `want`. */
  | { readonly outcome: 'early'; readonly want: number };

interface OpenTask {
  next: number;
  good: number;
}

interface PassLedger {
  readonly open: Map<number, OpenTask>;
  readonly closed: Bitmap;
  closedCount: number;
  /** Good records of the closed tasks. */
  closedGood: number;
  /** Records of discarded tasks that were above their position when it was closed. */
  discarded: number;
}

/** Position of a task that is closed. */
export const CLOSED = -1;

export interface LedgerAccount {
  readonly applied: number;
  /** Records of discarded tasks that were never applied. */
  readonly discarded: number;
  readonly passes: readonly { readonly pass: number; readonly applied: number; readonly closed: number }[];
}

export interface Ledger {
  judge(push: PushPosition): Judgement;
  /** Records a push that `judge` answered with `apply`. */
  advance(push: PushPosition): void;
  /**
   * Closes a discarded task of `records` records where it stands: its later pushes are duplicates. `BadMessage` when
   * more of them are applied already; a task that is closed stays as it is.
   */
  close(pass: number, task: number, records: number): void;
  /** The next push wanted, or CLOSED. */
  position(pass: number, task: number): number;
  /** Good records below the positions, over all passes and by pass still open. */
  account(): LedgerAccount;
  /** Passes below this are complete. */
  watermark(): number;
  /** Bitmap of the closed tasks of a pass, as `bitmapToText` writes it; undefined when the pass is below the watermark. */
  closedTasks(pass: number): string | undefined;
  /** Differs for most pairs of unequal ledgers, and costs little: a first look before comparing what they encode to. */
  outline(): string;
  encode(): Uint8Array;
}

const savedSchema = z.strictObject({
  version: z.literal(1),
  tasks: z.int().min(1),
  watermark: z.int().min(0),
  collapsed: z.array(z.strictObject({ good: z.int().min(0), discarded: z.int().min(0) })),
  passes: z.array(
    z.strictObject({
      pass: z.int().min(0),
      closed: z.string(),
      closedGood: z.int().min(0),
      discarded: z.int().min(0),
      open: z.array(z.tuple([z.int().min(0), z.int().min(1), z.int().min(0)])),
    }),
  ),
});

/** `tasks` is the number of tasks in a pass; a pass with all of them closed is complete. */
export function createLedger(tasks: number, saved?: Uint8Array): Ledger {
  assert(Number.isInteger(tasks) && tasks > 0, 'a pass has at least one task');
  const passes = new Map<number, PassLedger>();
  /** Good records of each complete pass below the watermark, which is this list's length. */
  const collapsed: { good: number; discarded: number }[] = [];

  if (saved !== undefined) load(saved);

  function load(bytes: Uint8Array): void {
    const value = parseSaved(bytes);
    if (value.tasks !== tasks) throw corrupt(`made for ${value.tasks} tasks a pass, the job has ${tasks}`);
    if (value.watermark !== value.collapsed.length) throw corrupt('the watermark is not the number of complete passes');
    for (const complete of value.collapsed) collapsed.push(complete);
    let previous = collapsed.length - 1;
    for (const one of value.passes) {
      if (one.pass <= previous) throw corrupt(`pass ${one.pass} comes after pass ${previous}`);
      previous = one.pass;
      const ledger = decodePass(one, tasks);
      if (one.pass === collapsed.length && ledger.closedCount === tasks) throw corrupt(`pass ${one.pass} is complete`);
      passes.set(one.pass, ledger);
    }
  }

  function passAt(pass: number): PassLedger {
    let found = passes.get(pass);
    if (found === undefined) {
      found = { open: new Map(), closed: createBitmap(tasks), closedCount: 0, closedGood: 0, discarded: 0 };
      passes.set(pass, found);
    }
    return found;
  }

  function position(pass: number, task: number): number {
    assert(task >= 0 && task < tasks, `task ${task} is one of ${tasks}`);
    if (pass < collapsed.length) return CLOSED;
    const ledger = passes.get(pass);
    if (ledger === undefined) return 0;
    if (ledger.closed.has(task)) return CLOSED;
    return ledger.open.get(task)?.next ?? 0;
  }

  function shut(pass: number, task: number, good: number, discarded: number): void {
    const ledger = passAt(pass);
    ledger.discarded += discarded;
    ledger.open.delete(task);
    ledger.closed.add(task);
    ledger.closedCount += 1;
    ledger.closedGood += good;
    for (let complete = passes.get(collapsed.length); complete?.closedCount === tasks; ) {
      passes.delete(collapsed.length);
      collapsed.push({ good: complete.closedGood, discarded: complete.discarded });
      complete = passes.get(collapsed.length);
    }
  }

  function passGood(ledger: PassLedger): number {
    let good = ledger.closedGood;
    for (const open of ledger.open.values()) good += open.good;
    return good;
  }

  return {
    judge({ pass, task, push }) {
      const next = position(pass, task);
      if (next === CLOSED || push < next) return { outcome: 'duplicate' };
      return push === next ? { outcome: 'apply' } : { outcome: 'early', want: next };
    },
    advance({ pass, task, push, last, good }) {
      assert(position(pass, task) === push, 'only the push wanted next advances the ledger');
      if (last) shut(pass, task, good, 0);
      else passAt(pass).open.set(task, { next: push + 1, good });
    },
    close(pass, task, records) {
      if (position(pass, task) === CLOSED) return;
      const good = passes.get(pass)?.open.get(task)?.good ?? 0;
      if (good > records) {
        throw new PaddletError(
          'BadMessage',
          `task ${task} of pass ${pass} is closed as one of ${records} records; ${good} of it are applied`,
        );
      }
      shut(pass, task, good, records - good);
    },
    position,
    account() {
      let applied = 0;
      let discarded = 0;
      const byPass: { pass: number; applied: number; closed: number }[] = [];
      for (const complete of collapsed) {
        applied += complete.good;
        discarded += complete.discarded;
      }
      for (const [pass, ledger] of [...passes].sort(([a], [b]) => a - b)) {
        const good = passGood(ledger);
        applied += good;
        discarded += ledger.discarded;
        byPass.push({ pass, applied: good, closed: ledger.closedCount });
      }
      return { applied, discarded, passes: byPass };
    },
    watermark: () => collapsed.length,
    closedTasks(pass) {
      if (pass < collapsed.length) return undefined;
      return bitmapToText(passes.get(pass)?.closed ?? createBitmap(tasks));
    },
    outline() {
      const counts = [...passes].map(([pass, of]) => `${pass}:${of.closedCount}:${of.closedGood}:${of.open.size}`);
      return `${collapsed.length} ${counts.sort().join(' ')}`;
    },
    encode() {
      const value: z.infer<typeof savedSchema> = {
        version: 1,
        tasks,
        watermark: collapsed.length,
        collapsed: [...collapsed],
        passes: [...passes]
          .sort(([a], [b]) => a - b)
          .map(([pass, ledger]) => ({
            pass,
            closed: bitmapToText(ledger.closed),
            closedGood: ledger.closedGood,
            discarded: ledger.discarded,
            open: [...ledger.open]
              .sort(([a], [b]) => a - b)
              .map(([task, { next, good }]): [number, number, number] => [task, next, good]),
          })),
      };
      return new TextEncoder().encode(JSON.stringify(value));
    },
  };
}

type SavedPass = z.infer<typeof savedSchema>['passes'][number];

function decodePass(saved: SavedPass, tasks: number): PassLedger {
  const closed = bitmapFromText(saved.closed, tasks);
  if (closed === undefined) throw corrupt(`pass ${saved.pass}: the bitmap is not one of ${tasks} tasks`);
  const open = new Map<number, OpenTask>();
  for (const [task, next, good] of saved.open) {
    if (task >= tasks || closed.has(task) || open.has(task)) {
      throw corrupt(`pass ${saved.pass}: task ${task} is not there, closed, or open twice`);
    }
    open.set(task, { next, good });
  }
  const { closedGood, discarded } = saved;
  return { open, closed, closedCount: closed.count(), closedGood, discarded };
}

function parseSaved(bytes: Uint8Array): z.infer<typeof savedSchema> {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    throw corrupt('not JSON', cause);
  }
  const parsed = savedSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw corrupt(`${issue?.path.join('.')}: ${issue?.message}`);
}

const corrupt = (what: string, cause?: unknown): PaddletError =>
  new PaddletError('CheckpointCorrupt', `ledger: ${what}`, { cause });
