/**
 * Sync mode as a trainer sees the pservers (DESIGN §6): where the rounds stand, values at exactly one version, and lanes that
 * every pserver gets. A lane goes out as soon as it is computed, and nobody waits for its acknowledgement before asking for
 * the next version, which says as much. Who has acknowledged it is known by owner: a pserver that was started anew gets it
 * again, the others do not.
 */
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import { failPoint } from '../../base/fail-points.ts';
import type { MetricSums, PulledValues } from '../../model/model.ts';
import type { IdRouter } from '../../tensor/id-router.ts';
import type { ParameterSpec } from '../../tensor/spec.ts';
import type { PlacedPserver, Placement } from '../placement/placement-view.ts';
import { orAborted, throwIfAborted } from '../waiting.ts';
import type { Gradients } from './parameter-client.ts';
import { type Ask, allSettledOrThrow, type PserverGroup } from './pserver-group.ts';
import { createSlicer, type IdList, type PserverSlice } from './slicer.ts';

/** A pserver that waits for a version says after so long what it lacks. */
const WAIT_MS = 5_000;
const REQUEST_TIMEOUT_MS = 15_000;

export interface Standing {
  readonly timeline: number;
  /** The lowest of any pserver: the round in work. */
  readonly version: number;
  readonly highest: number;
  /** The lowest version that all of them can give. */
  readonly oldest: number;
  /** Lanes that the round lacks at a pserver. */
  readonly missing: readonly number[];
}

export interface VersionAt {
  readonly timeline: number;
  readonly version: number;
}

/** What one lane adds to a round. */
export interface LanePush {
  readonly timeline: number;
  readonly round: number;
  readonly lane: number;
  /** Absent when the lane is empty in this round. */
  readonly batch: Ask<'pushLane'>['batch'];
  readonly records: number;
  readonly metrics: MetricSums;
  /** Absent when there is no record. */
  readonly gradients: Gradients | undefined;
}

/** A lane on its way to every pserver, or there. */
export interface LaneDelivery {
  readonly push: LanePush;
  /** By owner. Those that failed are taken out. */
  readonly acknowledged: Map<string, Promise<void>>;
  routed: { readonly placement: number; readonly parts: readonly PserverSlice[] } | undefined;
}

export interface Exchange {
  /** The version that all pservers are to reach. */
  readonly at: VersionAt;
  /** Values of it to be pulled; undefined: none. */
  readonly ids: IdList | undefined;
  /** Lanes of the round before. */
  readonly deliveries: readonly LaneDelivery[];
  /** All is sent: there is time for something else. */
  readonly onSent?: () => void;
  /** A pserver waits for lanes. */
  readonly onPending?: (pserver: number, missing: readonly number[]) => void;
  /** Every pserver has acknowledged the lanes. */
  readonly onDelivered?: () => void;
}

export interface VersionClient {
  /** Asks every pserver. With `above`: when all are above that version, or after a while. */
  standing(options: { readonly above?: number }, signal: AbortSignal): Promise<Standing>;
  /** Begins to send it to every pserver, if they are there. Whether it arrives is seen by `exchange` or `deliver`. */
  begin(push: LanePush): LaneDelivery;
  /**
   * Sees to it that every pserver has the lanes, and waits until every one has the version: the barrier. Undefined when no
   * values are pulled. Throws `VersionGone`, `RoundAhead`, `StaleTimeline`; what is given up leaves nothing behind.
   */
  exchange(exchange: Exchange, signal: AbortSignal): Promise<PulledValues | undefined>;
  /** Only that every pserver has the lanes. */
  deliver(deliveries: readonly LaneDelivery[], signal: AbortSignal): Promise<void>;
  /** Nobody refers to these pulled values any more: later ones may be put in their place. */
  recycle(values: PulledValues): void;
  /** Every pserver is known to be past that round: its lanes are not needed any more. */
  isPast(at: VersionAt): boolean;
}

export interface VersionClientOptions {
  readonly spec: ParameterSpec;
  readonly shards: number;
  readonly group: PserverGroup;
  readonly router: IdRouter;
}

const ownerOf = ({ index, token }: PlacedPserver): string => `${index}/${token}`;

