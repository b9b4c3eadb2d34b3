/**
 * Gives updates their places (docs/copies.md). An update is placed in all its units at one moment, when all their peers
 * have room for it. After the wait for room, the update is judged again: the same update may have come a second time,
 * or the units may have changed.
 */
import { PaddletError } from '../../../base/errors.ts';
import type { OwnedShards } from '../held/owned-shards.ts';
import type { SharedUpdate } from '../update/shared-update.ts';
import type { Update } from '../update/update.ts';
import type { LinksHost, TakeRoom } from './links-host.ts';
import type { UnitMachines } from './machines.ts';
import { type PlacedOutcome, PlacedUpdates } from './placed-updates.ts';
import { TaskTurns } from './task-turns.ts';

export interface PlaceRequest {
  /** The update, which has no place yet. */
  readonly payload: SharedUpdate;
  /** Whether the judgement of the update still holds. */
  readonly isCurrent: () => boolean;
  /** Returns the update to place. An error that it throws is the answer. */
  readonly make: () => Update;
  /** Whether the update raises the version of the shards. */
  readonly isCounted: boolean;
}

/** `again`: the update was not placed, and must be judged again. */
export type PlacingOutcome = PlacedOutcome | 'again';

export interface PlacingOptions {
  readonly owned: OwnedShards;
  readonly host: Pick<LinksHost<SharedUpdate>, 'ask'>;
  readonly machines: UnitMachines<SharedUpdate>;
}

export class Placing {
  readonly #options: PlacingOptions;
  readonly updates = new PlacedUpdates();
  /** Reject functions of the updates that wait for room. */
  readonly #asking = new Set<(error: PaddletError) => void>();
  /** Turns of the tasks whose ledgers the updates change. */
  readonly turns = new TaskTurns();
  #orders = 0;
  #counted = 0;
  #isClosed = false;

  constructor(options: PlacingOptions) {
    this.#options = options;
  }

  /** Number of placed updates that will raise the version of the shards, but have not done so yet. */
  get counted(): number {
    return this.#counted;
  }

  /** Returns the number of the next update that this process places or receives. */
  nextOrder(): number {
    this.#orders += 1;
    return this.#orders;
  }

  /** Call this right after judging the update, in the turn of its tasks. Throws or rejects when this pserver ends. */
  place(request: PlaceRequest): Promise<PlacingOutcome> {
    const { promise, resolve, reject } = Promise.withResolvers<PlacingOutcome>();
    if (this.#isClosed) throw suspended();
    this.#asking.add(reject);
    this.#options.host.ask(request.payload.bytesByUnit, (takeRoom) => {
      this.#asking.delete(reject);
      try {
        const placed = this.#place(request, takeRoom);
        if (placed === undefined) resolve('again');
        else placed.then(resolve, reject);
      } catch (error) {
        reject(error);
      }
    });
    return promise;
  }

  /** After this, nothing is placed, and undecided updates end as `failed`. */
  close(): void {
    this.#isClosed = true;
    for (const reject of this.#asking) reject(suspended());
    this.#asking.clear();
    this.updates.allLost();
  }

  #place(request: PlaceRequest, takeRoom: TakeRoom<SharedUpdate>): Promise<PlacedOutcome> | undefined {
    const { payload, isCurrent, make, isCounted } = request;
    const { machines, owned } = this.#options;
    if (!isCurrent() || !this.#areAdmitted(payload.units)) return undefined;
    payload.placed(this.nextOrder(), make());
    const parts = machines.nextNames(payload.units);
    takeRoom(payload, parts);
    if (isCounted) this.#counted += 1;
    const placed = this.updates.add(payload, parts, (isCommittedSomewhere) => {
      if (!isCounted) return;
      this.#counted -= 1;
      if (isCommittedSomewhere) owned.raiseVersion();
    });
    for (const { unit } of parts) machines.step(unit, { type: 'place', payload });
    return placed;
  }

  #areAdmitted(units: readonly number[]): boolean {
    return units.every((unit) => this.#options.machines.of(unit)?.admits('update') === true);
  }
}

const suspended = (): PaddletError => new PaddletError('Suspended', 'this pserver no longer answers');
