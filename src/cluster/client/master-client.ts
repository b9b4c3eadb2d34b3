/** Requests to the current master: follows `/master/addr`, and repeats requests while the master restarts. */

import { backoffMs } from '../../base/backoff.ts';
import { isPaddletError, type PaddletError } from '../../base/errors.ts';
import type { Cancel } from '../../base/seams.ts';
import type { ReplyHeader, RequestHeader } from '../../protocol/messages/all-messages.ts';
import type { Channel, Outgoing, Received } from '../../protocol/messages/channel.ts';
import { isPeerOfOtherVersion } from '../../protocol/websocket/version.ts';
import { follow } from '../../store/follow.ts';
import type { ClusterContext } from '../context.ts';
import { createSignal, logWaiting, orAborted, pauseOrAborted } from '../waiting.ts';
import { answerTimeoutMs } from './answer-timeout.ts';

const REQUEST_TIMEOUT_MS = 10_000;
const TELL_TIMEOUT_MS = 5_000;
/** How long a trainer lets the master hold a request for work before the master answers that there is none. */
export const LONG_POLL_MS = 20_000;
/** Failures in a row that are logged for debugging only. */
const QUIET_FAILURES = 5;

export interface MasterClient {
  /**
   * Repeats the request until a master answers it; errors that a repeat cannot help are thrown. The answer to a
   * repeated finish or fail is the first answer or `AttemptNotLive`, so repeating is safe. A request with `maxWaitMs`
   * may be answered that much later. `timeoutMs`: when one answer takes longer than REQUEST_TIMEOUT_MS without that.
   */
  request<T extends RequestHeader['type']>(
    message: Outgoing<Extract<RequestHeader, { type: T }>>,
    options: { timeoutMs?: number; signal: AbortSignal },
  ): Promise<Received<Extract<ReplyHeader, { type: T }>>>;
  /** Sends once, for reports that may get lost. Undefined when there is no master or it does not answer. */
  tell<T extends RequestHeader['type']>(
    message: Outgoing<Extract<RequestHeader, { type: T }>>,
  ): Promise<Extract<ReplyHeader, { type: T }> | undefined>;
  close(): void;
}

/** `onFatal`: the master's address can no longer be followed. */
export function createMasterClient(context: ClusterContext, onFatal: (error: Error) => void): MasterClient {
  const { clock, log } = context.host;
  const follower = followMaster(context, onFatal);
  return {
    async request(message, { timeoutMs = answerTimeoutMs(message.header, REQUEST_TIMEOUT_MS), signal }) {
      let stopLogging: Cancel | undefined;
      try {
        for (let failures = 0; ; failures++) {
          const master = await follower.present(signal);
          try {
            return await orAborted(master.request(message, { timeoutMs }), signal);
          } catch (error) {
            if (!isTransient(error)) throw error;
            log.debug(`master at ${master.address}: ${error.code}: ${error.message}`);
            if (failures === QUIET_FAILURES) {
              stopLogging = logWaiting(clock, log, () => `the master at ${master.address}: ${error.message}`);
            }
          }
          await pauseOrAborted(clock, backoffMs(failures), signal);
        }
      } finally {
        stopLogging?.();
      }
    },
    async tell(message) {
      const master = follower.current();
      if (master === undefined) return undefined;
      try {
        const answer = await master.request(message, { timeoutMs: TELL_TIMEOUT_MS });
        answer.free();
        return answer.header;
      } catch (error) {
        if (!isPaddletError(error)) throw error;
        return undefined;
      }
    },
    close: follower.close,
  };
}

interface MasterFollower {
  /** Undefined while no master is registered. */
  current(): Channel | undefined;
  /** Waits until a master is registered. */
  present(signal: AbortSignal): Promise<Channel>;
  close(): void;
}

/** Keeps a channel to the address in `/master/addr`. */
function followMaster(context: ClusterContext, onFatal: (error: Error) => void): MasterFollower {
  const { keys, store } = context;
  const { clock, log } = context.host;
  const changed = createSignal();
  let channel: Channel | undefined;

  const moveTo = (address: string | undefined): void => {
    if (address === channel?.address) return;
    channel?.close();
    channel = address === undefined ? undefined : context.network.connect(address);
    changed.notify();
  };
  const cancel = follow(
    store,
    keys.masterAddr,
    {
      onSnapshot: (entries) => moveTo(entries.find(({ key }) => key === keys.masterAddr)?.value),
      onEvents: (events) => {
        for (const event of events) moveTo(event.type === 'put' ? event.entry.value : undefined);
      },
      onEnd: onFatal,
    },
    clock,
  );
  return {
    current: () => channel,
    async present(signal) {
      if (channel !== undefined) return channel;
      const stopLogging = logWaiting(clock, log, () => `a master (none is registered at ${keys.masterAddr})`);
      try {
        return await changed.until(() => channel, signal);
      } finally {
        stopLogging();
      }
    },
    close() {
      cancel();
      channel?.close();
    },
  };
}

/**
 * Even a master that leaves, or a process that is not a master: the address of a dead master stays in the store until
 * its lease ends, and its port may already belong to another process.
 */
const isTransient = (error: unknown): error is PaddletError =>
  isPaddletError(error) &&
  (error.action === 'retry' ||
    isPaddletError(error, 'Draining', 'WrongRole', 'WrongJob', 'JoinRefused') ||
    isPeerOfOtherVersion(error));
