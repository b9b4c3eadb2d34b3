/** Makes this pserver begin to lead a unit with the copy here, makes it cease to lead a unit, and frees copies. */
import { PaddletError } from '../../../base/errors.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import type { UnitOwner } from '../../../core/units/move-messages.ts';
import type { OwnedHead } from '../held/owned-heads.ts';
import type { OwnedShards } from '../held/owned-shards.ts';
import type { CopiedRounds } from '../held/unit-rounds.ts';

import type { Outgoing } from '../transfer/outgoing.ts';
import type { SharedUpdate } from '../update/shared-update.ts';
import type { CopiedUnits } from './copied-units.ts';
import type { HandOvers } from './hand-overs.ts';
import type { Inboxes } from './inboxes.ts';
import type { LinksHost } from './links-host.ts';
import type { UnitMachines } from './machines.ts';
import type { PlacedUpdates } from './placed-updates.ts';
import type { KnownHeads } from './seen-heads.ts';

export interface LeadingOptions {
  readonly context: Pick<RoleContext, 'host' | 'keys'>;
  readonly me: UnitOwner;
  readonly owned: OwnedShards;
  readonly copied: CopiedUnits;
  readonly known: KnownHeads;
  readonly machines: UnitMachines<SharedUpdate>;
  readonly host: Pick<LinksHost<SharedUpdate>, 'stepped'>;
  readonly inboxes: Pick<Inboxes, 'hasNone'>;
  readonly placed: Pick<PlacedUpdates, 'lost'>;
  readonly handOvers: Pick<HandOvers, 'isBegun'>;
  readonly copies: () => Pick<Outgoing, 'releaseAll'>;
  /** Defined in sync mode. */
  readonly rounds?: Pick<CopiedRounds, 'timeline' | 'stateOf' | 'add' | 'remove' | 'outdated'> | undefined;
  readonly onLed: (owned: OwnedHead) => void;
  readonly onChanged: () => void;
  readonly onFatal: (error: unknown) => void;
}

export class Leading {
  readonly #options: LeadingOptions;

  constructor(options: LeadingOptions) {
    this.#options = options;
  }

  /** Begins to lead the unit. The copy has every committed update. */
  serve(unit: number): void {
    const { owned, copied, known, machines, me, onLed } = this.#options;
    const stored = known.of(unit);
    if (machines.of(unit)?.role !== 'leading' || owned.heads.of(unit) !== undefined) return;
    if (stored === undefined || stored.head.primary.token !== me.token) return;
    if (!copied.units().includes(unit)) return;
    this.#lead(stored);
    onLed(stored);
  }

  /**
   * If all pservers went back to a cut after the copy was made, the copy is useless. This pserver leads the unit
   * anyway.
   */
  #lead(stored: OwnedHead): void {
    const { owned, copied, rounds, context } = this.#options;
    const { unit } = stored;
    const state = copied.rounds(unit);
    const how = `unit ${unit} is led by this pserver now`;
    if (rounds !== undefined && state?.timeline !== rounds.timeline()) {
      copied.discard(unit);
      rounds.outdated(stored);
      context.host.log.info(`${how}, and is to be loaded from the cut: its copy is from before`);
      return;
    }
    owned.add(stored, copied.positions(unit), true);
    copied.release(unit);
    rounds?.add(unit, state!);
    context.host.log.info(`${how}, with the copy that it had`);
  }

  /** Another process leads the unit. If this process did not hand the unit over, it has lost its index. */
  stepDown(unit: number): void {
    const { owned, copied, placed, handOvers, copies, rounds, context, onChanged } = this.#options;
    placed.lost(unit);
    if (owned.heads.of(unit) === undefined) return;
    if (!handOvers.isBegun(unit)) {
      this.lost(unit);
      return;
    }
    copies().releaseAll(unit);
    const state = rounds?.stateOf(unit, owned.shardsOf(unit));
    copied.adopt(unit, { positions: owned.release(unit), rounds: state });
    rounds?.remove(unit);
    context.host.log.info(`unit ${unit} is led by another pserver now, and has a copy here`);
    onChanged();
  }

  /**
   * The primary of a copy learns of this with the next answer. If this pserver leads the unit with the copy, the
   * process fails, so that another process takes the unit.
   */
  unfit(unit: number): void {
    const isLeading = this.#options.machines.of(unit)?.role === 'leading';
    this.discard(unit);
    if (isLeading) this.lost(unit);
  }

  discard(unit: number): void {
    const { machines, host, copied, inboxes, onChanged } = this.#options;
    machines.remove(unit);
    host.stepped(unit, [], []);
    if (copied.units().includes(unit)) copied.discard(unit);
    inboxes.hasNone(unit);
    onChanged();
  }

  lost(unit: number): void {
    const { context, onFatal } = this.#options;
    const key = context.keys.head(unit);
    onFatal(new PaddletError('LeaseGone', `${key} does not match this process's copy of the unit`));
  }
}
