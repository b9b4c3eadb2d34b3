/**
 * Sends lanes to every pserver, and remembers which units of shards have acknowledged them, under which primary. A
 * primary keeps lanes in memory only: a unit that has moved, or was taken by a restarted pserver, lacks them. Its new
 * primary gets the lanes again, the others do not.
 */
import { isPaddletError, type PaddletError } from '../../base/errors.ts';
import { failPoint } from '../../base/fail-points.ts';
import type { MetricSums } from '../../model/model.ts';
import type { PlacedPserver, Placement } from '../placement/placement-view.ts';
import { annotateError } from './annotate-error.ts';
import type { Gradients } from './parameter-client.ts';
import type { PserverGroup, RequestFields } from './pserver-group.ts';
import type { RoundBarrier } from './round-barrier.ts';
import type { PserverSlice, Slicer } from './slicer.ts';

/** What one lane adds to a round. */
export interface LanePush {
  readonly timeline: number;
  readonly round: number;
  readonly lane: number;
  /** Absent when the lane is empty in this round. */
  readonly batch: RequestFields<'pushLane'>['batch'];
  readonly records: number;
  readonly metrics: MetricSums;
  /** Absent when there is no record. */
  readonly gradients: Gradients | undefined;
}

interface LaneAcknowledgement {
  /** The epoch with which the primary that got the lane began to lead the unit. */
  readonly led: number;
  readonly answered: Promise<void>;
}

/** A lane that is being sent to every pserver, or was. */
export interface LaneDelivery {
  readonly push: LanePush;
  /** By unit. Failed ones are removed. */
  readonly acknowledged: Map<number, LaneAcknowledgement>;
  sliced: { readonly placement: number; readonly slices: readonly PserverSlice[] } | undefined;
}

export class LaneSender {
  readonly #group: PserverGroup;
  readonly #slicer: Slicer;
  readonly #versions: RoundBarrier;

  constructor(group: PserverGroup, slicer: Slicer, versions: RoundBarrier) {
    this.#group = group;
    this.#slicer = slicer;
    this.#versions = versions;
  }

  /** Sends the lane to the primaries of all units that lack it and to which it is not on its way. */
  send(delivery: LaneDelivery, placement: Placement): Promise<void>[] {
    const { acknowledged } = delivery;
    return placement.pservers.flatMap((pserver, position) => {
      const lacking = pserver.units.filter(({ unit, led }) => acknowledged.get(unit)?.led !== led);
      if (lacking.length > 0) {
        const answered = this.#sendTo(pserver, delivery, this.#slicesOf(delivery, placement)[position]);
        for (const { unit, led } of lacking) acknowledged.set(unit, { led, answered });
        // The caller sees the failure when it awaits the promise, perhaps later.
        answered.catch(() => {
          for (const { unit } of lacking) if (acknowledged.get(unit)?.answered === answered) acknowledged.delete(unit);
        });
      }
      return [...new Set(pserver.units.map(({ unit }) => acknowledged.get(unit)!.answered))];
    });
  }

  /** The pserver lacks the lane though it had acknowledged it. */
  lost(delivery: LaneDelivery, { units }: PlacedPserver): void {
    for (const { unit } of units) delivery.acknowledged.delete(unit);
    // The memory of slices that were sent is used again.
    delivery.sliced = undefined;
  }

  #slicesOf(delivery: LaneDelivery, placement: Placement): readonly PserverSlice[] {
    const { gradients } = delivery.push;
    if (gradients === undefined) return [];
    if (delivery.sliced?.placement !== placement.version) {
      delivery.sliced = { placement: placement.version, slices: this.#slicer.slices(placement, gradients.ids) };
    }
    return delivery.sliced.slices;
  }

  async #sendTo(pserver: PlacedPserver, { push }: LaneDelivery, slice: PserverSlice | undefined): Promise<void> {
    const { gradients, batch, ...header } = push;
    const fields = {
      ...header,
      ...(batch === undefined ? {} : { batch }),
      ...(slice?.fields ?? NO_FIELDS),
    };
    const segments = gradients === undefined ? [] : (slice?.pushSegments(gradients) ?? []);
    const reply = await this.#group.ask(pserver, 'pushLane', fields, segments).catch((error: unknown) => {
      throw isPaddletError(error) ? annotateError(error, { details: { lane: push.lane } }) : error;
    });
    reply.free();
    slice?.release();
    this.#versions.observe(pserver, { timeline: header.timeline, version: reply.header.version });
    failPoint('trainer.lane-acknowledged');
  }
}

/** Of a request without segments. */
export const NO_FIELDS: PserverSlice['fields'] = { dense: [], sparse: [] };

/** The lane whose push failed with this error; undefined when the error is not of a push. */
export function laneOfError(error: PaddletError): number | undefined {
  const { lane } = error.details;
  return typeof lane === 'number' ? lane : undefined;
}
