/**
 * Sends the proposals of the units' machines to the store. All proposals of one turn are sent together, so the units of
 * a dead pserver share transactions (docs/copies.md).
 */
import { isPaddletError } from '../../../base/errors.ts';
import { failPoint } from '../../../base/fail-points.ts';
import type { DecidedHead } from '../../../cluster/placement/propose-heads.ts';
import type { HeadProposal } from '../../../core/replicas/events.ts';
import type { OwnedHeads, UnitProposal } from '../held/owned-heads.ts';
import type { KnownHeads } from './seen-heads.ts';

export interface HeadProposalsOptions {
  readonly heads: Pick<OwnedHeads, 'propose'>;
  readonly known: KnownHeads;
  /** The store has made a change. */
  readonly onMade: (kind: HeadProposal['kind'], unit: number) => void;
  readonly onDecided: (decided: DecidedHead) => void;
  readonly onFatal: (error: unknown) => void;
}

export class HeadProposals {
  readonly #options: HeadProposalsOptions;
  #gathered: UnitProposal[] = [];

  constructor(options: HeadProposalsOptions) {
    this.#options = options;
  }

  add(unit: number, proposal: HeadProposal): void {
    this.#gathered.push({ unit, proposal, known: this.#options.known.of(unit)! });
  }

  send(): void {
    if (this.#gathered.length === 0) return;
    const gathered = this.#gathered;
    this.#gathered = [];
    const { heads, known, onMade, onDecided, onFatal } = this.#options;
    const kinds = new Map(gathered.map(({ unit, proposal }) => [unit, proposal.kind]));
    if ([...kinds.values()].includes('promote')) failPoint('copies.promoting');
    const decided = (one: DecidedHead): void => {
      const kind = kinds.get(one.now.unit)!;
      const isMade = one.outcome.outcome === 'succeeded';
      if (isMade && kind === 'promote') failPoint('copies.promoted');
      if (isMade) onMade(kind, one.now.unit);
      known.learn(one.now);
      onDecided(one);
    };
    heads.propose(gathered, decided).catch((error: unknown) => {
      // The proposal was given up because this process lost its lease, which it already knows.
      if (!isPaddletError(error, 'Interrupted')) onFatal(error);
    });
  }
}
