/**
 * Virtual time: a queue of events, run one after the other. The next event begins only when everything that the one
 * before set off has come to rest, so a run depends on nothing but its seed.
 */
import type { Cancel } from '../../src/base/seams.ts';

interface Entry {
  readonly atMs: number;
  /** Events of one instant run in the order they were planned. */
  readonly number: number;
  run: (() => void) | undefined;
}

/** Events between two turns of the real event loop, in which Node reports unhandled rejections. */
const EVENTS_A_TURN = 64;

export class Timeline {
  nowMs = 0;
  /** Events run so far. */
  events = 0;
  readonly #heap: Entry[] = [];
  #planned = 0;

  after(delayMs: number, run: () => void): Cancel {
    return this.at(this.nowMs + Math.max(0, delayMs), run);
  }

  at(atMs: number, run: () => void): Cancel {
    const entry: Entry = { atMs: Math.max(atMs, this.nowMs), number: this.#planned++, run };
    this.#push(entry);
    return () => {
      entry.run = undefined;
    };
  }

  /**
   * Runs events until `isOver`, none are left, or the clock would pass `limitMs`. Between two events all microtasks
   * run: Node takes the next tick only when none is left.
   */
  async run(isOver: () => boolean, limitMs: number): Promise<'over' | 'idle' | 'limit'> {
    for (;;) {
      if (isOver()) return 'over';
      const next = this.#pop();
      if (next === undefined) return 'idle';
      if (next.run === undefined) continue;
      if (next.atMs > limitMs) {
        this.#push(next);
        return 'limit';
      }
      this.nowMs = next.atMs;
      this.events += 1;
      next.run();
      if (this.events % EVENTS_A_TURN === 0) await turn();
      else await rest();
    }
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let at = heap.push(entry) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (isBefore(heap[parent]!, entry)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = entry;
  }

  #pop(): Entry | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1;
      if (isBefore(last, heap[child]!)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
    return first;
  }
}

const isBefore = (a: Entry, b: Entry): boolean => a.atMs < b.atMs || (a.atMs === b.atMs && a.number < b.number);

/** Resolves when no microtask is left. */
const rest = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));

/** Resolves in the next turn of the event loop. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
