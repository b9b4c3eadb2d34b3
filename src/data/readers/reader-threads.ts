/**
 * Several threads that read and parse the tasks of a process, while its own thread trains. The blocks are the same
 * whichever thread makes them.
 */
import type { Log, Thread } from '../../base/seams.ts';
import { receivedError } from '../../base/sent-error.ts';
import type { ParsedTask } from '../formats/format.ts';
import { blockRecords } from '../parsed/block-records.ts';
import type { FromReaderThread, ToReaderThread, WantedTask } from './thread-messages.ts';

/**
 * Tasks that a thread has at most while the process could parse one itself: where threads read more slowly than the
 * process trains, it helps them.
 */
const MOST_OF_THREAD = 2;

interface Member {
  readonly thread: Thread;
  tasks: number;
  /** It has nothing more to do. */
  readonly closed: PromiseWithResolvers<void>;
  /** Why it has ended, which it does not do by itself. */
  ended?: Error;
}

interface Reading {
  readonly member: Member;
  readonly parsed: PromiseWithResolvers<ParsedTask>;
}

export interface ReaderThreadsOptions {
  /** Threads that read besides that of the process. */
  readonly count: number;
  /** Bytes of data that the process reads in its own thread before it starts others. */
  readonly bytesBeforeStart: number;
  readonly start: () => Thread;
  readonly log: Log;
}

export class ReaderThreads {
  readonly #options: ReaderThreadsOptions;
  #members: readonly Member[] = [];
  /** Bytes that the process has parsed itself before it started threads. */
  #bytesHere = 0;
  /** The process is parsing a task itself. */
  #isBusyHere = false;
  readonly #readings = new Map<number, Reading>();
  #lastId = 0;

  constructor(options: ReaderThreadsOptions) {
    this.#options = options;
  }

  /** Threads that have been started. */
  get running(): number {
    return this.#members.length;
  }

  /** `here` parses the task in the thread of the process, as it does with the first ones. */
  async parse(task: WantedTask, here: () => Promise<ParsedTask>): Promise<ParsedTask> {
    const { count, bytesBeforeStart } = this.#options;
    if (count === 0) return here();
    if (this.running === 0 && this.#bytesHere < bytesBeforeStart) {
      this.#bytesHere += task.chunks.reduce((sum, { bytes }) => sum + bytes, 0);
      return here();
    }
    if (this.running === 0) this.#start();
    const member = this.#members.reduce((best, one) => (one.tasks < best.tasks ? one : best));
    if (member.tasks < MOST_OF_THREAD || this.#isBusyHere) return this.#inThread(member, task);
    this.#isBusyHere = true;
    try {
      return await here();
    } finally {
      this.#isBusyHere = false;
    }
  }

  /** Waits until the threads have written to the cache what they parsed. */
  async close(): Promise<void> {
    for (const { thread } of this.#members) thread.send({ kind: 'close' } satisfies ToReaderThread);
    await Promise.all(this.#members.map(({ closed }) => closed.promise));
    await Promise.all(this.#members.map(({ thread }) => thread.close()));
  }

  #inThread(member: Member, task: WantedTask): Promise<ParsedTask> {
    if (member.ended !== undefined) return Promise.reject(member.ended);
    const parsed = Promise.withResolvers<ParsedTask>();
    const id = ++this.#lastId;
    this.#readings.set(id, { member, parsed });
    member.tasks += 1;
    member.thread.send({ kind: 'parse', id, task } satisfies ToReaderThread);
    return parsed.promise;
  }

  #start(): void {
    const { count, start, log } = this.#options;
    this.#members = Array.from({ length: count }, () => ({
      thread: start(),
      tasks: 0,
      closed: Promise.withResolvers<void>(),
    }));
    log.debug(`${count} more threads read tasks from now on`);
    for (const member of this.#members) {
      member.thread.onMessage((message) => this.#take(member, message as FromReaderThread));
      member.thread.onEnd((error) => {
        member.ended ??= error;
        member.closed.resolve();
        for (const [id, { member: of }] of this.#readings) if (of === member) this.#end(id)?.reject(error);
      });
    }
  }

  #take({ closed }: Member, message: FromReaderThread): void {
    if (message.kind === 'closed') closed.resolve();
    else if (message.kind === 'logged') this.#options.log[message.level](message.message, message.facts);
    else if (message.kind === 'failed') this.#end(message.id)?.reject(receivedError(message.error));
    else this.#end(message.id)?.resolve({ records: blockRecords(message.block), block: message.block });
  }

  #end(id: number): PromiseWithResolvers<ParsedTask> | undefined {
    const reading = this.#readings.get(id);
    this.#readings.delete(id);
    if (reading !== undefined) reading.member.tasks -= 1;
    return reading?.parsed;
  }
}
