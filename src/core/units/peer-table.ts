/**
 * Decides which pservers back up which others. All units of a pserver have the same peers, so a push costs it one
 * forward per peer. Where hosts and zones allow it, all pservers are peers of the same number of others. Then the
 * copies of two pservers differ by no larger factor than the units that they lead.
 */
import { assert } from '../../base/assert.ts';
import type { FailureDomains } from './failure-domains.ts';

/** Weight of the units of `owner` that `peer` already has. */
export type KeptWeight = (owner: number, peer: number) => number;

export interface PeerOptions {
  /** Pservers that may be peers. */
  readonly domains: FailureDomains;
  /** Number of copies of each unit, including the primary's; at most the number of pservers. */
  readonly copies: number;
  readonly kept: KeptWeight;
}

/** `to` replaces `from` as a peer of `owner`. */
interface Exchange {
  readonly owner: number;
  readonly from: number;
  readonly to: number;
}

export class PeerTable {
  readonly #options: PeerOptions;
  /** Owner → its peers. */
  readonly #peers: ReadonlyMap<number, Set<number>>;
  /** Index → number of owners that it is a peer of. */
  readonly #uses: Map<number, number>;

  /** `owners`: pservers with units. */
  constructor(owners: Iterable<number>, options: PeerOptions) {
    this.#options = options;
    this.#peers = new Map([...owners].sort((a, b) => a - b).map((owner) => [owner, new Set()]));
    this.#uses = new Map(options.domains.indexes.map((index) => [index, 0]));
    for (const owner of this.#peers.keys()) this.#keep(owner);
    for (const owner of this.#peers.keys()) this.#fill(owner);
    while (this.#evenOut());
  }

  /** Ascending. */
  of(owner: number): number[] {
    return [...this.#peersOf(owner)].sort((a, b) => a - b);
  }

  /** Keeps existing peers, those with the most weight first. */
  #keep(owner: number): void {
    const { domains, kept } = this.#options;
    const present = domains.indexes.filter((peer) => kept(owner, peer) > 0);
    present.sort((a, b) => kept(owner, b) - kept(owner, a) || a - b);
    for (const peer of present) this.#addIfApart(owner, peer);
  }

  /** Adds the least used peers, starting from the next index. */
  #fill(owner: number): void {
    const { domains, copies } = this.#options;
    if (this.#peersOf(owner).size + 1 === copies) return;
    const later = domains.indexes.filter((index) => index > owner);
    const inTurn = [...later, ...domains.indexes.filter((index) => index < owner)];
    for (const peer of inTurn.sort((a, b) => this.#usesOf(a) - this.#usesOf(b))) this.#addIfApart(owner, peer);
  }

  #addIfApart(owner: number, peer: number): void {
    const { domains, copies } = this.#options;
    const peers = this.#peersOf(owner);
    if (peer === owner || peers.has(peer) || peers.size + 1 === copies) return;
    if (domains.areApart([owner, ...peers, peer], copies)) this.#add(owner, peer);
  }

  /**
   * Moves one use from a pserver to another one that has at least two fewer. It needs a single exchange, or a chain of
   * exchanges where hosts prevent the single one. False if nothing can be evened out.
   */
  #evenOut(): boolean {
    const least = Math.min(...this.#uses.values());
    const tooMany = [...this.#uses].filter(([, uses]) => uses >= least + 2);
    tooMany.sort(([a, usesOfA], [b, usesOfB]) => usesOfB - usesOfA || a - b);
    for (const [index] of tooMany) {
      const chain = this.#chainFrom(index);
      if (chain === undefined) continue;
      for (const exchange of chain) this.#exchange(exchange);
      return true;
    }
    return false;
  }

  /** Returns a shortest chain: a longer one could contain several exchanges of one owner that do not fit together. */
  #chainFrom(start: number): Exchange[] | undefined {
    const leastUsed = [...this.#uses].sort(([a, usesOfA], [b, usesOfB]) => usesOfA - usesOfB || a - b);
    const unseen = new Set(leastUsed.map(([index]) => index));
    unseen.delete(start);
    let chains: { readonly end: number; readonly exchanges: Exchange[] }[] = [{ end: start, exchanges: [] }];
    while (chains.length > 0) {
      const longer: typeof chains = [];
      for (const { end, exchanges } of chains) {
        for (const exchange of this.#exchangesOf(end, unseen)) {
          const chain = [...exchanges, exchange];
          if (this.#usesOf(exchange.to) + 2 <= this.#usesOf(start)) return chain;
          unseen.delete(exchange.to);
          longer.push({ end: exchange.to, exchanges: chain });
        }
      }
      chains = longer;
    }
    return undefined;
  }

  /** Yields at most one exchange for each of `targets`: the one of the owner that loses the least weight. */
  *#exchangesOf(from: number, targets: ReadonlySet<number>): Iterable<Exchange> {
    const { kept } = this.#options;
    const owners = [...this.#peers].flatMap(([owner, peers]) => (peers.has(from) ? [owner] : []));
    owners.sort((a, b) => kept(a, from) - kept(b, from) || a - b);
    for (const to of targets) {
      const owner = owners.find((one) => this.#canExchange({ owner: one, from, to }));
      if (owner !== undefined) yield { owner, from, to };
    }
  }

  #canExchange({ owner, from, to }: Exchange): boolean {
    const { domains, copies } = this.#options;
    const peers = this.#peersOf(owner);
    if (to === owner || peers.has(to)) return false;
    return domains.areApart([owner, to, ...[...peers].filter((peer) => peer !== from)], copies);
  }

  #exchange({ owner, from, to }: Exchange): void {
    const { domains, copies } = this.#options;
    const peers = this.#peersOf(owner);
    assert(peers.delete(from), 'what is exchanged was a peer');
    this.#uses.set(from, this.#usesOf(from) - 1);
    this.#add(owner, to);
    assert(domains.areApart([owner, ...peers], copies), 'peers stay apart');
  }

  #add(owner: number, peer: number): void {
    this.#peersOf(owner).add(peer);
    this.#uses.set(peer, this.#usesOf(peer) + 1);
  }

  #peersOf(owner: number): Set<number> {
    const peers = this.#peers.get(owner);
    assert(peers !== undefined, `pserver ${owner} has units`);
    return peers;
  }

  #usesOf(index: number): number {
    const uses = this.#uses.get(index);
    assert(uses !== undefined, `pserver ${index} may be a peer`);
    return uses;
  }
}
