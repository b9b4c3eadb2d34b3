/**
 * The part of the soak that is applied: trainers' clients that come and go, with sparse and dense pushes of many sizes.
 */
import { createIdRouter } from '../../src/tensor/id-router.ts';
import type { ParameterSpec } from '../../src/tensor/spec.ts';
import { connectTrainer, infoOf, startPserver } from './pserver-peer.ts';
import { MiB } from './raw-tcp.ts';
import type { Resident } from './resident.ts';

const WIDTH = 16;
const DENSE_FLOATS = MiB;
/** Few enough that all rows are there after the first minutes. */
const ID_SPACE = 200_000;
const BATCHES = [50, 3000, 40_000, 120_000];
const PUSHES_OF_A_TRAINER = 300;
/** Each has a task of its own. */
const TRAINERS = 2;

const spec: ParameterSpec = {
  dense: [{ name: 'w', shape: [DENSE_FLOATS], initializer: { type: 'zeros' } }],
  sparse: [{ name: 'rows', width: WIDTH, initializer: { type: 'zeros' } }],
};

export interface Pushers {
  run(untilMs: number): Promise<void>;
  pushes(): number;
  memory(): Promise<Resident & { readonly reservedMiB: number }>;
  close(): void;
}

export async function createPushers(): Promise<Pushers> {
  const server = await startPserver(spec);
  const watching = connectTrainer(spec, server.address);
  const never = new AbortController().signal;
  const router = createIdRouter({ shards: 1 });
  const dense = [new Float32Array(DENSE_FLOATS).fill(0.001)];
  const pushed = Array.from({ length: TRAINERS }, () => 0);

  async function train(task: number, untilMs: number): Promise<void> {
    while (performance.now() < untilMs) {
      const trainer = connectTrainer(spec, server.address);
      for (let i = 0; i < PUSHES_OF_A_TRAINER && performance.now() < untilMs; i++) {
        const drawn = new Uint32Array(2 * BATCHES[i % BATCHES.length]!);
        for (let at = 0; at < drawn.length; at += 2) drawn[at] = Math.floor(Math.random() * ID_SPACE);
        const { ids, distinct } = router.dedupe(new Uint8Array(drawn.buffer), drawn.length / 2);
        const list = [{ ids, count: distinct }];
        trainer.client.recycle(await trainer.client.pull(list, never));
        const sparse = [new Float32Array(distinct * WIDTH).fill(0.001)];
        const header = { pass: 0, task, push: pushed[task]!, last: false, good: 1 };
        await trainer.client.push(header, { dense, sparse, ids: list }, never);
        pushed[task]! += 1;
      }
      trainer.close();
    }
  }

  return {
    run: async (untilMs) => void (await Promise.all(pushed.map((_, task) => train(task, untilMs)))),
    pushes: () => pushed.reduce((sum, count) => sum + count, 0),
    async memory() {
      const info = await infoOf(watching);
      return { ...info.resident, reservedMiB: info.reservedBytes / MiB };
    },
    close() {
      watching.close();
      server.close();
    },
  };
}
