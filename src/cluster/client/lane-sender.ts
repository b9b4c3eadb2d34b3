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
  /** Absent if the lane has no record. */
  readonly gradients: Gradients | undefined;
}

/** One pserver has been sent the lane. */
interface LaneAcknowledgement {
  /** Those that it led then, each with the epoch with which it began to lead it. */
  units: PlacedPserver['units'];
  readonly answered: Promise<void>;
}

/** A lane that is being sent to every pserver, or was. */
export class LaneDelivery {
  readonly push: LanePush;
  /** Failed ones are removed. */
  acknowledged: readonly LaneAcknowledgement[] = [];
  /** In that placement, no unit lacks the lane once these are fulfilled. */
  sent: { readonly placement: number; readonly answered: readonly Promise<void>[] } | undefined;
  sliced: { readonly placement: number; readonly slices: readonly PserverSlice[] } | undefined;

  constructor(push: LanePush) {
    this.push = push;
    const routed = push.gradients?.routed;
    this.sliced = routed && { placement: routed.version, slices: routed.slices };
  }
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
  send(delivery: LaneDelivery, placement: Placement): readonly Promise<void>[] {
    // Usually the placement is what it was: nothing is looked at by unit then.
    if (delivery.sent?.placement === placement.version) return delivery.sent.answered;
    const isFirst = delivery.acknowledged.length === 0;
    const answered = placement.pservers.flatMap((pserver, position) => {
      if (isFirst) return this.#begin(delivery, placement, position);
      const known = pserver.units.map((unit) => acknowledgementOf(delivery, unit)?.answered);
      const sending = known.includes(undefined) ? this.#begin(delivery, placement, position) : undefined;
      return [...new Set(known.map((answer) => answer ?? sending!))];
    });
    delivery.sent = { placement: placement.version, answered };
    return answered;
  }

  /** The pserver lacks the lane though it had acknowledged it. */
  lost(delivery: LaneDelivery, { units }: PlacedPserver): void {
    const isLost = (unit: number): boolean => units.some((lost) => lost.unit === unit);
    for (const entry of delivery.acknowledged) entry.units = entry.units.filter(({ unit }) => !isLost(unit));
    delivery.sent = undefined;
    // The memory of slices that were sent is used again.
    delivery.sliced = undefined;
  }

  #begin(delivery: LaneDelivery, placement: Placement, position: number): Promise<void> {
    const pserver = placement.pservers[position]!;
    const answered = this.#sendTo(pserver, delivery, this.#slicesOf(delivery, placement)[position]);
    const begun: LaneAcknowledgement = { units: pserver.units, answered };
    delivery.acknowledged = [...delivery.acknowledged, begun];
    // The caller sees the failure when it awaits the promise, perhaps later.
    answered.catch(() => {
      delivery.acknowledged = delivery.acknowledged.filter((entry) => entry !== begun);
      delivery.sent = undefined;
    });
    return answered;
  }

  #slicesOf(delivery: LaneDelivery, placement: Placement): readonly PserverSlice[] {
    const { gradients } = delivery.push;
    if (gradients === undefined) return [];
    if (delivery.sliced?.placement !== placement.version) {
      delivery.sliced = { placement: placement.version, slices: this.#slicer.route(placement, gradients.ids).slices };
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

/** The newest one of the unit, under the primary that it has. */
const acknowledgementOf = (
  { acknowledged }: LaneDelivery,
  { unit, led }: PlacedPserver['units'][number],
): LaneAcknowledgement | undefined =>
  acknowledged.findLast(({ units }) => units.some((known) => known.unit === unit && known.led === led));

/** Fields of a request without segments. */
export const NO_FIELDS: PserverSlice['fields'] = { dense: [], sparse: [] };

/** The lane whose push failed with this error; undefined if the error is not about a push. */
export function laneOfError(error: PaddletError): number | undefined {
  const { lane } = error.details;
  return typeof lane === 'number' ? lane : undefined;
}
