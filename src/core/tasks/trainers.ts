/** The trainers that are alive, in the order in which they joined, and which of them get tasks. */
import type { QueueConfig } from './events.ts';

export interface QueueTrainers {
  joined(trainer: string): void;
  gone(trainer: string): void;
  roster(trainers: readonly string[]): void;
  isLive(trainer: string): boolean;
  /**
   * None while too few are alive. When there are more than may work: those that hold tasks, then those that ask, each
   * in the order in which they joined. One that does neither keeps no place from the others.
   */
  active(holders: Iterable<string>, asking: Iterable<string>): ReadonlySet<string>;
  /** Number of trainers that must join before any of them is active. */
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
    active(holders, asking) {
      if (live.size < minTrainers) return new Set();
      if (live.size <= maxTrainers) return live;
      const [holding, waiting] = [new Set(holders), new Set(asking)];
      const all = [...live];
      const first = [...all.filter((one) => holding.has(one)), ...all.filter((one) => waiting.has(one))];
      return new Set([...new Set(first)].slice(0, maxTrainers));
    },
    missing: () => Math.max(0, minTrainers - live.size),
  };
}
