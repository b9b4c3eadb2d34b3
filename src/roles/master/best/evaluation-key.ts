/**
 * The key `/evaluation`: each write is on the value that the one before it left, so a try that lands late undoes
 * nothing.
 */
import { PaddletError } from '../../../base/errors.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import { retryStore } from '../../../cluster/ownership.ts';
import { type Fence, fencedTxn } from '../../../store/fence.ts';
import type { Compare, KeyValue } from '../../../store/store.ts';

export interface EvaluationKeyOptions {
  readonly context: RoleContext;
  readonly fence: Fence;
  readonly stopSignal: AbortSignal;
}

export class EvaluationKey {
  readonly #options: EvaluationKeyOptions;
  /** Revision of the value; 0n if there is none. */
  #revision: bigint;

  constructor(options: EvaluationKeyOptions, found: KeyValue | undefined) {
    this.#options = options;
    this.#revision = found?.modRevision ?? 0n;
  }

  /** False when `unchanged` does not hold. */
  async write(value: string, unchanged: Compare | undefined): Promise<boolean> {
    const { context, fence, stopSignal } = this.#options;
    const { store, keys } = context;
    const before = this.#revision;
    const compares = [{ key: keys.evaluation, modRevision: before }, ...(unchanged === undefined ? [] : [unchanged])];
    const write = { if: compares, then: [{ put: keys.evaluation, value }], else: [{ get: keys.evaluation }] };
    const answer = await retryStore(context, () => fencedTxn(store, fence, write), stopSignal);
    const now = answer.succeeded ? answer.revision : (answer.results[0]?.modRevision ?? 0n);
    this.#revision = now;
    if (answer.succeeded) return true;
    if (now === before) return false;
    // A try whose outcome was unknown has landed.
    if (answer.results[0]?.value === value) return true;
    throw new PaddletError('StoreInvalid', `a process other than the master changed ${keys.evaluation}`);
  }
}
