/** Which processes have lost their index, as the view shows it: what they owe they will never answer. */
import type { PlacementView } from '../../../cluster/placement/placement-view.ts';
import { keyOfOwner } from '../../../core/replicas/messages.ts';
import type { UnitOwner } from '../../../core/units/move-messages.ts';

export class Presence {
  readonly #view: Pick<PlacementView, 'live'>;
  /** By owner. A process that was never seen is not taken for gone: the view may be behind. */
  #live = new Map<string, UnitOwner & { readonly address: string }>();

  constructor(view: Pick<PlacementView, 'live'>) {
    this.#view = view;
  }

  addressOf(owner: UnitOwner): string | undefined {
    return this.#live.get(keyOfOwner(owner))?.address;
  }

  /** Gives those that are gone since. */
  look(): UnitOwner[] {
    const before = this.#live;
    this.#live = new Map();
    for (const { index, token, address } of this.#view.live()) {
      const owner = { index, token: token.toString(), address };
      this.#live.set(keyOfOwner(owner), owner);
    }
    return [...before].flatMap(([key, { index, token }]) => (this.#live.has(key) ? [] : [{ index, token }]));
  }
}
