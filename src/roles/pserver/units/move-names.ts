/** Names of the moves that this pserver begins: no two are alike. */
import type { LivePserver } from '../../../cluster/placement/placement-view.ts';
import type { MoveName, MovePurpose, UnitOwner } from '../../../core/units/move-messages.ts';
import type { OwnedHeads } from '../owned-heads.ts';

export interface MoveNamesOptions {
  readonly me: UnitOwner;
  readonly heads: Pick<OwnedHeads, 'of'>;
}

export class MoveNames {
  readonly #options: MoveNamesOptions;
  /** Attempts at moves of a unit, whatever for, under the epoch of its head. */
  readonly #attempts = new Map<number, { readonly epoch: number; readonly count: number }>();

  constructor(options: MoveNamesOptions) {
    this.#options = options;
  }

  /** Of a unit that this pserver leads. */
  next(purpose: MovePurpose, unit: number, { index, token }: LivePserver): MoveName {
    const { me, heads } = this.#options;
    const { epoch } = heads.of(unit)!.head;
    const before = this.#attempts.get(unit);
    const attempt = before?.epoch === epoch ? before.count + 1 : 1;
    this.#attempts.set(unit, { epoch, count: attempt });
    return { purpose, unit, epoch, source: me, target: { index, token: token.toString() }, attempt };
  }
}
