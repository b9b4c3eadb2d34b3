/**
 * A trainer's side of a round while units of shards move between the pservers (docs/copies.md): who gets a lane
 * again, and what confirms a version.
 */
import { beforeEach, expect, it } from 'vitest';
import { isPaddletError, PaddletError } from '../../../src/base/errors.ts';
import type { PulledList } from '../../../src/cluster/client/joined-pull.ts';
import type { LanePush } from '../../../src/cluster/client/lane-sender.ts';
import type { PserverGroup } from '../../../src/cluster/client/pserver-group.ts';
import { createVersionClient, type VersionClient } from '../../../src/cluster/client/version-client.ts';
import type { PlacedPserver, Placement } from '../../../src/cluster/placement/placement-view.ts';
import { ArrayMemory } from '../../../src/tensor/array-memory.ts';
import { createIdRouter } from '../../../src/tensor/id-router.ts';
import type { ParameterSpec } from '../../../src/tensor/spec.ts';
import { placedAt, placementOf, SHARDS } from './placed.ts';

const SPEC: ParameterSpec = {
  dense: [],
  sparse: [{ name: 'rows', width: 1, initializer: { type: 'constant', value: 0 } }],
};
const NO_METRICS = { records: 0, weight: 0, loss: 0, correct: 0, squaredError: 0 };
const never = new AbortController().signal;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface Asked {
  readonly pserver: PlacedPserver;
  readonly type: string;
  /** Of the segments, as bytes. */
  readonly sent: string;
  readonly answer: (header: object) => void;
  readonly refuse: (code: 'StalePlacement' | 'ConnectionLost' | 'VersionPending', details?: object) => void;
}

let placement: Placement;
let asked: Asked[];
let client: VersionClient;

const group: PserverGroup = {
  async withPlacement(_what, attempt) {
    for (;;) {
      try {
        return await attempt(placement);
      } catch (error) {
        if (!isPaddletError(error)) throw error;
      }
      await turn();
    }
  },
  ask: ((pserver: PlacedPserver, type: string, _fields: object, segments: readonly Uint8Array[] = []) =>
    new Promise((resolve, reject) => {
      asked.push({
        ...{ pserver, type, sent: segments.map((one) => Buffer.from(one).toString('hex')).join() },
        answer: (header) =>
          resolve({ header, segmentCount: 0, segment: () => new Uint8Array(0), free: () => {} } as never),
        refuse: (code, details = {}) => reject(new PaddletError(code, code, { details: { ...details } })),
      });
    })) as PserverGroup['ask'],
  sending: () => undefined,
  current: () => placement,
  answers: () => [],
  close: () => {},
};

beforeEach(() => {
  asked = [];
  placement = placementOf(placedAt(0, [0, 1, 2, 3]), placedAt(1, [4, 5, 6, 7]));
  client = createVersionClient({ spec: SPEC, shards: SHARDS, group, router: createIdRouter({ shards: SHARDS }) });
});

/** A lane of round 4 that has a gradient in every shard. */
function lane(): LanePush {
  const count = 64;
  const ids = new Uint8Array(BigUint64Array.from({ length: count }, (_, id) => BigInt(id)).buffer);
  const gradients = { dense: [], sparse: [Float32Array.from({ length: count }, (_, id) => id)], ids: [{ ids, count }] };
  return { timeline: 0, round: 4, lane: 2, batch: undefined, records: 1, metrics: NO_METRICS, gradients };
}

/** Those asked since the last call, as text, by pserver. */
function take(): Asked[] {
  const some = asked;
  asked = [];
  return some.sort((a, b) => a.pserver.index - b.pserver.index || (a.type < b.type ? 1 : -1));
}
const named = (some: readonly Asked[]): string[] => some.map(({ pserver, type }) => `${type} ${pserver.address}`);
const taken = (version: number): object => ({ type: 'pushLane', outcome: 'taken', version });

it('a lane goes again to the pserver to which a unit has moved, and to no other', async () => {
  const delivery = client.begin(lane());
  const first = take();
  expect(named(first)).toEqual(['pushLane pserver 0', 'pushLane pserver 1']);
  for (const { answer } of first) answer(taken(4));
  await turn();
  placement = placementOf(placedAt(0, [0, 1, 2, 3]), placedAt(1, [4, 5, 6, 7]));
  await client.deliver([delivery], never);
  expect(take()).toEqual([]);
  const { units } = placedAt(0, [0, 1, 2, 3]);
  placement = placementOf(
    { ...placedAt(0, [0, 1, 2, 3, 7]), units: [...units, { unit: 7, led: 2 }] },
    placedAt(1, [4, 5, 6]),
  );
  const delivering = client.deliver([delivery], never);
  await turn();
  const [again, ...others] = take();
  expect(named([again!, ...others])).toEqual(['pushLane pserver 0']);
  // With the gradients of all of its shards: it skips those that have the lane.
  expect(again!.sent.length).toBeGreaterThan(first[0]!.sent.length);
  again!.answer(taken(4));
  await delivering;
  // It comes back: what its primary had of the round before is gone.
  placement = placementOf(placedAt(0, [0, 1, 2, 3]), {
    ...placedAt(1, [4, 5, 6, 7]),
    units: [...placedAt(1, [4, 5, 6]).units, { unit: 7, led: 3 }],
  });
  void client.deliver([delivery], never);
  await turn();
  expect(named(take())).toEqual(['pushLane pserver 1']);
});

