/** Several threads that make parts; the process pulls for them, since the parameters are in its memory. */
import type { Thread } from '../../base/seams.ts';
import { receivedError } from '../../base/sent-error.ts';
import { ThreadWork } from '../../base/thread-work.ts';
import type { PulledValues } from '../../model/model.ts';
import type { MadePart, MakePart } from '../../roles/evaluator/predictor.ts';
import type { ScoreClient } from '../../roles/evaluator/score-groups.ts';
import type { FromThread, ToThread } from './thread-messages.ts';

interface Pulling {
  readonly client: ScoreClient;
  readonly signal: AbortSignal;
}

export interface ThreadPool {
  readonly make: MakePart;
  close(): Promise<void>;
}

/** Separate arrays: one that is a part of a larger memory would be sent with all of it. */
const alone = ({ dense, sparse }: PulledValues): PulledValues => ({
  dense: dense.map((values) => values.slice()),
  sparse: sparse.map((values) => values.slice()),
});

/** `threads` are started, and take messages of type `ToThread`. */
export function createThreadPool(threads: readonly Thread[]): ThreadPool {
  const work = new ThreadWork<MadePart, Pulling>(threads, (message) => {
    const from = message as FromThread;
    if (from.kind === 'made') work.done(from.id, from.made);
    else if (from.kind === 'failed') work.failed(from.id, receivedError(from.error));
    else void answer(from);
  });
  const answer = async (message: FromThread & { kind: 'pull' | 'knownIds' }): Promise<void> => {
    const { id } = message;
    const making = work.find(id);
    if (making === undefined) return;
    const { client, signal } = making.context;
    const tell = (of: (ToThread & { kind: 'answer' })['answer']): void =>
      making.thread.send({ kind: 'answer', id, answer: of } satisfies ToThread);
    try {
      if (message.kind === 'pull') tell(alone(await client.pull(message.ids, signal)));
      else tell(await client.knownIds!(message.table, message.ids));
    } catch (error) {
      // The part fails by this error, not by that of the thread.
      work.failed(id, error);
      tell(undefined);
    }
  };
  return {
    make(part, client, signal) {
      // A copy of its bytes alone: the array would be sent with all of the memory that it is in.
      const sent = 'bytes' in part ? { ...part, bytes: new Uint8Array(part.bytes) } : part;
      const tellsIds = client.knownIds !== undefined;
      return work.give({ client, signal }, (id): ToThread => ({ kind: 'part', id, part: sent, tellsIds }));
    },
    close: () => work.close(),
  };
}
