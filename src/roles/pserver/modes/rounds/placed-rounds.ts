/**
 * Sync mode, where units have copies: places the sum of a complete round as an update in the units of its group
 * (docs/copies.md). Each unit advances by one version when all its copies have the sum. If a failed copy makes a unit
 * drop the sum, the pserver places it again, and asks no trainer for its lane a second time.
 */
import { isPaddletError, type PaddletError } from '../../../../base/errors.ts';
import type { ServedReplicas } from '../../replicas/served-replicas.ts';
import { SharedUpdate } from '../../update/shared-update.ts';
import type { RoundUpdate } from '../../update/update.ts';
import type { UnitGroup } from './group-rounds.ts';
import type { RoundGroups } from './round-groups.ts';

export interface PlacedRoundsOptions {
  readonly replicas: Pick<ServedReplicas, 'placing' | 'wait' | 'job'>;
  readonly groups: Pick<RoundGroups, 'takeSum' | 'waitingFor'>;
  readonly isFrozen: () => boolean;
  /** Called if a round cannot be placed: the job has to fail. */
  readonly onFatal: (error: PaddletError) => void;
  /** Called on an unexpected error, which is a bug. */
  readonly onBug: (error: unknown) => void;
}

export class PlacedRounds {
  readonly #options: PlacedRoundsOptions;

  constructor(options: PlacedRoundsOptions) {
    this.#options = options;
  }

  /** To be called when the group has all lanes of its round. Throws the errors of `RoundGroups.takeSum`. */
  begin(group: UnitGroup): void {
    const { groups, onFatal, onBug } = this.#options;
    const sum = groups.takeSum(group);
    this.#place(group.units, sum).catch((error: unknown) => {
      // This pserver has stopped answering, and other pservers take its units over.
      if (isPaddletError(error, 'Suspended')) return;
      if (isPaddletError(error)) onFatal(error);
      else onBug(error);
    });
  }

  /**
   * Places the sum until no unit of this pserver waits for it. If another process leads a unit by then, trainers push
   * the lanes of the round to that process.
   */
  async #place(units: readonly number[], sum: RoundUpdate): Promise<void> {
    for (;;) {
      const waiting = this.#waiting(units, sum);
      if (waiting.length === 0) return;
      await (this.#options.replicas.wait('update') ?? this.#placeIn(waiting, sum));
    }
  }

  /** Resolves when every unit has committed or dropped the sum, or if the sum was not placed. */
  async #placeIn(units: readonly number[], sum: RoundUpdate): Promise<void> {
    const { placing } = this.#options.replicas;
    const payload = this.#payloadOf(units, sum);
    if (payload === undefined) {
      const half = units.length >> 1;
      await Promise.all([this.#placeIn(units.slice(0, half), sum), this.#placeIn(units.slice(half), sum)]);
      return;
    }
    const isCurrent = (): boolean => this.#waiting(units, sum).length === units.length;
    await placing.place({ payload, isCurrent, make: () => sum, isCounted: false });
  }

  /** Undefined if the update is too large for all these units together. */
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
