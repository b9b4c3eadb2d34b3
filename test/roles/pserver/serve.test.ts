import { beforeEach, describe, expect, it } from 'vitest';
import type { CheckpointFile } from '../../../src/checkpoint/file/write-durable-file.ts';
import type { MoveAnswer, MoveName } from '../../../src/core/units/move-messages.ts';
import type { RequestHeader } from '../../../src/protocol/messages/all-messages.ts';
import { createHandler } from '../../../src/roles/pserver/serve.ts';
import type { Serving } from '../../../src/roles/pserver/serving.ts';
import type { FromSource } from '../../../src/roles/pserver/transfer/incoming-move.ts';
import type { Update } from '../../../src/roles/pserver/update/update.ts';
import { uuidOf } from '../../checkpoint/fixture.ts';
import { stateOf } from '../master/tasks/service-rig.ts';
import {
  ASKED,
  ask,
  askOf,
  JOB,
  PLACEMENT,
  pull,
  push,
  resetServed,
  SESSION,
  serving,
  shards,
  state,
} from './served-rig.ts';

beforeEach(resetServed);

it('answers for itself before it has any shards, and nothing else', async () => {
  const handler = createHandler({
    serving: () => undefined,
    info: () => ({ role: 'pserver' }),
    files: () => undefined,
  });
  const of = (header: RequestHeader) => ({ header, segmentCount: 0, segment: () => new Uint8Array(0), free: () => {} });
  expect(handler(of({ type: 'info' }), SESSION)).toEqual({ header: { type: 'info', info: { role: 'pserver' } } });
  const file = { type: 'readFile' as const, ...JOB, index: 0, uuid: uuidOf(1), offset: 0, maxBytes: 1 };
  for (const header of [pull(), file]) {
    expect(() => handler(of(header), SESSION)).toThrow(expect.objectContaining({ code: 'NotReady' }));
  }
});

it.each<[string, RequestHeader]>([
  ['WrongJob', { type: 'account', ...ASKED, job: 'another' }],
  ['WrongBatchPlan', { type: 'account', ...ASKED, batchPlanId: 'another' }],
  ['WrongRole', { type: 'getPlan', ...JOB }],
  ['StalePlacement', pull({ revision: '4', shards: 2 })],
  ['StalePlacement', pull({ ...PLACEMENT, shards: 1 })],
  ['PushOutOfOrder', push({ push: 1 })],
  ['BadMessage', push({ task: 3 })],
  ['BadMessage', { type: 'rounds', ...ASKED, maxWaitMs: 0 }],
])('%s', async (code, header) => {
  await expect(ask(header)).rejects.toMatchObject({ code });
});

it('refuses everything while the lease is not certainly held', async () => {
  state.held = false;
  await expect(ask({ type: 'account', ...ASKED })).rejects.toMatchObject({ code: 'Suspended' });
});

it('applies a push once, and counts it', async () => {
  const current = serving();
  expect(await ask(push(), current)).toEqual({ type: 'push', outcome: 'applied', recovery: 3 });
  expect(await ask(push(), current)).toEqual({ type: 'push', outcome: 'duplicate', recovery: 3 });
  expect([state.applied, shards.version]).toEqual([1, 1]);
  expect(await ask(pull(), current)).toEqual({ type: 'pull', version: 1 });
  state.frozen = true;
  await expect(ask(push({ push: 1 }), current)).rejects.toMatchObject({ code: 'Draining' });
});

it('applies nothing when the lease ran out while the first update was being announced', async () => {
  const announced = Promise.withResolvers<void>();
  const answer = ask(push(), serving({ beforeUpdate: () => announced.promise }));
  state.held = false;
  announced.resolve();
  await expect(answer).rejects.toMatchObject({ code: 'Suspended' });
  expect(shards.version).toBe(0);
});

it.each<[string, RequestHeader]>([
  ['an update', push()],
  ['a save', { type: 'checkpoint', ...ASKED, final: false }],
])('does not answer %s that was asked for before it went back to a cut', async (_, header) => {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  let wait: Promise<void> | undefined = promise;
  let current = serving({ beforeUpdate: () => wait, checkpoint: () => promise });
  const answer = askOf(header, () => current);
  current = serving();
  wait = undefined;
  resolve(undefined);
  await expect(answer).rejects.toMatchObject({ code: 'NotReady' });
});

