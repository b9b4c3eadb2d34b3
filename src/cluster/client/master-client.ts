/** Requests to whichever master is there: follows `/master/addr`, and repeats across a master's restart. */
import { isPaddletError, type PaddletError } from '../../base/errors.ts';
import type { Cancel } from '../../base/seams.ts';
import type { Channel, Outgoing, Received } from '../../protocol/messages/channel.ts';
import type { ReplyHeader, RequestHeader } from '../../protocol/messages/messages.ts';
import { backoffMs } from '../../store/backoff.ts';
import { follow } from '../../store/follow.ts';
import type { ClusterContext } from '../context.ts';
import { createSignal, logWaiting, orAborted, pauseOrAborted } from '../waiting.ts';

export interface MasterClient {
  /**
   * Sends until a master answers; an error to retry is retried, others are thrown. The master's answer to a repeated
   * finish or fail is the same or `AttemptNotLive`, so repeating is safe.
   */
  request<T extends RequestHeader['type']>(
    message: Outgoing<Extract<RequestHeader, { type: T }>>,
    options: { timeoutMs: number; signal: AbortSignal },
  ): Promise<Received<Extract<ReplyHeader, { type: T }>>>;
  /** Once, if a master is there: for reports that nobody misses. Undefined when there is none or it does not answer. */
  tell<T extends RequestHeader['type']>(
    message: Outgoing<Extract<RequestHeader, { type: T }>>,
  ): Promise<Extract<ReplyHeader, { type: T }> | undefined>;
  close(): void;
}

export function createMasterClient(context: ClusterContext, onEnd: (error: Error) => void): MasterClient {
  const { keys, store } = context;
  const { clock, log } = context.host;
  const changed = createSignal();
  let address: string | undefined;
  let channel: Channel | undefined;

  const moved = (to: string | undefined): void => {
    if (to === address) return;
    address = to;
    channel?.close();
    channel = to === undefined ? undefined : context.network.connect(to);
    changed.notify();
  };
  const cancel = follow(
    store,
    keys.masterAddr,
    {
      onSnapshot: (entries) => moved(entries.find(({ key }) => key === keys.masterAddr)?.value),
      onEvents: (events) => {
        for (const event of events) moved(event.type === 'put' ? event.entry.value : undefined);
      },
      onEnd,
    },
    clock,
  );

  async function present(signal: AbortSignal): Promise<Channel> {
    if (channel !== undefined) return channel;
    const quiet = logWaiting(clock, log, () => `a master (none is registered at ${keys.masterAddr})`);
    try {
      return await changed.until(() => channel, signal);
    } finally {
      quiet();
    }
  }

  return {
    async request(message, { timeoutMs, signal }) {
      let quiet: Cancel | undefined;
      try {
        for (let failures = 0; ; failures++) {
          const to = await present(signal);
          try {
            return await orAborted(to.request(message, { timeoutMs }), signal);
          } catch (error) {
            if (!isPassing(error)) throw error;
            log.debug(`master at ${to.address}: ${error.code}: ${error.message}`);
            if (failures === 5) quiet = logWaiting(clock, log, () => `the master at ${to.address}: ${error.message}`);
          }
          await pauseOrAborted(clock, backoffMs(failures), signal);
        }
      } finally {
        quiet?.();
      }
    },
    async tell(message) {
      if (channel === undefined) return undefined;
      try {
        const answer = await channel.request(message, { timeoutMs: 5_000 });
        answer.free();
        return answer.header;
      } catch (error) {
        if (!isPaddletError(error)) throw error;
        return undefined;
      }
    },
    close() {
      cancel();
      channel?.close();
    },
  };
}

/**
 * Also when the master is leaving, or when who answers is no master: a dead one's address stands in the store as long as
 * its lease, and its port may be another process's by now.
 */
const isPassing = (error: unknown): error is PaddletError =>
  isPaddletError(error) && (error.action === 'retry' || isPaddletError(error, 'Draining', 'WrongRole', 'WrongJob'));
