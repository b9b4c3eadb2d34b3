/** What a lane may say of its records, by the plan of the rounds and by what is applied or kept of its task. */
import { beforeEach, expect, it } from 'vitest';
import { createRoundPlan } from '../../../../../src/core/rounds/plan.ts';
import { createShardLedgers, type ShardLedgers } from '../../../../../src/core/shard/ledgers.ts';
import { createPushPlan } from '../../../../../src/core/shard/push-plan.ts';
import { checkLane, checkSameLane } from '../../../../../src/roles/pserver/modes/rounds/lane-counts.ts';
import type { Header } from '../../../../../src/roles/pserver/requests/requests.ts';

/** Two tasks of five records in batches of two, one for each lane: three rounds, the last of one record each. */
const JOB = { records: 10, tasks: 2, recordsPerTask: 5, batchSize: 2, pushEvery: 1, maxBadRecords: 1 };
const batches = createRoundPlan({ ...JOB, taskRecords: Uint32Array.of(5, 5), passes: 1, lanes: 2, seed: 1 });
const NO_METRICS = { records: 0, weight: 0, loss: 0, correct: 0, squaredError: 0 };

let ledgers: ShardLedgers;
let contradictions: string[];

beforeEach(() => {
  ledgers = createShardLedgers(JOB.tasks, [0], new Map());
  contradictions = [];
});

const lane = (round: number, records: number, good: number, change: Partial<Header<'pushLane'>> = {}) => {
  const { pass, task, push, last } = batches.batchOf(round, 0)!;
  return {
    ...{ type: 'pushLane' as const, job: 'j', batchPlanId: 'b', timeline: 0, round, lane: 0, records },
    ...{ metrics: { ...NO_METRICS, records }, placement: { revision: '1', shards: 1 }, dense: [], sparse: [] },
    batch: { pass, task, push, last, good },
    ...change,
  };
};
const of = () => ({
  ...{ batches, ledgers, plan: createPushPlan(JOB) },
  onContradiction: (error: Error) => void contradictions.push(error.message),
});
const check = (header: Header<'pushLane'>) => checkLane(of(), header);
const apply = (header: Header<'pushLane'>) => {
  check(header);
  ledgers.advance(header.batch!);
};

it('takes lanes as a trainer makes them, with a bad record among them', () => {
  apply(lane(0, 2, 2));
  apply(lane(1, 1, 3));
  apply(lane(2, 1, 4));
  // One task for two lanes: the other one is empty.
  const uneven = createRoundPlan({ ...JOB, taskRecords: Uint32Array.of(5), passes: 1, lanes: 2, seed: 1 });
  checkLane({ ...of(), batches: uneven }, { ...lane(0, 0, 0), lane: 1, batch: undefined });
  expect(contradictions).toEqual([]);
});

it.each([
  ['more records than its mini-batch has', lane(0, 3, 3), 'WrongCounts'],
  ['metrics of other records', lane(0, 2, 2, { metrics: { ...NO_METRICS, records: 1_000_000_000 } }), 'WrongCounts'],
  [
    'more correct ones than records',
    lane(0, 2, 2, { metrics: { ...NO_METRICS, records: 2, correct: 3 } }),
    'WrongCounts',
  ],
  ['another sum of good records', lane(0, 1, 2), 'WrongCounts'],
  ['more bad records than a task may have', lane(0, 0, 0), 'WrongCounts'],
  ['the mini-batch of another round', { ...lane(1, 2, 2), round: 0 }, 'BadMessage'],
  ['a mini-batch where the lane is empty', { ...lane(0, 2, 2), round: 3 }, 'BadMessage'],
  ['an empty lane of a round after the last', { ...lane(0, 0, 0), round: 3, batch: undefined }, 'BadMessage'],
  ['none where it has one', lane(0, 0, 0, { batch: undefined }), 'BadMessage'],
] as const)('refuses %s', (_, header, code) => {
  expect(() => check(header)).toThrow(expect.objectContaining({ code }));
  expect(contradictions).toEqual([]);
});

it('fails the job when two trainers count the records of a lane differently', () => {
  apply(lane(0, 2, 2));
  expect(() => check(lane(0, 1, 1))).toThrow(expect.objectContaining({ code: 'WrongCounts' }));
  expect(contradictions).toEqual([expect.stringMatching(/: 1 good records up to push 0, where 2 are applied$/)]);
});

it('also while the lane is only kept', () => {
  const { batch, metrics } = lane(0, 2, 2);
  const kept = { position: batch, metrics, records: 2, dense: [], sparse: [], memory: undefined };
  checkSameLane(of(), kept, lane(0, 2, 2));
  expect(contradictions).toEqual([]);
  expect(() => checkSameLane(of(), kept, lane(0, 1, 1))).toThrow(expect.objectContaining({ code: 'WrongCounts' }));
  expect(contradictions).toEqual([expect.stringMatching(/: 1 good records in push 0, where 2 are kept$/)]);
});