it.each<[string, RequestHeader, string]>([
  ['more good records than planned', push({ good: 1_000_000_000 }), '1000000000 good records of 2'],
  ['fewer than a task may have', push({ good: 0 }), '0 good records of 2, and data.maxBadRecords is 1'],
  ['an end that comes early', push({ last: true }), 'the last push of the task is 1'],
])('refuses a push that names %s', async (_, header, why) => {
  await expect(ask(header)).rejects.toMatchObject({
    code: 'WrongCounts',
    message: `push 0 of task 0 in pass 0: ${why}`,
  });
  expect([state.applied, state.contradictions]).toEqual([0, []]);
  expect(shards.ledgers.account().applied).toBe(0);
});

it('fails the job when two attempts count the same records differently', async () => {
  const current = serving();
  await ask(push({ good: 1 }), current);
  await expect(ask(push({ good: 2 }), current)).rejects.toMatchObject({ code: 'WrongCounts' });
  await expect(ask(push({ push: 1, good: 4 }), current)).rejects.toMatchObject({ code: 'WrongCounts' });
  expect(state.contradictions).toEqual([
    'two attempts at task 0 in pass 0 count its records differently: ' +
      '2 good records up to push 0, where 1 are applied',
    'two attempts at task 0 in pass 0 count its records differently: ' +
      '4 good records up to push 1, where 1 are applied and the push has 2 records',
  ]);
  expect(shards.ledgers.account().applied).toBe(1);
});

const final = { type: 'checkpoint' as const, ...ASKED, final: true, masterSecret: 'of the master', recovery: 3 };

it.each<[string, RequestHeader]>([
  ['a final checkpoint', { ...final, masterSecret: 'a guess' }],
  ['a final checkpoint without any secret', { type: 'checkpoint', ...ASKED, final: true }],
  ['closeTasks', { type: 'closeTasks', ...ASKED, masterSecret: 'a guess', tasks: [] }],
  ['a cut', { type: 'cut', ...ASKED, masterSecret: 'a guess', timeline: 0, round: 0 }],
])('%s is only for the master', async (_, header) => {
  await expect(ask(header)).rejects.toMatchObject({ code: 'NotMaster', action: 'refresh' });
});

it('takes no final checkpoint while a task is open, and none under an old recovery number', async () => {
  const saved = { uuid: 'a', md5: 'b', bytes: 1 };
  const current = serving({ checkpoint: async () => ({ ...saved, rows: 0, positions: [] }) });
  await expect(ask(final, current)).rejects.toMatchObject({ code: 'WrongCounts' });
  const tasks = [0, 1, 2].map((task) => ({ pass: 0, task, records: 4 }));
  await ask({ type: 'closeTasks', ...ASKED, masterSecret: 'of the master', tasks }, current);
  await expect(ask({ ...final, recovery: 2 }, current)).rejects.toMatchObject({ code: 'StaleRecovery' });
  expect(await ask(final, current)).toEqual({ type: 'checkpoint', outcome: 'saved', saved });
});

it('refuses what is meant for another pserver, which may have had this address before', async () => {
  const tasks = [{ pass: 0, task: 0 }];
  const position = (placement: typeof PLACEMENT): RequestHeader => ({ type: 'position', ...JOB, placement, tasks });
  await expect(ask(position({ revision: '6', shards: 2 }))).rejects.toMatchObject({ code: 'StalePlacement' });
  expect(await ask(position(PLACEMENT))).toMatchObject({ type: 'position', next: [0] });
});

it('answers nothing about no shards, as while another pserver has all units', async () => {
  for (const unit of [0, 1]) shards.remove(unit);
  const none = { ...JOB, placement: shards.stamp };
  expect(none.placement.shards).toBe(0);
  const refused = { code: 'StalePlacement', action: 'refresh' };
  await expect(ask({ type: 'account', ...none })).rejects.toMatchObject(refused);
  await expect(ask({ type: 'position', ...none, tasks: [{ pass: 0, task: 0 }] })).rejects.toMatchObject(refused);
  await expect(ask({ ...push(), ...none } as RequestHeader)).rejects.toMatchObject(refused);
});

it('refuses a checkpoint that means no placement: that is for the master of a job in sync mode', async () => {
  await expect(ask({ type: 'checkpoint', ...JOB, final: false })).rejects.toMatchObject({ code: 'BadMessage' });
});

