/**
 * Several threads that read and parse the tasks of a process, while its own thread trains. The blocks are the same
 * whichever thread makes them.
 */
import { assert } from '../../base/assert.ts';
import type { Log, Thread } from '../../base/seams.ts';
import { receivedError } from '../../base/sent-error.ts';
import { ThreadWork } from '../../base/thread-work.ts';
import type { ParsedTask } from '../formats/format.ts';
import { memoryOf, type ParsedBlock } from '../parsed/block.ts';
import { blockRecords } from '../parsed/block-records.ts';
import type { FromReaderThread, ToReaderThread, WantedTask } from './thread-messages.ts';

/**
 * Maximum number of tasks of a thread while the process could parse one itself. Where threads read more slowly than the
 * process trains, the process helps them.
 */
const MOST_OF_THREAD = 2;

export interface ReaderThreadsOptions {
  /** Threads that read besides that of the process, at least 1. */
  readonly count: number;
  /** Bytes of data that the process reads in its own thread before it starts others. */
  readonly bytesBeforeStart: number;
  readonly start: () => Thread;
  readonly log: Log;
}

export class ReaderThreads {
  readonly #options: ReaderThreadsOptions;
  /** Undefined until threads are started. Closing a thread is work without a block. */
  #work: ThreadWork<ParsedTask | undefined> | undefined;
  /** Bytes that the process has parsed itself before it started threads. */
  #bytesHere = 0;
  /** The process is parsing a task itself. */
  #isBusyHere = false;

  constructor(options: ReaderThreadsOptions) {
    this.#options = options;
  }

  /** Tasks to read ahead: each thread parses one, while one is parsed and one is to come. */
  get ahead(): number {
    return this.#work === undefined ? 1 : this.#options.count + 2;
  }

  /** `here` parses the task in the thread of the process, as it does with the first ones. */
  async parse(task: WantedTask, here: () => Promise<ParsedTask>): Promise<ParsedTask> {
    if (this.#work === undefined && this.#bytesHere < this.#options.bytesBeforeStart) {
      this.#bytesHere += task.chunks.reduce((sum, { bytes }) => sum + bytes, 0);
      return here();
    }
    this.#work ??= this.#start();
    if (this.#work.fewest < MOST_OF_THREAD || this.#isBusyHere) {
      const parsed = await this.#work.give(undefined, (id): ToReaderThread => ({ kind: 'parse', id, task }));
      assert(parsed !== undefined, 'a thread answers with what it has parsed');
      return parsed;
    }
    this.#isBusyHere = true;
    try {
      return await here();
    } finally {
      this.#isBusyHere = false;
    }
  }

  /** Waits until the threads have written to the cache what they parsed. */
  async close(): Promise<void> {
    const closing = this.#work?.giveAll(undefined, (id): ToReaderThread => ({ kind: 'close', id })) ?? [];
    for (const end of await Promise.allSettled(closing)) {
      if (end.status === 'rejected') {
        const { message: reason } = end.reason as Error;
        this.#options.log.warn('a thread that reads tasks has failed', { reason });
      }
    }
    await this.#work?.close();
  }

  #start(): ThreadWork<ParsedTask | undefined> {
    const { count, start, log } = this.#options;
    log.debug(`${count} more threads read tasks from now on`);
    const work = new ThreadWork<ParsedTask | undefined>(Array.from({ length: count }, start), (message) => {
      const from = message as FromReaderThread;
      if (from.kind === 'logged') log[from.level](from.message, from.facts);
      else if (from.kind === 'failed') work.failed(from.id, receivedError(from.error));
      else work.done(from.id, from.kind === 'parsed' ? parsedBy(work.find(from.id)!.thread, from.block) : undefined);
    });
    return work;
  }
}

/** When the records are released, the thread gets its memory back. */
function parsedBy(thread: Thread, block: ParsedBlock): ParsedTask {
  const free = (): void => {
    const memory = memoryOf(block);
    thread.send({ kind: 'free', memory } satisfies ToReaderThread, memory);
  };
  return { records: blockRecords(block, free), block };
}
