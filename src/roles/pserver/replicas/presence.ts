/** Which processes have lost their index, as the view shows it: what they owe they will never answer. */
import type { PlacementView } from '../../../cluster/placement/placement-view.ts';
import { keyOfOwner } from '../../../core/replicas/messages.ts';
import type { UnitOwner } from '../../../core/units/move-messages.ts';

export class Presence {
  readonly #view: Pick<PlacementView, 'live'>;
  /** By owner. A process that was never seen is not taken for gone: the view may be behind. */
  #live = new Map<string, UnitOwner & { readonly address: string }>();
  /** Of those that were seen. Tokens rise: who has a lower one, and is not live, has lost its index. */
  #highestToken = 0n;

  constructor(view: Pick<PlacementView, 'live'>) {
    this.#view = view;
  }

  addressOf(owner: UnitOwner): string | undefined {
    return this.#live.get(keyOfOwner(owner))?.address;
  }

  /** A process that comes later than what the view shows is not. */
  isGone(owner: UnitOwner): boolean {
    return !this.#live.has(keyOfOwner(owner)) && BigInt(owner.token) <= this.#highestToken;
  }

  /** Gives those that are gone since. */
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
