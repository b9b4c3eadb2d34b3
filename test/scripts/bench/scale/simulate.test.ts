/** The simulation of the real roles, beside the model that knows no queues. */
import { expect, it } from 'vitest';
import { ANSWER_HEADER_BYTES, PUSH_HEADER_BYTES } from '../../../../scripts/bench/scale/constants.ts';
import type { Demand } from '../../../../scripts/bench/scale/demand.ts';
import { OneCore } from '../../../../scripts/bench/scale/processor.ts';
import { simulate } from '../../../../scripts/bench/scale/simulate.ts';
import { capacityOf } from '../../../../scripts/bench/scale/walls.ts';
import { encodeFrame } from '../../../../src/protocol/frames/frame.ts';
import { Timeline } from '../../../sim/timeline.ts';

const DEMAND: Demand = {
  ...{ row: '4', records: 1024, pushesPerTask: 4, message: { trainer: 80, pserver: 80 } },
  ...{ trainerMicros: 2000, pserverMicros: 2000, masterTaskMicros: 2000, sentBytes: 400_000, receivedBytes: 80_000 },
};
const LINKS = { bytesPerMs: 1.25e6, latencyMs: 0.1 };
const TIMEOUT_MS = 120_000;

it('the headers of a push and of its answer are as long as the constants say', () => {
  const name = (length: number): string => 'a'.repeat(length);
  const placement = { revision: '123456', shards: 256 };
  const push = { pass: 3, task: 120, push: 5, last: false, good: 6144 };
  const part = { dense: [], sparse: [{ table: 0 }] };
  const used = { revision: '123456', version: 12_345 };
  const header = { type: 'push', job: name(36), batchPlanId: name(64), ...push, placement, used, ...part, pull: part };
  const answer = { type: 'push', outcome: 'applied', recovery: 0, version: 12_345 };
  const frame = (kind: 'request' | 'reply', of: unknown, segments: number): number => {
    const empty = Array.from({ length: segments }, () => new Uint8Array(0));
    return encodeFrame({ kind, requestId: 9, header: of, segments: empty }).byteLength;
  };
  expect(Math.abs(frame('request', header, 3) - PUSH_HEADER_BYTES)).toBeLessThan(16);
  expect(Math.abs(frame('reply', answer, 1) - ANSWER_HEADER_BYTES)).toBeLessThan(16);
});

it('a processor takes one thing after the other, and what that sets off comes before the next', async () => {
  const timeline = new Timeline();
  const core = new OneCore(timeline);
  const ran: [string, number][] = [];
  const note = (what: string) => (): void => void ran.push([what, timeline.nowMs]);
  core.take(2, () => {
    note('first')();
    core.spend(3);
  });
  core.take(1, note('second'));
  timeline.at(20, () => core.take(1, note('later')));
  await timeline.run(() => false, 100);
  expect(ran).toEqual([
    ['first', 2],
    ['second', 6],
    ['later', 21],
  ]);
  expect(core.busyMs).toBe(7);
});

it.each([
  ['trainers: processor', { pservers: 2, trainers: 1 }, { ...DEMAND, pushesPerTask: 8 }, LINKS],
  ['hand-outs', { pservers: 2, trainers: 1 }, { ...DEMAND, pushesPerTask: 1 }, LINKS],
  ['pservers: processor', { pservers: 1, trainers: 3 }, DEMAND, LINKS],
  ['pservers: link', { pservers: 1, trainers: 3 }, DEMAND, { ...LINKS, bytesPerMs: 50_000 }],
] as const)(
  '%s: the real roles come close to the wall of the model, and stay below it',
  {
    timeout: TIMEOUT_MS,
  },
  async (wall, size, demand, links) => {
    const model = capacityOf(demand, size, links);
    expect(model.wall).toBe(wall);
    const { recordsPerSecond } = await simulate(demand, size, links);
    expect(recordsPerSecond / model.recordsPerSecond).toBeGreaterThan(0.75);
    expect(recordsPerSecond / model.recordsPerSecond).toBeLessThan(1.05);
  },
);
