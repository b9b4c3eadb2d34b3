/** The trainers that are alive, in the order in which they joined, and which of them get tasks. */
import type { QueueConfig } from './events.ts';

export interface QueueTrainers {
  joined(trainer: string): void;
  gone(trainer: string): void;
  roster(trainers: readonly string[]): void;
  isLive(trainer: string): boolean;
  /** None while too few are alive; the first ones when there are more than may work. */
  active(): ReadonlySet<string>;
  /** That must join before any of them is active. */
  missing(): number;
}

export function createQueueTrainers({ minTrainers, maxTrainers }: QueueConfig): QueueTrainers {
  const live = new Set<string>();
  return {
    joined: (trainer) => void live.add(trainer),
    gone: (trainer) => void live.delete(trainer),
    roster(trainers) {
      live.clear();
      for (const trainer of trainers) live.add(trainer);
    },
    isLive: (trainer) => live.has(trainer),
    active() {
      if (live.size < minTrainers) return new Set();
      return live.size <= maxTrainers ? live : new Set([...live].slice(0, maxTrainers));
    },
    missing: () => Math.max(0, minTrainers - live.size),
  };
}
