/**
 * `/checkpoints/cut` as a role in sync mode sees it, and the only way to set all pservers back to it (docs/modes.md,
 * "Cuts").
 */
import { failPoint } from '../../base/fail-points.ts';
import type { Cancel } from '../../base/seams.ts';
import { type Cut, parseCut, type ReadCut, readCut } from '../../checkpoint/registry/cut.ts';
import { type Fence, fencedTxn } from '../../store/fence.ts';
import { followKey } from '../../store/follow-key.ts';
import type { RoleContext } from '../context.ts';
import { retryStore } from '../ownership.ts';
import { createSignal, type Signal } from '../waiting.ts';

export interface CutView {
  readonly changed: Signal;
  /** The newest cut seen; undefined until the store has answered. */
  current(): ReadCut | undefined;
  readonly cancel: Cancel;
}

/** `onFatal` is also called for a value that cannot be read, since no role can continue without it. */
export function followCut(context: RoleContext, onFatal: (error: Error) => void): CutView {
  const key = context.keys.cut;
  const changed = createSignal();
  let current: ReadCut | undefined;
  const observe = (entry: { value: string; modRevision: bigint } | undefined): void => {
    const next = parseCut(key, entry);
    if (current !== undefined && next.modRevision <= current.modRevision) return;
    current = next;
    changed.notify();
  };
  const cancel = followKey(context.store, key, { onValue: observe, onEnd: onFatal }, context.host.clock);
  return { changed, current: () => current, cancel };
}

/**
 * Sets all pservers back: puts what `change` makes of the cut, with a higher timeline. `change` is called again when
 * the cut has changed in the meantime; undefined: nothing is left to do. Returns the cut that is then in the store.
 */
export async function raiseTimeline(
  context: RoleContext,
  fence: Fence,
  change: (cut: Cut) => Cut | undefined,
): Promise<ReadCut> {
  const { store, keys } = context;
  const key = keys.cut;
  let before = await retryStore(context, () => readCut(store, key));
  for (;;) {
    const next = change(before.cut);
    if (next === undefined) return before;
    const { modRevision } = before;
    const value = JSON.stringify(next);
    const answer = await retryStore(context, () =>
      fencedTxn(store, fence, {
        if: [{ key, modRevision }],
        then: [{ put: key, value }],
        else: [{ get: key }],
      }),
    );
    const found = answer.results[0];
    // A try whose outcome was unknown may have landed.
    if (answer.succeeded || found?.value === value) {
      failPoint('timeline.raised');
      return { cut: next, modRevision: found?.modRevision ?? answer.revision };
    }
    before = parseCut(key, found);
  }
}
