/** What the master answers trainers about lanes, and when it gives the job up. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { PaddletError } from '../../../../src/base/errors.ts';
import type { Dataset } from '../../../../src/roles/master/dataset.ts';
import { describeLane } from '../../../../src/roles/master/rounds/describe.ts';
import { createLaneService, type LaneService } from '../../../../src/roles/master/rounds/service.ts';
import { stateOf } from '../tasks/service-rig.ts';
import { RoundsRig } from './service-rig.ts';

let rig: RoundsRig;
let service: LaneService;
let looks: number;
let failures: PaddletError[];
let isWanted: boolean;

const dataset = {
  index: { files: [{ path: 'a.txt' }, { path: 'b.txt' }] },
  tasks: [
    [
      { file: 0, firstRecord: 100, records: 30 },
      { file: 1, firstRecord: 0, records: 10 },
    ],
    [{ file: 1, firstRecord: 10, records: 40 }],
  ],
} as unknown as Dataset;

beforeEach(() => {
  rig = new RoundsRig();
  looks = 0;
  failures = [];
  isWanted = false;
  service = anotherService();
});

const anotherService = (): LaneService =>
  createLaneService({
    context: rig.master.context,
    record: rig.record,
    until: rig.plan.firstOf(rig.record.job.training.passes),
    describe: (round, lane) => describeLane({ dataset, plan: rig.plan, isShuffled: false }, round, lane),
    isHeld: () => rig.master.isHeld,
    isWanted: () => isWanted,
    look: () => {
      looks += 1;
    },
    onFatal: (error) => failures.push(error),
  });

beforeEach(() => service.tell({ type: 'roster', trainers: [] }));

const later = (ms: number): Promise<void> => rig.master.clock.advance(ms);
const ask = (known: number, closed = new AbortController().signal, maxWaitMs = 10_000) =>
  service.getLanes({ trainer: 'a', known, maxWaitMs, closed });
const rounds = (version: number, missing: number[] = [0, 1]): void =>
  service.tell({ type: 'rounds', timeline: 0, version, missing });

describe('who asks for lanes', () => {
  it('hears at once what it does not know, and then when it changes', async () => {
    const { number } = await ask(0);
    const waiting = ask(number);
    expect(await stateOf(waiting)).toBe('open');
    service.tell({ type: 'joined', trainer: 'a' });
    const answer = await waiting;
    expect(answer).toMatchObject({ done: false, owners: [['a'], ['a']] });
    expect(answer.number).not.toBe(number);
  });

  it('hears the same after its time, or when it has hung up', async () => {
    const { number } = await ask(0);
    const waiting = ask(number);
    await later(10_000);
    expect(await waiting).toMatchObject({ number });
    const gone = new AbortController();
    const hung = ask(number, gone.signal);
    gone.abort();
    expect(await hung).toMatchObject({ number });
  });

  it('hears that all rounds are done, and that they are not when all were set back', async () => {
    const { number } = await ask(0);
    const waiting = ask(number);
    service.setDone(true);
    const answer = await waiting;
    expect(answer.done).toBe(true);
    const again = ask(answer.number);
    service.setDone(true);
    expect(await stateOf(again)).toBe('open');
    service.setDone(false);
    expect(await again).toMatchObject({ done: false });
  });

  it('hears that it is wanted for something else', async () => {
    const { number } = await ask(0);
    const waiting = ask(number);
    isWanted = true;
    service.wake();
    expect(await waiting).toMatchObject({ number });
  });

  it('is not told to lay down its lanes before the live trainers are known', async () => {
    const next = anotherService();
    const waiting = next.getLanes({ trainer: 'a', known: 3, maxWaitMs: 1_000, closed: new AbortController().signal });
    const late = next.getLanes({ trainer: 'a', known: 3, maxWaitMs: 100, closed: new AbortController().signal });
    late.catch(() => {});
    await later(500);
    expect(await stateOf(late)).toBe('refused: NotReady');
    next.tell({ type: 'roster', trainers: ['a'] });
    expect(await waiting).toMatchObject({ owners: [['a'], ['a']] });
  });

  it('is told to ask another master when this one ends', async () => {
    const { number } = await ask(0);
    const waiting = ask(number);
    waiting.catch(() => {});
    service.close();
    expect(await stateOf(waiting)).toBe('refused: NotReady');
  });
});

describe('late lanes', () => {
  const late = async (): Promise<void> => {
    service.tell({ type: 'roster', trainers: ['a', 'b'] });
    for (let version = 0; version < 5; version++) {
      rounds(version);
      await later(100);
    }
    rounds(5);
  };

  it('are looked for in time, and helped', async () => {
    await late();
    await later(600);
    expect(looks).toBe(1);
    rounds(5, [1]);
    expect(service.owners()[1]).toEqual(['b', 'a']);
    expect(service.helped()).toBe(1);
  });

  it('are none while the master is cut off', async () => {
    await late();
    rig.master.isHeld = false;
    await later(10_000);
    expect(looks).toBe(0);
  });
});

describe('a lane that fails', () => {
  const failed = (data: boolean, trainer = 'a', code = data ? 'DataInvalid' : 'OutOfMemory'): string | undefined =>
    service.failed({
      type: 'failLane',
      job: '',
      batchPlanId: '',
      trainer,
      timeline: 0,
      round: 3,
      lane: 1,
      code,
      error: 'that is why',
      data,
    });
  const where = (): string => {
    const { pass, task } = rig.plan.batchOf(3, 1)!;
    return `lane 1 of round 3 (pass ${pass + 1}, task ${task}: ${task === 0 ? 'a.txt records 104 to 104 (chunk 0)' : 'b.txt records 14 to 14 (chunk 0)'})`;
  };

  beforeEach(() => {
    service.tell({ type: 'roster', trainers: ['a', 'b'] });
    rounds(3);
  });

  it('for its records ends the job at once, naming them, when its own trainer says so', () => {
    failed(true, 'a');
    expect(failures).toEqual([]);
    failed(true, 'b');
    expect(failures).toHaveLength(1);
    expect(failures[0]!.code).toBe('DataInvalid');
    expect(failures[0]!.message).toBe(`${where()} cannot be computed, by trainer b: that is why`);
  });

  it.each(['StoreReplaced', 'Usage', 'Internal', 'nonsense'])('for its records is not %s', (code) => {
    expect(() => failed(true, 'b', code)).toThrow(expect.objectContaining({ code: 'BadMessage' }));
    expect(failures).toEqual([]);
    failed(true, 'b', 'BadGradient');
    expect(failures[0]!.code).toBe('BadGradient');
  });

  it('for another reason ends it after too many times', () => {
    failed(false, 'b');
    expect(failures).toEqual([]);
    failed(false, 'b');
    expect(failures[0]!.code).toBe('LaneFailed');
    expect(failures[0]!.message).toBe(
      `${where()} failed more than 1 times, last on trainer b: OutOfMemory: that is why`,
    );
  });

  it('with its trainer counts when it is missing then; the round that is over forgets it', () => {
    service.tell({ type: 'gone', trainer: 'b' });
    expect(looks).toBe(1);
    rounds(3);
    service.tell({ type: 'joined', trainer: 'c' });
    rounds(4);
    rounds(4, [1]);
    const owner = service.owners()[1]![0]!;
    service.tell({ type: 'gone', trainer: owner });
    rounds(4, [1]);
    expect(failures).toEqual([]);
    service.tell({ type: 'gone', trainer: service.owners()[1]![0]! });
    rounds(4, [1]);
    expect(failures[0]!.code).toBe('LaneFailed');
    expect(failures[0]!.message).toContain('the trainer left or died');
  });

  it('that the job does not have is refused', () => {
    expect(() =>
      service.failed({
        type: 'failLane',
        job: '',
        batchPlanId: '',
        trainer: 'a',
        timeline: 0,
        round: 3,
        lane: 2,
        code: 'DataInvalid',
        error: '',
        data: true,
      }),
    ).toThrow('the job has only 2 lanes');
  });
});