export function createVersionClient(options: VersionClientOptions): VersionClient {
  const { group } = options;
  const planner = createSlicer(options);
  /** By pserver index, the newest version that its owner has told of. */
  const seen = new Map<number, VersionAt & { readonly token: bigint }>();

  const saw = ({ index, token }: PlacedPserver, { timeline, version }: VersionAt): void =>
    void seen.set(index, { token, timeline, version });

  async function send(delivery: LaneDelivery, pserver: PlacedPserver, part: PserverSlice | undefined): Promise<void> {
    const { gradients, batch, ...header } = delivery.push;
    const asked = {
      ...header,
      ...(batch === undefined ? {} : { batch }),
      placement: pserver.stamp,
      ...(part?.fields ?? { dense: [], sparse: [] }),
    };
    const segments = gradients === undefined ? [] : (part?.pushSegments(gradients) ?? []);
    const reply = await group.ask(pserver, 'pushLane', asked, segments, REQUEST_TIMEOUT_MS).catch((error: unknown) => {
      throw isPaddletError(error) ? ofLane(error, delivery.push.lane) : error;
    });
    reply.free();
    part?.done();
    saw(pserver, { timeline: header.timeline, version: reply.header.version });
    failPoint('trainer.lane-acknowledged');
  }

  function partsOf(delivery: LaneDelivery, placement: Placement): readonly PserverSlice[] {
    const { gradients } = delivery.push;
    if (gradients === undefined) return [];
    if (delivery.routed?.placement !== placement.version) {
      delivery.routed = { placement: placement.version, parts: planner.parts(placement, gradients.ids) };
    }
    return delivery.routed.parts;
  }

  /** To those that have not acknowledged it, and to whom it is not on its way. */
  function sendToAll(delivery: LaneDelivery, placement: Placement): Promise<void>[] {
    return placement.pservers.map((pserver, position) => {
      const owner = ownerOf(pserver);
      const known = delivery.acknowledged.get(owner);
      if (known !== undefined) return known;
      const sending = send(delivery, pserver, partsOf(delivery, placement)[position]);
      delivery.acknowledged.set(owner, sending);
      // Seen by whoever waits for it, who may come later.
      sending.catch(() => {
        if (delivery.acknowledged.get(owner) === sending) delivery.acknowledged.delete(owner);
      });
      return sending;
    });
  }

  /** Pulls from one pserver, waiting for as long as nobody gives up. */
  async function pullPart(
    { at, onPending, deliveries }: Exchange,
    {
      pserver,
      part,
      values,
    }: { pserver: PlacedPserver; part: PserverSlice | undefined; values: PulledValues | undefined },
    givenUp: AbortSignal,
  ): Promise<void> {
    const header = {
      timeline: at.timeline,
      version: at.version,
      maxWaitMs: WAIT_MS,
      placement: pserver.stamp,
      ...(part?.fields ?? { dense: [], sparse: [] }),
    };
    for (;;) {
      try {
        const reply = await group.ask(
          pserver,
          'pullVersion',
          header,
          part?.pullSegments() ?? [],
          WAIT_MS + REQUEST_TIMEOUT_MS,
        );
        try {
          saw(pserver, at);
          // Nobody wants the values of an answer that comes late.
          if (values !== undefined && !givenUp.aborted) part?.scatter((index) => reply.segment(index), values);
        } finally {
          reply.free();
        }
        return;
      } catch (error) {
        throwIfAborted(givenUp);
        if (!isPaddletError(error, 'VersionPending')) throw error;
        const missing = lanesIn(error);
        onPending?.(pserver.index, missing);
        // What it had acknowledged it does not have any more: it is sent again.
        const lost = deliveries.filter(({ push }) => missing.includes(push.lane));
        for (const { acknowledged } of lost) acknowledged.delete(ownerOf(pserver));
        if (lost.length > 0) throw error;
      }
    }
  }

  /** Rejects with the first failure. What is left of a pull then only frees its answers. */
  async function exchangeIn(placement: Placement, exchange: Exchange, signal: AbortSignal) {
    const { ids, deliveries, onSent, onDelivered } = exchange;
    // Lanes that were begun: nothing of them leaves while ids are routed.
    const leaving = group.sending();
    if (leaving !== undefined) await orAborted(leaving, signal);
    const values = ids === undefined ? undefined : planner.room(ids);
    const parts = ids === undefined ? [] : planner.parts(placement, ids);
    const givenUp = new AbortController();
    const { promise: failed, reject } = Promise.withResolvers<never>();
    const sending = deliveries.flatMap((delivery) => sendToAll(delivery, placement));
    const delivered = Promise.all(sending).then(() => {
      if (givenUp.signal.aborted) return;
      if (deliveries.length > 0) failPoint('trainer.lanes-pushed');
      onDelivered?.();
    });
    delivered.catch(reject);
    const pulled = Promise.all(
      placement.pservers.map((pserver, position) =>
        pullPart(exchange, { pserver, part: parts[position], values }, givenUp.signal),
      ),
    );
    onSent?.();
    try {
      await orAborted(Promise.race([pulled, failed]), signal);
      for (const part of parts) part.done();
      return values;
    } finally {
      givenUp.abort();
    }
  }

  return {
    standing: ({ above }, signal) =>
      group.withPlacement(
        'where the rounds stand',
        async (placement) => {
          const header = { maxWaitMs: above === undefined ? 0 : WAIT_MS, ...(above === undefined ? {} : { above }) };
          const asked = placement.pservers.map(async (pserver) => {
            const reply = await group.ask(pserver, 'rounds', header, [], WAIT_MS + REQUEST_TIMEOUT_MS);
            reply.free();
            saw(pserver, reply.header);
            return reply.header;
          });
          return standingOf(await orAborted(Promise.all(asked), signal));
        },
        signal,
      ),

    begin(push) {
      const delivery: LaneDelivery = { push, acknowledged: new Map(), routed: undefined };
      const placement = group.current();
      if (placement !== undefined) sendToAll(delivery, placement);
      return delivery;
    },

    exchange: (exchange, signal) =>
      group.withPlacement(
        `version ${exchange.at.version}`,
        (placement) => exchangeIn(placement, exchange, signal),
        signal,
      ),

    deliver: (deliveries, signal) =>
      group.withPlacement(
        'lanes',
        async (placement) => {
          const sending = deliveries.flatMap((delivery) => sendToAll(delivery, placement));
          await orAborted(allSettledOrThrow(sending), signal);
        },
        signal,
      ),

    recycle: (values) => planner.recycle(values),

    isPast: ({ timeline, version }) =>
      group.current()?.pservers.every(({ index, token }) => {
        const last = seen.get(index);
        return last?.token === token && last.timeline === timeline && last.version > version;
      }) === true,
  };
}

