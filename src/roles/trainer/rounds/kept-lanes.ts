/**
 * The gradients of lanes that this trainer keeps, in the model's memory: they are given back when the round is past,
 * however it ends. Until then each may be sent again.
 */
import type { LaneDelivery } from '../../../cluster/client/lane-sender.ts';
import { freeStep, type Model, type StepResult } from '../../../model/model.ts';

/** Maximum part of the model's memory for kept lanes; values and batches are in the same memory. */
export const MOST_KEPT_BYTES = 512 * 1024 * 1024;

type Arrays = Pick<StepResult, 'dense' | 'sparse'>;

export class KeptLanes {
  readonly #model: Pick<Model, 'memory'>;
  readonly #kept = new Set<LaneDelivery>();
  #bytes = 0;

  constructor(model: Pick<Model, 'memory'>) {
    this.#model = model;
  }

  /** Whether these may stay in the model's memory, beside those that are kept. */
  hasRoom(gradients: Arrays): boolean {
    return this.#bytes + bytesOf(gradients) <= MOST_KEPT_BYTES;
  }

  add(delivery: LaneDelivery): void {
    this.#kept.add(delivery);
    this.#bytes += bytesOfLane(delivery);
  }

  /** Gives back all other lanes, which nothing sends from now on. */
  restrict(to: readonly LaneDelivery[]): void {
    const staying = new Set(to);
    for (const delivery of this.#kept) {
      if (staying.has(delivery)) continue;
      this.#kept.delete(delivery);
      this.#bytes -= bytesOfLane(delivery);
      if (delivery.push.gradients !== undefined) freeStep(this.#model, delivery.push.gradients);
    }
  }
}

const bytesOfLane = ({ push: { gradients } }: LaneDelivery): number =>
  gradients === undefined ? 0 : bytesOf(gradients);

const bytesOf = ({ dense, sparse }: Arrays): number =>
  [...dense, ...sparse].reduce((sum, { byteLength }) => sum + byteLength, 0);
