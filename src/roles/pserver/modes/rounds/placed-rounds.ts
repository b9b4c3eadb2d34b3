/**
 * Sync mode, where units have copies: the sum of a complete round is placed in the units of its group, as an update
 * (docs/copies.md). The units are a version further when all their copies have it, each by itself. What is dropped,
 * since a copy has failed, is placed again: no trainer is asked for its lane a second time.
 */
import { isPaddletError, type PaddletError } from '../../../../base/errors.ts';
import type { ServedReplicas } from '../../replicas/served-replicas.ts';
import { SharedUpdate } from '../../update/shared-update.ts';
import type { RoundUpdate } from '../../update/update.ts';
import type { UnitGroup } from './kept-rounds.ts';
import type { RoundGroups } from './round-groups.ts';

export interface PlacedRoundsOptions {
  readonly replicas: Pick<ServedReplicas, 'placing' | 'wait' | 'job'>;
  readonly groups: Pick<RoundGroups, 'takeSum' | 'waitingFor'>;
  readonly isFrozen: () => boolean;
  /** A round cannot be placed: the job has to fail. */
  readonly onFatal: (error: PaddletError) => void;
  /** A bug. */
  readonly onBug: (error: unknown) => void;
}

export class PlacedRounds {
  readonly #options: PlacedRoundsOptions;

  constructor(options: PlacedRoundsOptions) {
    this.#options = options;
  }

  /** The group has all lanes of its round. Throws what `Parameters.check` throws. */
  begin(group: UnitGroup): void {
    const { groups, onFatal, onBug } = this.#options;
    const sum = groups.takeSum(group);
    this.#place(group.units, sum).catch((error: unknown) => {
      // This pserver answers nothing any more: another one leads its units.
      if (isPaddletError(error, 'Suspended')) return;
      if (isPaddletError(error)) onFatal(error);
      else onBug(error);
    });
  }

  /** Until no unit is left that waits: those that another process leads by then get their lanes again there. */
  async #place(units: readonly number[], sum: RoundUpdate): Promise<void> {
    for (;;) {
      const waiting = this.#waiting(units, sum);
      if (waiting.length === 0) return;
      await (this.#options.replicas.wait('update') ?? this.#placeIn(waiting, sum));
    }
  }

  /** Ends when every unit has decided, or the sum was not placed. */
  async #placeIn(units: readonly number[], sum: RoundUpdate): Promise<void> {
    const { placing } = this.#options.replicas;
    const payload = this.#payloadOf(units, sum);
    if (payload === undefined) {
      const half = units.length >> 1;
      await Promise.all([this.#placeIn(units.slice(0, half), sum), this.#placeIn(units.slice(half), sum)]);
      return;
    }
    const isStill = (): boolean => this.#waiting(units, sum).length === units.length;
    await placing.place({ payload, isStill, make: () => sum, isCounted: false });
  }

  /** Undefined when it is too large for all these units together. */
  #payloadOf(units: readonly number[], sum: RoundUpdate): SharedUpdate | undefined {
    try {
      const payload = new SharedUpdate({ of: this.#options.replicas.job, update: sum, units });
      payload.checkFrame();
      return payload;
    } catch (error) {
      if (units.length > 1 && isPaddletError(error, 'FrameTooLarge')) return undefined;
      throw error;
    }
  }

  #waiting(units: readonly number[], sum: RoundUpdate): number[] {
    const { groups, isFrozen } = this.#options;
    return isFrozen() ? [] : groups.waitingFor(sum, units);
  }
}
