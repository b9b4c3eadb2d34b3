/**
 * What the machines of units propose about their heads: all of one turn go to the store together, so that the units of
 * a pserver that has died share transactions (DESIGN §7). A unit that is led here changes its head in turn with what
 * else changes it (`OwnedHeads`). Of the others nothing but the machine of this process changes anything.
 */
import { isPaddletError } from '../../../base/errors.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import { type DecidedHead, proposeHeads } from '../../../cluster/placement/propose-heads.ts';
import type { HeadProposal } from '../../../core/replicas/events.ts';
import type { Fence } from '../../../store/fence.ts';
import type { OwnedHeads } from '../owned-heads.ts';
import { type KnownHeads, unitHeadOf } from './known-heads.ts';

export interface HeadProposalsOptions {
  readonly context: RoleContext;
  readonly fence: Fence;
  /** Aborts when the index is lost: then outcomes are unknown, and nothing counts on them. */
  readonly lost: AbortSignal;
  readonly heads: Pick<OwnedHeads, 'of' | 'propose'>;
  readonly known: KnownHeads;
  readonly onDecided: (unit: number, decided: Pick<DecidedHead, 'from' | 'outcome'>) => void;
  readonly onFatal: (error: unknown) => void;
}

interface Proposed {
  readonly unit: number;
  readonly proposal: HeadProposal;
}

export class HeadProposals {
  readonly #options: HeadProposalsOptions;
  #gathered: Proposed[] = [];
  /** Units of which a proposal is under way that does not go by the heads that are led. */
  readonly #unled = new Set<number>();

  constructor(options: HeadProposalsOptions) {
    this.#options = options;
  }

  add(unit: number, proposal: HeadProposal): void {
    this.#gathered.push({ unit, proposal });
  }

  /** The unit must not be led before it is decided: its head would change behind the back of `OwnedHeads`. */
  isUnledUnderWay(unit: number): boolean {
    return this.#unled.has(unit);
  }

  send(): void {
    if (this.#gathered.length === 0) return;
    const gathered = this.#gathered;
    this.#gathered = [];
    const { heads } = this.#options;
    const led = gathered.filter(({ unit }) => heads.of(unit) !== undefined);
    const others = gathered.filter(({ unit }) => heads.of(unit) === undefined);
    if (led.length > 0) this.#inBackground(heads.propose(led, (unit, decided) => this.#decided(unit, decided)));
    if (others.length > 0) this.#proposeUnled(others);
  }

  #proposeUnled(proposed: readonly Proposed[]): void {
    const { context, fence, lost, known } = this.#options;
    const made = proposed.flatMap(({ unit, proposal }) => {
      const from = known.of(unit)!;
      if (from.head.epoch === proposal.from) return [{ from, proposal }];
      // Of a head that is past: the machine is told what it is now.
      this.#tell(unit, { from: proposal.from, outcome: { outcome: 'failed', head: unitHeadOf(from) } });
      return [];
    });
    if (made.length === 0) return;
    for (const { from } of made) this.#unled.add(from.unit);
    const onDecided = (decided: DecidedHead): void => this.#decided(decided.now.unit, decided);
    this.#inBackground(proposeHeads({ context, fence, signal: lost, onDecided }, made));
  }

  #decided(unit: number, decided: DecidedHead): void {
    this.#unled.delete(unit);
    this.#options.known.learn(decided.now);
    this.#tell(unit, decided);
  }

  #tell(unit: number, { from, outcome }: Pick<DecidedHead, 'from' | 'outcome'>): void {
    this.#options.onDecided(unit, { from, outcome });
  }

  #inBackground(work: Promise<void>): void {
    work.catch((error: unknown) => {
      // Given up because the lease is lost, which is known already.
      if (!isPaddletError(error, 'Interrupted')) this.#options.onFatal(error);
    });
  }
}
