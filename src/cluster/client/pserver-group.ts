/**
 * All pservers of a job as one: routes ids and blocks by the placement, and repeats what fails for a passing reason
 * (a pserver restarting, an old placement) until it succeeds. Repeating is safe: pulls change nothing, and the ledgers
 * drop pushes that were applied before.
 */
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import type { Cancel } from '../../base/seams.ts';
import type { Channel, Received } from '../../protocol/messages/channel.ts';
import type { ReplyHeader, RequestHeader } from '../../protocol/messages/messages.ts';
import { backoffMs, pause } from '../../store/backoff.ts';
import type { ClusterContext } from '../context.ts';
import type { JobRecord } from '../job/job-record.ts';
import type { PlacedPserver, Placement, PlacementView } from '../placement/placement-view.ts';
import { logWaiting, throwIfAborted } from '../waiting.ts';

const REQUEST_TIMEOUT_MS = 15_000;

type RequestOf<T extends RequestHeader['type']> = Extract<RequestHeader, { type: T }>;
type ReplyOf<T extends RequestHeader['type']> = Received<Extract<ReplyHeader, { type: T }>>;

/** A request without what every request of a job carries. */
export type Ask<T extends RequestHeader['type']> = Omit<RequestOf<T>, 'job' | 'batchPlanId' | 'type'>;

/** Requests that a pserver answers. */
export type PserverRequest =
  | 'pull'
  | 'push'
  | 'pullVersion'
  | 'pushLane'
  | 'rounds'
  | 'cut'
  | 'position'
  | 'closed'
  | 'closeTasks'
  | 'checkpoint'
  | 'account'
  | 'scanRows'
  | 'scanBlock';

export interface PserverGroup {
  /**
   * Runs `attempt` with a placement in which every shard is held, again and again while it fails with an error to retry
   * or refresh. Other errors, and those that concern what was asked for (CONCERNS_REQUEST), are thrown. `what` is said
   * while waiting.
   */
  withPlacement<T>(what: string, attempt: (placement: Placement) => Promise<T>, signal: AbortSignal): Promise<T>;
  /** One request to one pserver, once. */
  ask<T extends PserverRequest>(
    pserver: PlacedPserver,
    type: T,
    header: Ask<T>,
    segments?: readonly Uint8Array[],
    timeoutMs?: number,
  ): Promise<ReplyOf<T>>;
  /** What Channel says of `sending`, for all pservers together. */
  sending(): Promise<unknown> | undefined;
  /** The placement as it is, when every shard is held. */
  current(): Placement | undefined;
  close(): void;
}

export function createPserverGroup(context: ClusterContext, record: JobRecord, view: PlacementView): PserverGroup {
  const { clock, log } = context.host;
  /** By index and token: the next owner of an index is another peer. */
  const channels = new Map<string, { readonly to: PlacedPserver; readonly channel: Channel }>();
  const closed = new AbortController();

  /** Nobody waits for an answer of an owner that is gone: its requests fail at once and are tried with the next one. */
  async function dropTheGone(): Promise<never> {
    for (let version = view.version(); ; version = view.version()) {
      for (const [key, { to, channel }] of channels) {
        if (view.isLive(to.index, to.token)) continue;
        channels.delete(key);
        channel.close();
      }
      const seen = version;
      await view.changed.until(() => (view.version() === seen ? undefined : true), closed.signal);
    }
  }
  dropTheGone().catch((error: unknown) => {
    if (!isPaddletError(error, 'Interrupted')) throw error;
  });

  function channelTo(pserver: PlacedPserver): Channel {
    const key = `${pserver.index}/${pserver.token}`;
    const known = channels.get(key);
    if (known !== undefined) return known.channel;
    const channel = context.network.connect(pserver.address);
    channels.set(key, { to: pserver, channel });
    return channel;
  }

  async function completePlacement(what: string, signal: AbortSignal): Promise<Placement> {
    const now = view.current();
    if (now !== undefined) return now;
    const quiet = logWaiting(clock, log, () => `${view.missing()} (${what})`);
    try {
      return await view.changed.until(() => view.current(), signal);
    } finally {
      quiet();
    }
  }

  /** A change of the placement, or a pause: whichever comes first. */
  async function settleDown(placement: Placement, failures: number, signal: AbortSignal): Promise<void> {
    const either = new AbortController();
    const changed = view.changed
      .until(() => (view.current()?.version === placement.version ? undefined : true), either.signal)
      .catch((error: unknown) => {
        if (!isPaddletError(error, 'Interrupted')) throw error;
      });
    await Promise.race([changed, pause(clock, backoffMs(failures), signal)]);
    either.abort();
    throwIfAborted(signal);
  }

  return {
    async withPlacement(what, attempt, signal) {
      let quiet: Cancel | undefined;
      try {
        for (let failures = 0; ; failures++) {
          throwIfAborted(signal);
          const placement = await completePlacement(what, signal);
          try {
            return await attempt(placement);
          } catch (error) {
            if (!isPassing(error) || CONCERNS_REQUEST.has(error.code)) throw error;
            log.debug(`${what}: ${error.code}: ${error.message}`);
            if (failures === 5) quiet = logWaiting(clock, log, () => `the pservers (${what}): ${error.message}`);
          }
          await settleDown(placement, failures, signal);
        }
      } finally {
        quiet?.();
      }
    },
    async ask(pserver, type, header, segments = [], timeoutMs = REQUEST_TIMEOUT_MS) {
      const message = { type, job: record.id, batchPlanId: record.batchPlanId, ...header };
      try {
        // The union of request types is closed; TypeScript cannot see that `type` and `header` belong together.
        const asked = { header: message as unknown as RequestOf<typeof type>, segments };
        return (await channelTo(pserver).request<typeof type>(asked, { timeoutMs })) as ReplyOf<typeof type>;
      } catch (error) {
        if (!isPaddletError(error)) throw error;
        throw new PaddletError(error.code, `pserver ${pserver.index} at ${pserver.address}: ${error.message}`, {
          details: error.details,
          cause: error,
          ...(error.hint === undefined ? {} : { hint: error.hint }),
        });
      }
    },
    sending() {
      const busy = [...channels.values()].flatMap(({ channel }) => channel.sending() ?? []);
      return busy.length === 0 ? undefined : Promise.all(busy);
    },
    current: () => view.current(),
    close() {
      closed.abort();
      for (const { channel } of channels.values()) channel.close();
      channels.clear();
    },
  };
}

/** The same again cannot help: another push, round or timeline is wanted. */
const CONCERNS_REQUEST: ReadonlySet<string> = new Set([
  'PushOutOfOrder',
  'TooStale',
  'VersionGone',
  'RoundAhead',
  'StaleTimeline',
]);

/** All of them, settled before the first failure is thrown, so that a repeat does not overlap with stragglers. */
export async function allSettledOrThrow<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(promises);
  const failed = settled.filter((one) => one.status === 'rejected').map((one) => one.reason as unknown);
  if (failed.length === 0) return settled.map((one) => (one as PromiseFulfilledResult<T>).value);
  throw worst(failed);
}

/** `WrongJob`: the port of a pserver that died is another job's by now, until its lease has ended. */
const isPassing = (error: unknown): error is PaddletError =>
  isPaddletError(error) && (error.action !== 'fatal' || error.code === 'WrongJob');

/** A fatal error says more than one to retry. */
function worst(errors: readonly unknown[]): unknown {
  return (
    errors.find((error) => !isPaddletError(error)) ??
    errors.find((error) => isPaddletError(error) && error.action === 'fatal') ??
    errors[0]
  );
}
