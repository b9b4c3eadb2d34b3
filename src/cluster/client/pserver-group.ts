/**
 * All pservers of a job as one server: finds them by the placement, and repeats what fails for a transient reason (a
 * pserver restarts, the placement is old) until it succeeds. Repeating is safe: pulls change nothing, and the ledgers
 * of the pservers drop pushes that they have applied.
 */

import { backoffMs, pause } from '../../base/backoff.ts';
import { isPaddletError, type PaddletError } from '../../base/errors.ts';
import type { Cancel } from '../../base/seams.ts';
import type { ReplyHeader, RequestHeader } from '../../protocol/messages/all-messages.ts';
import type { Received } from '../../protocol/messages/channel.ts';
import { isPeerOfOtherVersion } from '../../protocol/websocket/version.ts';
import type { ClusterContext } from '../context.ts';
import type { JobRecord } from '../job/job-record.ts';
import type { PlacedPserver, Placement, PlacementView } from '../placement/placement-view.ts';
import { throwIfAborted } from '../waiting.ts';
import { annotateError } from './annotate-error.ts';
import { answerTimeoutMs } from './answer-timeout.ts';
import { AnswerTimes, isAnsweredAtOnce, type PserverAnswers } from './answer-times.ts';
import { createPserverChannels } from './pserver-channels.ts';
import { SharedWaiting } from './shared-waiting.ts';
import { SilentPservers } from './silent-pservers.ts';

const REQUEST_TIMEOUT_MS = 15_000;
/** Failures in a row that are logged for debugging only. */
const QUIET_FAILURES = 5;

type RequestOf<T extends RequestHeader['type']> = Extract<RequestHeader, { type: T }>;
type ReplyOf<T extends RequestHeader['type']> = Received<Extract<ReplyHeader, { type: T }>>;

/** The header of a request, without the fields that the group knows. */
export type RequestFields<T extends RequestHeader['type']> = Omit<
  RequestOf<T>,
  'job' | 'batchPlanId' | 'placement' | 'masterSecret' | 'type'
>;

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
   * Runs `attempt` with a placement in which every shard has a primary, and repeats it while it fails with an error to
   * retry or refresh. Other errors, and those of REQUEST_IS_WRONG, are thrown. `what` names the request in logs.
   */
  withPlacement<T>(what: string, attempt: (placement: Placement) => Promise<T>, signal: AbortSignal): Promise<T>;
  /**
   * Sends one request to one pserver, once. A request with `maxWaitMs` may be answered that much later. `timeoutMs`:
   * when the answer takes longer than REQUEST_TIMEOUT_MS without that.
   */
  ask<T extends PserverRequest>(
    pserver: PlacedPserver,
    type: T,
    header: RequestFields<T>,
    segments?: readonly Uint8Array[],
    timeoutMs?: number,
  ): Promise<ReplyOf<T>>;
  /** `Channel.sending` of all pservers together. */
  sending(): Promise<unknown> | undefined;
  /** The present placement; undefined while a shard has no primary. */
  current(): Placement | undefined;
  /** How long the live pservers take to answer. */
  answers(): PserverAnswers[];
  close(): void;
}

export interface PserverGroupOptions {
  /** Secret of the master, whose requests prove by it that they come from the master. */
  readonly masterSecret?: string;
  /** As `ConnectOptions.isBuffered`. */
  readonly isBuffered?: boolean;
}

