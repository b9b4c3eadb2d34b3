/**
 * Gives updates their places (docs/copies.md). An update is placed in all units that it concerns at one moment, when
 * there is room for it at all their peers. What was judged before the wait is judged again then: the same update may
 * have come a second time, or the units may be others.
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
  /** It has no place yet. */
  readonly payload: SharedUpdate;
  /** Whether what was judged of it holds still. */
  readonly isStill: () => boolean;
  /** The update as it is placed. What it throws is the answer. */
  readonly make: () => Update;
  /** It raises the version of the shards. */
  readonly isCounted: boolean;
}

/** `again`: it was not placed, and is to be judged again. */
export type PlacingOutcome = PlacedOutcome | 'again';

export interface PlacingOptions {
  readonly owned: OwnedShards;
  readonly host: Pick<LinksHost<SharedUpdate>, 'ask'>;
  readonly machines: UnitMachines<SharedUpdate>;
}

export class Placing {
  readonly #options: PlacingOptions;
  readonly updates = new PlacedUpdates();
  /** Of the updates that wait for room. */
  readonly #asking = new Set<(error: PaddletError) => void>();
  /** Whose ledgers they change. */
  readonly turns = new TaskTurns();
  #orders = 0;
  #counted = 0;
  #isClosed = false;

  constructor(options: PlacingOptions) {
    this.#options = options;
  }

  /** Updates that are placed, will raise the version of the shards, and have not. */
  get counted(): number {
    return this.#counted;
  }

  /** The next number of an update that comes into being here. */
  nextOrder(): number {
    this.#orders += 1;
    return this.#orders;
  }

  /** To be called right after it was judged, in the turn of its tasks. Rejects when this pserver ends. */
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

  /** Nothing is placed any more, and nothing that is placed is answered. */
  close(): void {
    this.#isClosed = true;
    for (const reject of this.#asking) reject(suspended());
    this.#asking.clear();
    this.updates.lostAll();
  }

  #place(request: PlaceRequest, takeRoom: TakeRoom<SharedUpdate>): Promise<PlacedOutcome> | undefined {
    const { payload, isStill, make, isCounted } = request;
    const { machines, owned } = this.#options;
    if (!isStill() || !this.#areAdmitted(payload.units)) return undefined;
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
