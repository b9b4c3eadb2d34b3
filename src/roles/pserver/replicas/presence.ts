/**
 * Knows which processes have lost their index, according to the view. These processes never give the answers that they
 * owe.
 */
import type { PlacementView } from '../../../cluster/placement/placement-view.ts';
import { keyOfOwner } from '../../../core/replicas/messages.ts';
import type { UnitOwner } from '../../../core/units/move-messages.ts';

export class Presence {
  readonly #view: Pick<PlacementView, 'live'>;
  /** Live processes by owner. A process that was never seen does not count as gone, because the view may be behind. */
  #live = new Map<string, UnitOwner & { readonly address: string }>();
  /** The highest token seen. Tokens rise, so a process with a lower token that is not live has lost its index. */
  #highestToken = 0n;

  constructor(view: Pick<PlacementView, 'live'>) {
    this.#view = view;
  }

  addressOf(owner: UnitOwner): string | undefined {
    return this.#live.get(keyOfOwner(owner))?.address;
  }

  /** A process that is newer than the view is not gone. */
  isGone(owner: UnitOwner): boolean {
    return !this.#live.has(keyOfOwner(owner)) && BigInt(owner.token) <= this.#highestToken;
  }

  /** Returns the processes that have lost their index since the last call. */
  look(): UnitOwner[] {
    const before = this.#live;
    this.#live = new Map();
    for (const { index, token, address } of this.#view.live()) {
      const owner = { index, token: token.toString(), address };
      this.#live.set(keyOfOwner(owner), owner);
      if (token > this.#highestToken) this.#highestToken = token;
    }
    return [...before].flatMap(([key, { index, token }]) => (this.#live.has(key) ? [] : [{ index, token }]));
  }
}
