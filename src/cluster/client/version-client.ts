/**
 * The pservers in sync mode, as a trainer sees them (docs/modes.md): the position of the rounds, values at exactly
 * one version, and lanes that every pserver gets. A lane is sent as soon as it is computed. The trainer asks for the
 * next version without waiting for the acknowledgements, as that version's arrival says as much.
 */
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import { failPoint } from '../../base/fail-points.ts';
import type { RoundPosition } from '../../core/rounds/lane-work.ts';
import type { ArrayMemory } from '../../tensor/array-memory.ts';
import type { IdList, IdRouter } from '../../tensor/id-router.ts';
import type { ParameterSpec } from '../../tensor/spec.ts';
import type { PlacedPserver, Placement } from '../placement/placement-view.ts';
import { orAborted, throwIfAborted } from '../waiting.ts';
import { JoinedPull, type PulledList } from './joined-pull.ts';
import { LaneDelivery, type LanePush, LaneSender } from './lane-sender.ts';
import { allSettledOrThrow, type PserverGroup } from './pserver-group.ts';
import { RoundBarrier, type TimelineVersion } from './round-barrier.ts';
import { createSlicer, type Slicer } from './slicer.ts';

/** A pserver that waits for lanes answers after this time which ones are missing. */
const VERSION_WAIT_MS = 5_000;

export interface Exchange {
  /** The version that all pservers are to reach. */
  readonly at: TimelineVersion;
  /** For each list, by table: ids whose values of that version are pulled. */
  readonly lists: readonly (readonly IdList[])[];
  /** Lanes of the round before. */
  readonly deliveries: readonly LaneDelivery[];
  /** All requests are on their way: the thread is free for other work. */
  readonly onSent?: () => void;
  /** A pserver waits for lanes. */
  readonly onPending?: (pserver: number, missing: readonly number[]) => void;
  /** Every pserver has acknowledged the lanes. */
  readonly onDelivered?: () => void;
  /** A pserver has answered with the version. So long it waited for lanes. */
  readonly onReached?: (waitedMs: number) => void;
}

export interface VersionClient {
  /**
   * Asks every pserver for its version. With `above`: answers when all are above that version, or after a while.
   * Repeats while only some pservers have been set back to a cut.
   */
  roundPosition(options: { readonly above?: number }, signal: AbortSignal): Promise<RoundPosition>;
  /**
   * Starts to send the lane to every pserver, if the placement is complete. `exchange` and `deliver` await the outcome.
   */
  begin(push: LanePush): LaneDelivery;
  /**
   * Delivers the lanes to every pserver, and waits until every unit of shards has the version: the barrier. A unit that
   * moves in that time gets the lanes again from here. Gives the values of each list. Throws `VersionGone`,
   * `RoundAhead`, `StaleTimeline`. An aborted exchange frees all its answers.
   */
  exchange(exchange: Exchange, signal: AbortSignal): Promise<readonly PulledList[]>;
  /** Delivers the lanes without waiting for a version. */
  deliver(deliveries: readonly LaneDelivery[], signal: AbortSignal): Promise<void>;
  /** Takes back the values of an exchange, to which nothing refers: later pulls use their memory. */
  recycle(pulled: readonly PulledList[]): void;
  /** True when every unit of shards is known to be past that round: its lanes are no longer needed. */
  isPast(at: TimelineVersion): boolean;
}

export interface VersionClientOptions {
  readonly spec: ParameterSpec;
  readonly shards: number;
  readonly group: PserverGroup;
  readonly router: IdRouter;
  /** Where pulled values are put: the model's. */
  readonly memory?: ArrayMemory | undefined;
}

export const createVersionClient = (options: VersionClientOptions): VersionClient => new SyncClient(options);

/** One pull of a version from one pserver. */
interface VersionPull {
  readonly pserver: PlacedPserver;
  readonly joined: JoinedPull;
  readonly lists: readonly PulledList[];
}

class SyncClient implements VersionClient {
  readonly #group: PserverGroup;
  readonly #slicer: Slicer;
  readonly #versions = new RoundBarrier();
  readonly #lanes: LaneSender;

  constructor(options: VersionClientOptions) {
    this.#group = options.group;
    this.#slicer = createSlicer(options);
    this.#lanes = new LaneSender(options.group, this.#slicer, this.#versions);
  }

  roundPosition({ above }: { readonly above?: number }, signal: AbortSignal): Promise<RoundPosition> {
    const fields = above === undefined ? { maxWaitMs: 0 } : { maxWaitMs: VERSION_WAIT_MS, above };
    const attempt = async ({ pservers }: Placement): Promise<RoundPosition> => {
      const asked = pservers.map(async (pserver) => {
        const reply = await this.#group.ask(pserver, 'rounds', fields);
        reply.free();
        this.#versions.observe(pserver, reply.header);
        return reply.header;
      });
      return positionOf(await orAborted(Promise.all(asked), signal));
    };
    return this.#group.withPlacement('the position of the rounds', attempt, signal);
  }

  begin(push: LanePush): LaneDelivery {
    const delivery = new LaneDelivery(push);
    const placement = this.#group.current();
    if (placement !== undefined) this.#lanes.send(delivery, placement);
    return delivery;
  }

