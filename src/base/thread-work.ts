/** Work that threads do for their process: which thread gets it, and how it ends. */
import type { Thread } from './seams.ts';

interface Member {
  readonly thread: Thread;
  works: number;
  /** Why the thread has ended, which it does not do by itself. */
  ended?: Error;
}

interface Work<Result, Context> {
  readonly member: Member;
  readonly context: Context;
  readonly result: PromiseWithResolvers<Result>;
}

/** `Context`: facts about a piece of work that messages of its thread need. */
export class ThreadWork<Result, Context = undefined> {
  readonly #members: readonly Member[];
  readonly #works = new Map<number, Work<Result, Context>>();
  #lastId = 0;

  /** `take` gets all messages of the threads, which name the work by its id. */
  constructor(threads: readonly Thread[], take: (message: unknown) => void) {
    this.#members = threads.map((thread): Member => ({ thread, works: 0 }));
    for (const member of this.#members) {
      member.thread.onMessage(take);
      member.thread.onEnd((error) => {
        member.ended ??= error;
        for (const [id, work] of this.#works) if (work.member === member) this.failed(id, error);
      });
    }
  }

  /** Pieces of work of the thread that has the fewest. */
  get fewest(): number {
    return this.#idlest().works;
  }

  /** Gives work to the thread that has the least. Rejects if the thread ends, or has ended. */
  give(context: Context, messageOf: (id: number) => unknown): Promise<Result> {
    return this.#give(this.#idlest(), context, messageOf);
  }

  /** Gives each thread a piece of work. */
  giveAll(context: Context, messageOf: (id: number) => unknown): Promise<Result>[] {
    return this.#members.map((member) => this.#give(member, context, messageOf));
  }

  /** Undefined if the work has ended. */
  find(id: number): { readonly context: Context; readonly thread: Thread } | undefined {
    const work = this.#works.get(id);
    return work && { context: work.context, thread: work.member.thread };
  }

  done(id: number, result: Result): void {
    this.#end(id)?.resolve(result);
  }

  failed(id: number, error: unknown): void {
    this.#end(id)?.reject(error);
  }

  /** Ends the threads. */
  async close(): Promise<void> {
    await Promise.all(this.#members.map(({ thread }) => thread.close()));
  }

  #idlest(): Member {
    return this.#members.reduce((best, one) => (one.works < best.works ? one : best));
  }

  #give(member: Member, context: Context, messageOf: (id: number) => unknown): Promise<Result> {
    if (member.ended !== undefined) return Promise.reject(member.ended);
    const id = ++this.#lastId;
    const result = Promise.withResolvers<Result>();
    this.#works.set(id, { member, context, result });
    member.works += 1;
    member.thread.send(messageOf(id));
    return result.promise;
  }

  #end(id: number): PromiseWithResolvers<Result> | undefined {
    const work = this.#works.get(id);
    this.#works.delete(id);
    if (work !== undefined) work.member.works -= 1;
    return work?.result;
  }
}