export function createPserverGroup(
  context: ClusterContext,
  record: JobRecord,
  view: PlacementView,
  { masterSecret, isBuffered = false }: PserverGroupOptions = {},
): PserverGroup {
  const { clock, log } = context.host;
  const channels = createPserverChannels(context.network, view, isBuffered);
  const silent = silentPservers(context, record, view);
  const waiting = new SharedWaiting({ clock, log });
  const times = new AnswerTimes(clock);

  async function completePlacement(what: string, signal: AbortSignal): Promise<Placement> {
    const now = view.current();
    if (now !== undefined) return now;
    const stopLogging = waiting.begin(() => `${view.missing()} (${what})`);
    try {
      return await view.changed.until(() => view.current(), signal);
    } finally {
      stopLogging();
    }
  }

  /** Waits for another placement or for the end of a pause, whichever comes first. */
  async function backOff(placement: Placement, failures: number, signal: AbortSignal): Promise<void> {
    const waited = new AbortController();
    const changed = view.changed
      .until(() => (view.current()?.version === placement.version ? undefined : true), waited.signal)
      .catch((error: unknown) => {
        if (!isPaddletError(error, 'Interrupted')) throw error;
      });
    await Promise.race([changed, pause(clock, backoffMs(failures), signal)]);
    waited.abort();
    throwIfAborted(signal);
  }

  return {
    async withPlacement(what, attempt, signal) {
      let stopLogging: Cancel | undefined;
      try {
        for (let failures = 0; ; failures++) {
          throwIfAborted(signal);
          const placement = view.current() ?? (await completePlacement(what, signal));
          try {
            return await attempt(placement);
          } catch (error) {
            if (!isTransient(error) || REQUEST_IS_WRONG.has(error.code)) throw error;
            log.debug(`${what}: ${error.code}: ${error.message}`);
            if (failures === QUIET_FAILURES) {
              stopLogging = waiting.begin(() => `the pservers (${what}): ${error.message}`);
            }
          }
          await backOff(placement, failures, signal);
        }
      } finally {
        stopLogging?.();
      }
    },
    async ask(pserver, type, header, segments = [], timeoutMs = answerTimeoutMs(header, REQUEST_TIMEOUT_MS)) {
      const { id: job, batchPlanId } = record;
      const asks = { type, job, batchPlanId, placement: pserver.stamp, ...header };
      const message = masterSecret !== undefined && MASTER_REQUESTS.has(type) ? { ...asks, masterSecret } : asks;
      const askedMs = clock.monotonicMs();
      const timed = isAnsweredAtOnce(type, header) ? times.asked(pserver.index) : undefined;
      try {
        // The union of request types is closed; TypeScript cannot see that `type` and `header` belong together.
        const asked = { header: message as unknown as RequestOf<typeof type>, segments };
        const reply = (await channels.to(pserver).request<typeof type>(asked, { timeoutMs })) as ReplyOf<typeof type>;
        silent?.answered(pserver);
        if (timed !== undefined) times.answered(pserver.index, timed);
        return reply;
      } catch (error) {
        silent?.failed(pserver, error, askedMs);
        if (timed !== undefined) times.failed(pserver.index, timed);
        if (!isPaddletError(error)) throw error;
        throw annotateError(error, {
          message: `pserver ${pserver.index} at ${pserver.address}: ${error.message}`,
        });
      }
    },
    sending: () => channels.sending(),
    current: () => view.current(),
    answers: () => times.of(view.liveIndexes()),
    close: () => channels.close(),
  };
}

/** Finds silent pservers for a role, which shows them as troubles; a command has no troubles to show. */
function silentPservers(
  { host: { clock }, troubles }: ClusterContext,
  record: JobRecord,
  view: PlacementView,
): SilentPservers | undefined {
  if (troubles === undefined) return undefined;
  const longMs = record.job.cluster.leaseTtlMs;
  return new SilentPservers({ clock, troubles, longMs, isLive: (index, token) => view.isLive(index, token) });
}

/** Requests that name the master's secret; of checkpoints only the final one needs it. */
const MASTER_REQUESTS: ReadonlySet<string> = new Set<PserverRequest>(['cut', 'closeTasks', 'checkpoint']);

/** Errors that the caller must handle, as another push, round or timeline is wanted. */
const REQUEST_IS_WRONG: ReadonlySet<string> = new Set([
  'PushOutOfOrder',
  'TooStale',
  'VersionGone',
  'RoundAhead',
  'StaleTimeline',
]);

/** Waits until all have settled before it throws a failure, so that a repeat does not overlap with stragglers. */
export async function allSettledOrThrow<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  try {
    // Usually none fails: this makes no object for each of them.
    return await Promise.all(promises);
  } catch {
    const settled = await Promise.allSettled(promises);
    throw mostSevere(settled.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : [])));
  }
}

/**
 * Even `WrongJob` and a peer of another version: until the lease of a dead pserver ends, its port may already belong to
 * a process of another job.
 */
const isTransient = (error: unknown): error is PaddletError =>
  isPaddletError(error) && (error.action !== 'fatal' || error.code === 'WrongJob' || isPeerOfOtherVersion(error));

/** A bug before a fatal error, and a fatal error before one to retry. */
function mostSevere(errors: readonly unknown[]): unknown {
  return (
    errors.find((error) => !isPaddletError(error)) ??
    errors.find((error) => isPaddletError(error) && error.action === 'fatal') ??
    errors[0]
  );
}
