/**
 * A copy keeps here the first frame of an epoch that it does not know yet. Either its view of the store is behind, or
 * the answer to its own proposal is still on its way. Only the newest frame matters.
 */
import type { EarlyBegin } from './events.ts';
import { isSameLink, type LinkName } from './messages.ts';

export class EarlyBegins<P> {
  #begin: EarlyBegin<P> | undefined;

  constructor(begin: EarlyBegin<P> | undefined) {
    this.#begin = begin;
  }

  state(): EarlyBegin<P> | undefined {
    return this.#begin;
  }

  /** Returns the link of the superseded begin. The caller must refuse it, because each begin gets an answer. */
  keep(begin: EarlyBegin<P>): LinkName | undefined {
    const other = this.#begin;
    if (other !== undefined && begin.link.epoch < other.link.epoch) return begin.link;
    this.#begin = begin;
    return other === undefined || isSameLink(begin.link, other.link) ? undefined : other.link;
  }

  take(isKnown: (epoch: number) => boolean): EarlyBegin<P> | undefined {
    const begin = this.#begin;
    if (begin === undefined || !isKnown(begin.link.epoch)) return undefined;
    this.#begin = undefined;
    return begin;
  }
}
