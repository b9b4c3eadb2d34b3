/**
 * How long training waits for the pservers: from the call until the answer that counts, with all that was repeated in
 * between.
 */
import type { Clock } from '../../base/seams.ts';
import type { ParameterClient } from '../../cluster/client/parameter-client.ts';

/**
 * Sync mode: `push` is of all lanes of a trainer in a round, `pull` of the next version without the time that the
 * pserver waited for lanes, and `barrier` of the next version with it.
 */
export const REQUEST_KINDS = ['pull', 'push', 'barrier'] as const;
export type RequestKind = (typeof REQUEST_KINDS)[number];

export interface RequestTimes {
  answered(kind: RequestKind, tookMs: number): void;
}

/** Async mode: the same client, whose pulls to train and pushes are timed. What fails has no answer that counts. */
export function timedClient(client: ParameterClient, clock: Clock, times: RequestTimes): ParameterClient {
  const timed = async <T>(kind: RequestKind, request: () => Promise<T>): Promise<T> => {
    const beganMs = clock.monotonicMs();
    const answer = await request();
    times.answered(kind, clock.monotonicMs() - beganMs);
    return answer;
  };
  return {
    pull: (ids, signal) => client.pull(ids, signal),
    pullToTrain: (...pull) => timed('pull', () => client.pullToTrain(...pull)),
    recycle: (values) => client.recycle(values),
    releaseHold: (trainer) => client.releaseHold(trainer),
    push: (...push) => timed('push', () => client.push(...push)),
    position: (...position) => client.position(...position),
  };
}
