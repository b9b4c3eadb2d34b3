/** Async mode: a push has the share of the learning rate that the schedule says, here and in copies. */
import { beforeEach, expect, it } from 'vitest';
import { rateShareAt } from '../../../../../src/core/shard/schedule.ts';
import type { RequestHeader } from '../../../../../src/protocol/messages/all-messages.ts';
import type { PlaceRequest } from '../../../../../src/roles/pserver/replicas/placing.ts';
import { TaskTurns } from '../../../../../src/roles/pserver/replicas/task-turns.ts';
import { createHandler } from '../../../../../src/roles/pserver/serve.ts';
import type { ServingOptions } from '../../../../../src/roles/pserver/serving.ts';
import type { Update } from '../../../../../src/roles/pserver/update/update.ts';
import { createIdRouter } from '../../../../../src/tensor/id-router.ts';
import { push, resetServed, SESSION, SPEC, serving, shards } from '../../served-rig.ts';

beforeEach(resetServed);

const RECORDS = 12;
const SCHEDULE = { type: 'constant', warmup: { passes: 1, from: 0.25 } } as const;
const rateShare = (): number => rateShareAt(SCHEDULE, shards.ledgers.passesDone(RECORDS));
const STALENESS = { rule: { policy: 'scale', bound: 0 }, patienceMs: 1_000 } as const;

const ID = new Uint8Array(BigUint64Array.of(7n).buffer);
const SEGMENTS = [ID, new Uint8Array(Float32Array.of(1, 1).buffer)];

const valueNow = (): number => {
  const into = new Float32Array(2);
  shards.parameters.pullSparse(0, ID, new Uint8Array(into.buffer));
  return into[0]!;
};

/** What the push has changed. */
async function pushed(header: Parameters<typeof push>[0] & { used?: object }, other: Partial<ServingOptions>) {
  const current = serving({ rateShare, ...other });
  const handler = createHandler({ serving: () => current, info: () => ({}), files: () => undefined });
  const whole = { ...push(header), sparse: [{ table: 0 }] } as RequestHeader;
  const segment = (at: number): Uint8Array => SEGMENTS[at]!;
  const before = valueNow();
  await handler({ header: whole, segmentCount: 2, segment, free: () => {} }, SESSION);
  return before - valueNow();
}

it('as far as its shards have come, times what staleness leaves of it, and forwards that', async () => {
  const scales: number[] = [];
  const moves = {
    wait: () => undefined,
    applied: (make: () => Update) => {
      const update = make();
      if (update.type === 'push') scales.push(update.rateScale);
      return undefined;
    },
  } as unknown as NonNullable<ServingOptions['moves']>;
  const used = { revision: shards.stamp.revision, version: 0 };
  const steps = [
    await pushed({}, { moves }),
    await pushed({ push: 1 }, { moves }),
    // Two updates old.
    await pushed({ task: 1, used }, { moves, staleness: STALENESS }),
  ];
  const shares = [0, 2, 4].map((records) => 0.25 + (0.75 * records) / RECORDS);
  expect(scales).toEqual([shares[0], shares[1], shares[2]! / 3]);
  // The learning rate is 0.5, and gradients are 1.
  steps.forEach((step, at) => {
    expect(step).toBeCloseTo(0.5 * scales[at]!, 6);
  });
});

it('a push to units with copies has it as it is placed, and they get it', async () => {
  const placed: Update[] = [];
  const placing = {
    turns: new TaskTurns(),
    counted: 1,
    place: ({ make }: Pick<PlaceRequest, 'make'>) => {
      // Another push was applied while it waited for room.
      const other = { pass: 0, task: 1, push: 0, last: false, good: 2 };
      shards.apply({ type: 'push', push: other, shards: shards.numbers, rateScale: 1, dense: [], sparse: [] });
      placed.push(make());
      return Promise.resolve('committed');
    },
  };
  const job = { spec: SPEC, shards: 2, units: 2, router: createIdRouter({ shards: 2 }) };
  const replicas = { placing, job, wait: () => undefined } as never;
  const used = { revision: shards.stamp.revision, version: 0 };
  await pushed({ used }, { replicas, staleness: STALENESS });
  expect(placed).toMatchObject([{ type: 'push', rateScale: (0.25 + (0.75 * 2) / RECORDS) / 2 }]);
});
