/**
 * Writes the queue's changes, and releases replies only after what they rest on is saved. While one transaction is on
 * its way the changes for the next one are collected: a value changed twice is written once.
 *
 * A try that was abandoned may still land later. So every transaction writes `/tasks/state` on condition that it is
 * as the one before left it: each lands once at most, in order, and a late one cannot undo what came after it.
 */
import { assert } from '../../../base/assert.ts';
import { PaddletError } from '../../../base/errors.ts';
import { failPoint } from '../../../base/fail-points.ts';
import { LIMITS } from '../../../base/limits.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import { type MasterChange, opOf, type QueueOp } from '../../../cluster/job/queue-store.ts';
import { retryStore } from '../../../cluster/ownership.ts';
import type { QueueState } from '../../../core/tasks/state.ts';
import { type Fence, fencedTxn } from '../../../store/fence.ts';

export interface SavePipeline {
  /** Runs `then` when the changes, and all before them, are saved. */
  save(changes: readonly MasterChange[], then: readonly (() => void)[]): void;
}

export interface SavePipelineOptions {
  readonly context: RoleContext;
  readonly fence: Fence;
  /** Ends waiting for the store. */
  readonly stopSignal: AbortSignal;
  /** The lock is lost, or the process is to end: nothing more is saved. */
  readonly onFatal: (error: unknown) => void;
}

/** Room for the state, the compares and the read of the fence. */
const OPS_A_TXN = LIMITS.storeTxnOps - 2;
const BYTES_A_TXN = LIMITS.storeTxnBytes - 8 * LIMITS.storeKeyBytes;

/**
 * The order in which changes are written when they need more than one transaction: whatever part of them another master
 * finds, it finds each pass either running or ended, and no task both discarded and dealt. A point of the curve rests
 * on the ends of tasks.
 */
const RANKS: Readonly<Record<MasterChange['kind'], number>> = {
  discarded: 0,
  totals: 1,
  state: 2,
  dropBlocks: 3,
  block: 4,
  history: 5,
};

interface Pending {
  readonly rank: number;
  readonly op: QueueOp;
}

/** `/tasks/state` as the last transaction left it. */
interface Tail {
  readonly value: string;
  readonly revision: bigint;
}

export function createSavePipeline({ context, fence, stopSignal, onFatal }: SavePipelineOptions): SavePipeline {
  const { keys, store } = context;
  let pending = new Map<string, Pending>();
  let thens: (() => void)[] = [];
  let running = false;
  let tail: Tail | undefined;

  function add(change: MasterChange): void {
    const op = opOf(keys, change);
    if ('deletePrefix' in op) {
      for (const key of pending.keys()) if (key.startsWith(op.deletePrefix)) pending.delete(key);
    }
    pending.set('put' in op ? op.put : op.deletePrefix, { rank: RANKS[change.kind], op });
  }

  async function run(): Promise<void> {
    running = true;
    // What else is decided in this turn is saved with it.
    await Promise.resolve();
    try {
      while (pending.size > 0 || thens.length > 0) {
        if (pending.size > 0) failPoint('tasks.saving');
        const writing = cut([...pending.values()].sort((a, b) => a.rank - b.rank).map(({ op }) => op));
        const releasing = thens;
        pending = new Map();
        thens = [];
        for (const ops of writing) await write(ops);
        if (writing.length > 0) failPoint('tasks.saved');
        for (const release of releasing) release();
      }
      running = false;
    } catch (error) {
      onFatal(error);
    }
  }

  async function write(ops: readonly QueueOp[]): Promise<void> {
    tail ??= await retryStore(context, readTail, stopSignal);
    const before = tail;
    const state = ops.find((op) => 'put' in op && op.put === keys.tasksState);
    const value = state !== undefined && 'put' in state ? state.value : before.value;
    const then = [...ops.filter((op) => op !== state), { put: keys.tasksState, value }];
    /** What an earlier try has left, if one has landed. */
    const landed = async (): Promise<Tail | undefined> => {
      const found = await readTail();
      if (found.revision === before.revision) return undefined;
      if (found.value === value) return found;
      throw new PaddletError('StoreInvalid', `a process other than the master changed ${keys.tasksState}`);
    };
    let isDoubtful = false;
    tail = await retryStore(
      context,
      async () => {
        const found = isDoubtful ? await landed() : undefined;
        if (found !== undefined) return found;
        isDoubtful = true;
        const compare = { key: keys.tasksState, modRevision: before.revision };
        const answer = await fencedTxn(store, fence, { if: [compare], then });
        if (answer.succeeded) return { value, revision: answer.revision };
        // It landed after it had been looked for.
        const late = await landed();
        assert(late !== undefined, 'a compare fails when the value has changed');
        return late;
      },
      stopSignal,
    );
  }

  /** Under the fence: what is found then was written by this master, or before it. */
  async function readTail(): Promise<Tail> {
    const answer = await fencedTxn(store, fence, { then: [{ get: keys.tasksState }] });
    const found = answer.results[0];
    return { value: found?.value ?? INITIAL_STATE, revision: found?.modRevision ?? 0n };
  }

  return {
    save(changes, then) {
      for (const change of changes) add(change);
      thens.push(...then);
      if (!running) void run();
    },
  };
}

const INITIAL_STATE = JSON.stringify({ phase: 'train', pass: 0 } satisfies QueueState);

/** Cuts what is to be written into transactions that the store takes. */
function cut(ops: readonly QueueOp[]): QueueOp[][] {
  const parts: QueueOp[][] = [];
  let bytes = 0;
  for (const op of ops) {
    const size = bytesOf(op);
    const part = parts.at(-1);
    if (part === undefined || part.length === OPS_A_TXN || bytes + size > BYTES_A_TXN) {
      parts.push([op]);
      bytes = size;
    } else {
      part.push(op);
      bytes += size;
    }
  }
  return parts;
}

const bytesOf = (op: QueueOp): number =>
  'put' in op ? Buffer.byteLength(op.put) + Buffer.byteLength(op.value) : Buffer.byteLength(op.deletePrefix);