it('does not send an answer for units that have moved while it was made', async () => {
  const saving = Promise.withResolvers<CheckpointFile>();
  const answer = ask({ type: 'checkpoint', ...ASKED, final: false }, serving({ checkpoint: () => saving.promise }));
  shards.remove(1);
  saving.resolve({ uuid: 'a', md5: 'b', bytes: 1, rows: 0, positions: [] });
  await expect(answer).rejects.toMatchObject({ code: 'StalePlacement', action: 'refresh' });
});

describe('while a unit is handed over', () => {
  /** Settled when the unit stays or is gone. */
  let settled: PromiseWithResolvers<void>;
  let waitsFor: readonly string[];
  let forwarded: Update[];
  let taken: PromiseWithResolvers<void> | undefined;
  const moving = (): Serving =>
    serving({
      moves: {
        wait: (kind) => (waitsFor.includes(kind) ? settled.promise : undefined),
        applied: (make) => {
          forwarded.push(make());
          return taken?.promise;
        },
        received: async () => [],
      },
    });
  const end = (): void => {
    waitsFor = [];
    settled.resolve();
  };

  beforeEach(() => {
    settled = Promise.withResolvers();
    [waitsFor, forwarded, taken] = [['read', 'update'], [], undefined];
  });

  it.each<[string, RequestHeader]>([
    ['a pull', pull()],
    ['a push', push()],
    ['a position', { type: 'position', ...ASKED, tasks: [] }],
    ['an account', { type: 'account', ...ASKED }],
    ['a checkpoint', { type: 'checkpoint', ...ASKED, final: false }],
    ['a closure', { type: 'closeTasks', ...ASKED, masterSecret: 'of the master', tasks: [] }],
  ])('%s waits, and is refused when the unit has left', async (_, header) => {
    const [answer, other] = [ask(header, moving()), ask(header, moving())];
    expect(await stateOf(answer)).toBe('open');
    shards.remove(1);
    end();
    await expect(answer).rejects.toMatchObject({ code: 'StalePlacement' });
    await expect(other).rejects.toMatchObject({ code: 'StalePlacement' });
    expect([state.applied, forwarded]).toEqual([0, []]);
  });

  it('a request is answered when the unit stays, but not by a pserver that lost its lease in the meantime', async () => {
    const answer = ask(push(), moving());
    end();
    expect(await answer).toMatchObject({ type: 'push', outcome: 'applied' });
    waitsFor = ['read'];
    settled = Promise.withResolvers();
    const late = ask(pull(), moving());
    state.held = false;
    end();
    await expect(late).rejects.toMatchObject({ code: 'Suspended' });
  });

  it('an answer that was made before is not sent until the unit stays, and not when it has left', async () => {
    for (const hasLeft of [false, true]) {
      [waitsFor, settled] = [[], Promise.withResolvers()];
      const saving = Promise.withResolvers<CheckpointFile>();
      const header: RequestHeader = { type: 'checkpoint', ...ASKED, final: false };
      const answer = ask(header, { ...moving(), checkpoint: () => saving.promise });
      waitsFor = ['read'];
      saving.resolve({ uuid: 'a', md5: 'b', bytes: 1, rows: 0, positions: [] });
      expect(await stateOf(answer)).toBe('open');
      if (hasLeft) shards.remove(1);
      end();
      if (hasLeft) await expect(answer).rejects.toMatchObject({ code: 'StalePlacement' });
      else expect(await answer).toMatchObject({ type: 'checkpoint', outcome: 'saved' });
    }
  });

  it('a push that waits for the seal is not applied to other units than it was sent for', async () => {
    waitsFor = ['update'];
    const answer = ask(push(), moving());
    expect(await stateOf(answer)).toBe('open');
    shards.remove(1);
    end();
    await expect(answer).rejects.toMatchObject({ code: 'StalePlacement' });
    expect([state.applied, shards.version, forwarded]).toEqual([0, 0, []]);
  });

  it('reads are answered while updates wait for the seal', async () => {
    waitsFor = ['update'];
    const current = moving();
    expect(await ask(pull(), current)).toMatchObject({ type: 'pull' });
    const tasks = [{ pass: 0, task: 0, records: 4 }];
    const closing = ask({ type: 'closeTasks', ...ASKED, masterSecret: 'of the master', tasks }, current);
    const pushing = ask(push({ task: 1 }), current);
    expect(await Promise.all([stateOf(closing), stateOf(pushing)])).toEqual(['open', 'open']);
    expect(shards.committed.position(0, 0)).toBe(0);
    end();
    await Promise.all([closing, pushing]);
    expect(forwarded.map(({ type }) => type).sort()).toEqual(['close', 'push']);
  });

  it('an update is forwarded as it was applied, and answered when the target has room for it', async () => {
    waitsFor = [];
    taken = Promise.withResolvers();
    const answer = ask(push(), moving());
    expect(state.applied).toBe(1);
    const position = { pass: 0, task: 0, push: 0, last: false, good: 2 };
    expect(forwarded).toEqual([{ type: 'push', push: position, shards: [0, 1], rateScale: 1, dense: [], sparse: [] }]);
    expect(await stateOf(answer)).toBe('open');
    taken.resolve();
    expect(await answer).toMatchObject({ outcome: 'applied' });
    const duplicate = await ask(push(), moving());
    expect([duplicate, forwarded.length]).toMatchObject([{ outcome: 'duplicate' }, 1]);
  });
});

