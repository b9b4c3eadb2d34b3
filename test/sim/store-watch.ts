/** A watch of a simulated store, as one process has it. */
import { PaddletError } from '../../src/base/errors.ts';
import type { Cancel } from '../../src/base/seams.ts';
import type { WatchEvent, WatchHandlers } from '../../src/store/store.ts';
import type { SimulatedProcess } from './process.ts';
import type { StoreServer } from './store.ts';

const WATCH_MS = [0.3, 10] as const;

/** Brings events in order, some time later, and as long as the way is cut not at all. */
export class DelayedWatch {
  readonly #server: StoreServer;
  readonly #process: SimulatedProcess;
  readonly #handlers: WatchHandlers;
  #queue: { readonly events: readonly WatchEvent[]; readonly revision: bigint }[] = [];
  /** Compactions so far, when the oldest event of the queue came. */
  #compactions = 0;
  #isCancelled = false;
  #isMoving = false;
  #cancelInner: Cancel = () => {};

  constructor(server: StoreServer, process: SimulatedProcess, handlers: WatchHandlers) {
    this.#server = server;
    this.#process = process;
    this.#handlers = handlers;
  }

  begin(prefix: string, fromRevision: bigint): void {
    this.#cancelInner = this.#server.data.watch(prefix, fromRevision, {
      onEvents: (events, revision) => {
        if (this.#queue.length === 0) this.#compactions = this.#server.compactions;
        this.#queue.push({ events, revision });
        this.#move();
      },
      onEnd: (error) => this.#end(error),
    });
  }

  cancel(): void {
    this.#isCancelled = true;
    this.#queue = [];
    this.#cancelInner();
  }

  #move(): void {
    if (this.#isMoving || this.#isCancelled || this.#process.isDead || this.#queue.length === 0) return;
    this.#isMoving = true;
    this.#server.timeline.after(this.#process.takes(...WATCH_MS), () => {
      this.#isMoving = false;
      if (this.#isCancelled) return;
      if (!this.#server.isReachable(this.#process.name)) {
        this.#server.onReachable(() => this.#move());
        return;
      }
      if (this.#server.compactions > this.#compactions) {
        this.#server.observer.trouble('compacted');
        this.#end(new PaddletError('StoreCompacted', 'history is gone'));
        return;
      }
      const next = this.#queue.shift()!;
      this.#process.deliver(() => {
        if (!this.#isCancelled) this.#handlers.onEvents(next.events, next.revision);
      });
      this.#move();
    });
  }

  #end(error: Error): void {
    if (this.#isCancelled) return;
    this.cancel();
    this.#isCancelled = false;
    this.#server.timeline.after(this.#process.takes(...WATCH_MS), () =>
      this.#process.deliver(() => {
        if (!this.#isCancelled) this.#handlers.onEnd(error);
      }),
    );
  }
}
