/** Several threads that make parts; the process pulls for them, since the parameters are in its memory. */
import type { Thread } from '../../base/seams.ts';
import { receivedError } from '../../base/sent-error.ts';
import type { PulledValues } from '../../model/model.ts';
import type { MadePart, MakePart } from '../../roles/evaluator/predictor.ts';
import type { ScoreClient } from '../../roles/evaluator/score-groups.ts';
import type { FromThread, ToThread } from './thread-messages.ts';

interface Job {
  readonly client: ScoreClient;
  readonly signal: AbortSignal;
  readonly made: PromiseWithResolvers<MadePart>;
  readonly thread: Member;
}

interface Member {
  readonly thread: Thread;
  parts: number;
  /** Why it has ended, which it does not do by itself. */
  ended?: Error;
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
  const members = threads.map((thread): Member => ({ thread, parts: 0 }));
  const jobs = new Map<number, Job>();
  let lastId = 0;
  const end = (id: number): Job | undefined => {
    const job = jobs.get(id);
    if (job !== undefined) job.thread.parts -= 1;
    jobs.delete(id);
    return job;
  };
  const answer = async (message: FromThread & { kind: 'pull' | 'knownIds' }): Promise<void> => {
    const { id } = message;
    const job = jobs.get(id);
    const to = job?.thread.thread;
    const tell = (of: (ToThread & { kind: 'answer' })['answer']): void => to?.send({ kind: 'answer', id, answer: of });
    try {
      if (job === undefined) return;
      const { client, signal } = job;
      if (message.kind === 'pull') tell(alone(await client.pull(message.ids, signal)));
      else tell(await client.knownIds!(message.table, message.ids));
    } catch (error) {
      // The part fails by this error, not by that of the thread.
      end(id)?.made.reject(error);
      tell(undefined);
    }
  };
  for (const member of members) {
    member.thread.onMessage((message) => {
      const from = message as FromThread;
      if (from.kind === 'made') end(from.id)?.made.resolve(from.made);
      else if (from.kind === 'failed') end(from.id)?.made.reject(receivedError(from.error));
      else void answer(from);
    });
    member.thread.onEnd((error) => {
      member.ended ??= error;
      for (const [id, { thread }] of jobs) if (thread === member) end(id)?.made.reject(error);
    });
  }
  return {
    make(part, client, signal) {
      const id = ++lastId;
      const member = members.reduce((best, one) => (one.parts < best.parts ? one : best));
      if (member.ended !== undefined) return Promise.reject(member.ended);
      const made = Promise.withResolvers<MadePart>();
      jobs.set(id, { client, signal, made, thread: member });
      member.parts += 1;
      // A copy of its bytes alone: the array would be sent with all of the memory that it is in.
      const sent = 'bytes' in part ? { ...part, bytes: new Uint8Array(part.bytes) } : part;
      const tellsIds = client.knownIds !== undefined;
      member.thread.send({ kind: 'part', id, part: sent, tellsIds } satisfies ToThread);
      return made.promise;
    },
    close: async () => {
      await Promise.all(threads.map((thread) => thread.close()));
    },
  };
}
