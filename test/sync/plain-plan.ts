/** The plan of the rounds, said as docs/protocol.md says it (`getPlan`): all of it worked out, pass by pass. */
import { shuffled } from '../../src/core/shuffle.ts';

export interface PlainBatch {
  readonly pass: number;
  readonly task: number;
  readonly push: number;
  readonly from: number;
  readonly to: number;
  readonly last: boolean;
}

export interface PlainPlanOptions {
  readonly taskRecords: ArrayLike<number>;
  readonly batchSize: number;
  readonly passes: number;
  readonly lanes: number;
  readonly seed: number;
}

/** Of each pass its rounds, of each round its lanes: a batch or nothing. */
export function plainPlan(options: PlainPlanOptions): (PlainBatch | undefined)[][][] {
  const { taskRecords, batchSize, passes, lanes, seed } = options;
  const plan: (PlainBatch | undefined)[][][] = [];
  for (let pass = 0; pass < passes; pass++) {
    const queues: PlainBatch[][] = Array.from({ length: lanes }, () => []);
    let turn = 0;
    for (const task of shuffled(taskRecords.length, seed, pass)) {
      const queue = queues[turn % lanes]!;
      turn += 1;
      const records = taskRecords[task]!;
      for (let from = 0, push = 0; from === 0 || from < records; from += batchSize, push++) {
        const to = Math.min(records, from + batchSize);
        queue.push({ pass, task, push, from, to, last: to === records });
      }
    }
    const rounds = Math.max(...queues.map((queue) => queue.length));
    plan.push(Array.from({ length: rounds }, (_, round) => queues.map((queue) => queue[round])));
  }
  return plan;
}