describe('a message to copies of units', () => {
  it('is refused where units have one copy', async () => {
    const ends = { primary: { index: 1, token: '8' }, member: { index: 0, token: '7' } };
    const requests: RequestHeader[] = [
      { type: 'openReplicas', ...JOB, ...ends },
      { type: 'replicate', ...JOB, ...ends, left: [], order: 0, late: false },
      { type: 'unitCopies', ...JOB, pserver: ends.member, from: 0 },
      { type: 'copyDigest', ...JOB, pserver: ends.member, shard: 0, maxWaitMs: 0 },
    ];
    for (const request of requests) await expect(ask(request)).rejects.toMatchObject({ code: 'NotReady' });
  });
});

describe('a message of a move', () => {
  const owners = { source: { index: 1, token: '8' }, target: { index: 0, token: '7' } };
  const move: MoveName = { purpose: 'lead', unit: 1, epoch: 1, ...owners, attempt: 1 };
  const frame: RequestHeader = { type: 'moveFrame', ...JOB, move, number: 0, content: { type: 'seal', position: 4 } };
  const from = (header: RequestHeader, answers: readonly MoveAnswer[], seen: FromSource[] = []) => {
    const received = async (message: FromSource): Promise<readonly MoveAnswer[]> => {
      seen.push(message);
      return answers;
    };
    // Requests wait for a hand-over, which waits for these.
    const wait = (): Promise<void> => new Promise(() => {});
    return ask(header, serving({ moves: { received, wait, applied: () => undefined } }));
  };

  it('needs no placement, and gets what the target says', async () => {
    const seen: FromSource[] = [];
    expect(await from({ type: 'openMove', ...JOB }, [])).toEqual({ type: 'openMove' });
    expect(await from({ type: 'offerMove', ...JOB, move }, [{ type: 'accepted', name: move }], seen)).toEqual({
      type: 'offerMove',
      answers: [{ type: 'accepted', move }],
    });
    expect(await from(frame, [{ type: 'sealed', name: move, position: 4 }], seen)).toEqual({
      type: 'moveFrame',
      answers: [{ type: 'sealed', move, position: 4 }],
    });
    expect(await from({ type: 'abandonMove', ...JOB, move }, [], seen)).toEqual({ type: 'abandonMove', answers: [] });
    expect(await from({ type: 'unitMoved', ...JOB, move }, [], seen)).toEqual({ type: 'unitMoved', answers: [] });
    expect(seen.map(({ type }) => type)).toEqual(['offer', 'frame', 'abandon', 'moved']);
  });

  it.each<[string, RequestHeader]>([
    ['WrongJob', { ...frame, job: 'another' } as RequestHeader],
    ['WrongBatchPlan', { ...frame, batchPlanId: 'another' } as RequestHeader],
    ['BadMessage', { ...frame, move: { ...move, unit: 2 } } as RequestHeader],
  ])('%s', async (code, header) => {
    await expect(from(header, [])).rejects.toMatchObject({ code });
  });

  it('is refused while no unit can be taken, or the lease is not certainly held', async () => {
    await expect(ask({ type: 'openMove', ...JOB })).rejects.toMatchObject({ code: 'NotReady' });
    await expect(ask(frame)).rejects.toMatchObject({ code: 'NotReady' });
    state.held = false;
    await expect(from(frame, [])).rejects.toMatchObject({ code: 'Suspended' });
  });
});
