/**
 * Sends lanes to every pserver, and remembers who has acknowledged them. That is kept by owner: a restarted pserver
 * gets the lanes again, the others do not.
 */
import { isPaddletError, type PaddletError } from '../../base/errors.ts';
import { failPoint } from '../../base/fail-points.ts';
import type { MetricSums } from '../../model/model.ts';
import type { PlacedPserver, Placement } from '../placement/placement-view.ts';
import { annotateError } from './annotate-error.ts';
import type { Gradients } from './parameter-client.ts';
import { ownerKey } from './pserver-channels.ts';
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

/** A lane that is being sent to every pserver, or was. */
export interface LaneDelivery {
  readonly push: LanePush;
  /** By owner: settles with its acknowledgement. Failed ones are removed. */
  readonly acknowledged: Map<string, Promise<void>>;
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

  /** Sends the lane to all pservers that have not acknowledged it and to which it is not on its way. */
  send(delivery: LaneDelivery, placement: Placement): Promise<void>[] {
    return placement.pservers.map((pserver, position) => {
      const owner = ownerKey(pserver);
      const known = delivery.acknowledged.get(owner);
      if (known !== undefined) return known;
      const sending = this.#sendTo(pserver, delivery, this.#slicesOf(delivery, placement)[position]);
      delivery.acknowledged.set(owner, sending);
      // The caller sees the failure when it awaits the promise, perhaps later.
      sending.catch(() => {
        if (delivery.acknowledged.get(owner) === sending) delivery.acknowledged.delete(owner);
      });
      return sending;
    });
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
