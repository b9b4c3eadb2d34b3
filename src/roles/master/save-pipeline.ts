/**
 * Writes the queue's changes and lets answers go only after what they rest on is saved. While one transaction is on its
 * way the next one gathers: a value changed twice is written once.
 */
import { failPoint } from '../../base/fail-points.ts';
import { LIMITS } from '../../base/limits.ts';
import type { QueueChange } from '../../core/task-state.ts';
import { type Fence, fencedTxn } from '../../store/fence.ts';
import type { Op } from '../../store/store.ts';
import type { RoleContext } from '../context.ts';
import { patiently } from '../ownership.ts';
import { opOf } from './queue-store.ts';

export interface SavePipeline {
  /** Runs `then` when the changes, and all before them, are saved. */
  save(changes: readonly QueueChange[], then: readonly (() => void)[]): void;
}

export interface SavePipelineOptions {
  readonly context: RoleContext;
  readonly fence: Fence;
  /** Ends waiting for the store. */
  readonly over: AbortSignal;
  /** The token is gone, or the process is to end: nothing more is saved. */
  readonly onEnd: (error: unknown) => void;
}

/** One compare and one read of the fence are the pipeline's own. */
const OPS_A_TXN = LIMITS.storeTxnOps - 2;

export function createSavePipeline({ context, fence, over, onEnd }: SavePipelineOptions): SavePipeline {
  let ops = new Map<string, Op>();
  let thens: (() => void)[] = [];
  let running = false;

  function add(change: QueueChange): void {
    const op = opOf(context.keys, change);
    if ('deletePrefix' in op) {
      for (const key of ops.keys()) if (key.startsWith(op.deletePrefix)) ops.delete(key);
      ops.set(op.deletePrefix, op);
    } else if ('put' in op) ops.set(op.put, op);
  }

  async function run(): Promise<void> {
    running = true;
    try {
      while (ops.size > 0 || thens.length > 0) {
        if (ops.size > 0) failPoint('tasks.saving');
        const writing = [...ops.values()];
        const releasing = thens;
        ops = new Map();
        thens = [];
        for (let first = 0; first < writing.length; first += OPS_A_TXN) {
          const then = writing.slice(first, first + OPS_A_TXN);
          // Puts and deletes of whole values: a try whose outcome is unknown can be repeated.
          await patiently(context, () => fencedTxn(context.store, fence, { then }), over);
        }
        if (writing.length > 0) failPoint('tasks.saved');
        for (const release of releasing) release();
      }
      running = false;
    } catch (error) {
      onEnd(error);
    }
  }

  return {
    save(changes, then) {
      for (const change of changes) add(change);
      thens.push(...then);
      if (!running) void run();
    },
  };
}
