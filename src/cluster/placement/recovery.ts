/**
 * The recovery number: raised by each pserver that loads parameters from before the last acknowledged push. What was
 * acknowledged under an older number may be gone from the shards that were restored (docs/modes.md, "Recovery").
 */
import * as z from 'zod';
import type { Cancel } from '../../base/seams.ts';
import { parseStoreValue } from '../../core/tasks/state.ts';
import { type Fence, fencedTxn } from '../../store/fence.ts';
import { followKey } from '../../store/follow-key.ts';
import type { RoleContext } from '../context.ts';
import { retryStore } from '../ownership.ts';
import { createSignal, type Signal } from '../waiting.ts';

const schema = z.int().min(0);

export interface Recovery {
  readonly number: number;
  /** 0n while the key does not exist: then the number is 0. */
  readonly modRevision: bigint;
}

const NONE: Recovery = { number: 0, modRevision: 0n };

export async function readRecovery(context: RoleContext): Promise<Recovery> {
  const key = context.keys.recovery;
  return recoveryIn(key, await retryStore(context, () => context.store.get(key)));
}

/** `entry`: of the key of the recovery number. */
export function recoveryIn(key: string, entry: { value: string; modRevision: bigint } | undefined): Recovery {
  if (entry === undefined) return NONE;
  return { number: parseStoreValue(schema, key, entry.value), modRevision: entry.modRevision };
}

/** Returns the new number. It is raised twice, without harm, when a first try landed unnoticed. */
export async function raiseRecovery(context: RoleContext, fence: Fence): Promise<number> {
  const key = context.keys.recovery;
  for (;;) {
    const before = await readRecovery(context);
    const number = before.number + 1;
    const { succeeded } = await retryStore(context, () =>
      fencedTxn(context.store, fence, {
        if: [{ key, modRevision: before.modRevision }],
        then: [{ put: key, value: String(number) }],
      }),
    );
    if (succeeded) return number;
  }
}

export interface RecoveryView {
  readonly changed: Signal;
  /** The highest number seen; undefined until the store has answered. */
  current(): Recovery | undefined;
  readonly cancel: Cancel;
}

export function followRecovery(context: RoleContext, onFatal: (error: Error) => void): RecoveryView {
  const key = context.keys.recovery;
  const changed = createSignal();
  let current: Recovery | undefined;
  const observe = (entry: { value: string; modRevision: bigint } | undefined): void => {
    const next = recoveryIn(key, entry);
    if (current !== undefined && next.number < current.number) return;
    current = next;
    changed.notify();
  };
  const cancel = followKey(context.store, key, { onValue: observe, onEnd: onFatal }, context.host.clock);
  return { changed, current: () => current, cancel };
}