it('a lane goes again where it failed, and where it is lost, with the same gradients', async () => {
  const delivery = client.begin(lane());
  const [a, b] = take();
  a!.answer(taken(4));
  b!.refuse('ConnectionLost');
  await turn();
  const exchanging = client.exchange({ at: { timeline: 0, version: 5 }, lists: [], deliveries: [delivery] }, never);
  await turn();
  const some = take();
  expect(named(some)).toEqual(['pullVersion pserver 0', 'pushLane pserver 1', 'pullVersion pserver 1']);
  some[1]!.answer(taken(4));
  some[0]!.refuse('VersionPending', { missing: [2] });
  await turn();
  await turn();
  const again = take();
  expect(named(again)).toEqual(['pushLane pserver 0', 'pullVersion pserver 0', 'pullVersion pserver 1']);
  expect(again[0]!.sent).toBe(a!.sent);
  again[0]!.answer(taken(5));
  for (const { answer } of again.slice(1)) answer({ type: 'pullVersion', waitedMs: 0 });
  await exchanging;
});

it('a version is confirmed when each unit is, wherever it is by then', async () => {
  const delivery = client.begin(lane());
  for (const { answer } of take()) answer(taken(4));
  await turn();
  let isConfirmed = false;
  const exchange = { at: { timeline: 0, version: 5 }, lists: [], deliveries: [delivery] };
  const exchanging = client.exchange(exchange, never).then(() => {
    isConfirmed = true;
  });
  await turn();
  const [first, second] = take();
  first!.answer({ type: 'pullVersion', waitedMs: 0 });
  await turn();
  // Unit 7 is still at round 4, and moves to the pserver that has confirmed the version.
  placement = placementOf(
    { ...placedAt(0, [0, 1, 2, 3, 7]), units: [...placedAt(0, [0, 1, 2, 3]).units, { unit: 7, led: 2 }] },
    placedAt(1, [4, 5, 6]),
  );
  second!.refuse('StalePlacement');
  await turn();
  await turn();
  const again = take();
  expect(named(again)).toEqual(['pushLane pserver 0', 'pullVersion pserver 0', 'pullVersion pserver 1']);
  again[2]!.answer({ type: 'pullVersion', waitedMs: 0 });
  await turn();
  expect([isConfirmed, client.isPast({ timeline: 0, version: 4 })]).toEqual([false, false]);
  again[0]!.answer(taken(5));
  await turn();
  expect(client.isPast({ timeline: 0, version: 4 })).toBe(true);
  again[1]!.answer({ type: 'pullVersion', waitedMs: 0 });
  await exchanging;
});

it('an answer says how long its pserver waited for lanes, and what it waited before it said so', async () => {
  const waited: number[] = [];
  const onReached = (waitedMs: number): void => void waited.push(waitedMs);
  const exchange = { at: { timeline: 0, version: 5 }, lists: [], deliveries: [], onReached };
  const exchanging = client.exchange(exchange, never);
  await turn();
  const [first, second] = take();
  first!.refuse('VersionPending', { missing: [3] });
  second!.answer({ type: 'pullVersion', waitedMs: 17 });
  await turn();
  const [again] = take();
  expect(waited).toEqual([17]);
  again!.answer({ type: 'pullVersion', waitedMs: 3 });
  await exchanging;
  expect(waited).toEqual([17, 5_003]);
});

it('gives back the values of all lists, those that they share once', () => {
  const memory = new ArrayMemory();
  const given: Float32Array[] = [];
  const free = memory.free.bind(memory);
  memory.free = (array: Float32Array) => {
    given.push(array);
    free(array);
  };
  const [bias, first, second] = [memory.floats(3), memory.floats(4), memory.floats(5)];
  const listOf = (rows: Float32Array): PulledList =>
    ({ values: { dense: [bias], sparse: [rows] } }) as unknown as PulledList;
  const router = createIdRouter({ shards: SHARDS });
  createVersionClient({ spec: SPEC, shards: SHARDS, group, router, memory }).recycle([listOf(first), listOf(second)]);
  expect(given).toEqual([bias, first, second]);
});
