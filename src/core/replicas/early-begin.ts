/**
 * The first frame of an epoch that this process does not know yet: the view of the store is behind, or the answer about
 * the own proposal is on its way. The frame waits for that. Only the newest one matters.
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

  /** Returns the link of the begin that is of no further use, and is to be refused: each begin gets an answer. */
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