  exchange(exchange: Exchange, signal: AbortSignal): Promise<readonly PulledList[]> {
    const attempt = (placement: Placement): Promise<readonly PulledList[]> =>
      this.#exchangeIn(placement, exchange, signal);
    return this.#group.withPlacement(`version ${exchange.at.version}`, attempt, signal);
  }

  deliver(deliveries: readonly LaneDelivery[], signal: AbortSignal): Promise<void> {
    const attempt = async (placement: Placement): Promise<void> => {
      const sending = deliveries.flatMap((delivery) => this.#lanes.send(delivery, placement));
      await orAborted(allSettledOrThrow(sending), signal);
    };
    return this.#group.withPlacement('lanes', attempt, signal);
  }

  recycle(pulled: readonly PulledList[]): void {
    pulled.forEach(({ values: { dense, sparse } }, list) => {
      this.#slicer.recycle({ dense: list === 0 ? dense : [], sparse });
    });
  }

  isPast(at: TimelineVersion): boolean {
    const placement = this.#group.current();
    return placement !== undefined && this.#versions.areAllPast(placement, at);
  }

  /** Rejects with the first failure. Pulls that are still unanswered then only free their answers. */
  async #exchangeIn(placement: Placement, exchange: Exchange, signal: AbortSignal): Promise<readonly PulledList[]> {
    const { deliveries, onSent, onDelivered } = exchange;
    // Routing ids keeps the thread busy, and lanes that are partly sent would wait that long.
    const beingSent = this.#group.sending();
    if (beingSent !== undefined) await orAborted(beingSent, signal);
    const lists = this.#begun(placement, exchange.lists);
    const abandoned = new AbortController();
    const { promise: failed, reject } = Promise.withResolvers<never>();
    const delivered = Promise.all(deliveries.flatMap((delivery) => this.#lanes.send(delivery, placement)));
    const reported = delivered.then(() => {
      if (abandoned.signal.aborted) return;
      if (deliveries.length > 0) failPoint('trainer.lanes-pushed');
      onDelivered?.();
    });
    reported.catch(reject);
    const pulled = Promise.all(
      placement.pservers.map((pserver, position) => {
        const joined = new JoinedPull(lists.map(({ routed }) => routed.slices[position]!));
        return this.#pullVersion(exchange, { pserver, joined, lists }, abandoned.signal);
      }),
    );
    onSent?.();
    try {
      await orAborted(Promise.race([pulled, failed]), signal);
      return lists;
    } catch (error) {
      // Nothing is scattered after the exchange is abandoned.
      abandoned.abort();
      this.recycle(lists);
      throw error;
    } finally {
      abandoned.abort();
    }
  }

  #begun(placement: Placement, lists: readonly (readonly IdList[])[]): PulledList[] {
    const begun: PulledList[] = [];
    try {
      for (const ids of lists) {
        const values = this.#slicer.allocate(ids, begun[0]?.values.dense);
        begun.push({ values, routed: this.#slicer.route(placement, ids) });
      }
      return begun;
    } catch (error) {
      this.recycle(begun);
      throw error;
    }
  }

  /** Waits for the version at one pserver until the exchange is abandoned. */
  async #pullVersion(exchange: Exchange, pull: VersionPull, abandoned: AbortSignal): Promise<void> {
    const { at, onPending, onReached, deliveries } = exchange;
    const { pserver, joined, lists } = pull;
    const { timeline, version } = at;
    const fields = { timeline, version, maxWaitMs: VERSION_WAIT_MS, ...joined.fields };
    for (let waitedMs = 0; ; waitedMs += VERSION_WAIT_MS) {
      try {
        const reply = await this.#group.ask(pserver, 'pullVersion', fields, joined.segments());
        try {
          this.#versions.observe(pserver, at);
          if (!abandoned.aborted) onReached?.(waitedMs + reply.header.waitedMs);
          // The values of an abandoned exchange may belong to another pull by now.
          if (abandoned.aborted) return;
          joined.scatter(
            reply,
            lists.map(({ values }) => values),
          );
        } finally {
          reply.free();
        }
        return;
      } catch (error) {
        throwIfAborted(abandoned);
        if (!isPaddletError(error, 'VersionPending')) throw error;
        const missing = lanesIn(error);
        onPending?.(pserver.index, missing);
        // The pserver has lost lanes that it had acknowledged: they are sent again.
        const lost = deliveries.filter(({ push }) => missing.includes(push.lane));
        for (const delivery of lost) this.#lanes.lost(delivery, pserver);
        if (lost.length > 0) throw error;
      }
    }
  }
}

/** Throws `NotReady`, an error to retry, while only some pservers have been set back to a cut. */
function positionOf(answers: readonly RoundPosition[]): RoundPosition {
  const timelines = answers.map(({ timeline }) => timeline);
  const timeline = Math.max(...timelines);
  if (Math.min(...timelines) < timeline) {
    const message = `pservers are on timelines ${timelines.join(', ')}: some have yet to be set back`;
    throw new PaddletError('NotReady', message);
  }
  return {
    timeline,
    version: Math.min(...answers.map(({ version }) => version)),
    oldest: Math.max(...answers.map(({ oldest }) => oldest)),
  };
}

function lanesIn(error: PaddletError): readonly number[] {
  const { missing } = error.details;
  return Array.isArray(missing) ? missing.filter((lane): lane is number => typeof lane === 'number') : [];
}