/** Throws `NotReady`, to be asked again, while only some of them have been set back to a cut. */
function standingOf(answers: readonly Omit<Standing, 'highest'>[]): Standing {
  const timelines = answers.map(({ timeline }) => timeline);
  const timeline = Math.max(...timelines);
  if (Math.min(...timelines) < timeline) {
    throw new PaddletError('NotReady', `pservers are on timelines ${timelines.join(', ')}: some have yet to go back`);
  }
  const version = Math.min(...answers.map((one) => one.version));
  const lowest = answers.filter((one) => one.version === version);
  return {
    timeline,
    version,
    highest: Math.max(...answers.map((one) => one.version)),
    oldest: Math.max(...answers.map(({ oldest }) => oldest)),
    missing: [...new Set(lowest.flatMap(({ missing }) => missing))].sort((a, b) => a - b),
  };
}

/** The same error, with the lane whose push met it. */
const ofLane = (error: PaddletError, lane: number): PaddletError =>
  new PaddletError(error.code, error.message, {
    details: { ...error.details, lane },
    cause: error,
    ...(error.hint === undefined ? {} : { hint: error.hint }),
  });

/** Which lane's push met the error, if it was one. */
export function laneOfError(error: PaddletError): number | undefined {
  const { lane } = error.details;
  return typeof lane === 'number' ? lane : undefined;
}

function lanesIn(error: PaddletError): readonly number[] {
  const { missing } = error.details;
  return Array.isArray(missing) ? missing.filter((lane): lane is number => typeof lane === 'number') : [];
}
