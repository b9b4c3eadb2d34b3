/** What trainers are answered, and when (docs/design.md §4). */

import { describe, expect, it } from 'vitest';
import type { AttemptRef } from '../../../../src/core/tasks/address.ts';
import { createTaskQueue } from '../../../../src/core/tasks/queue.ts';
import { noSums } from '../../../../src/core/tasks/state.ts';
import type { TaskAsker, TaskService } from '../../../../src/roles/master/tasks/service.ts';
import { configOf, type RigOptions } from '../../../core/tasks/queue-rig.ts';
import * as fc from '../../../properties.ts';
import { aStore, Master, settled, stateOf } from './service-rig.ts';

const OPEN = new AbortController().signal;
const FAILURE = { code: 'X', error: 'it broke', data: true, read: 0 };
const WAIT_MS = 20_000;

async function aService(options: RigOptions): Promise<{ master: Master; service: TaskService }> {
  const { clock, data } = aStore();
  const master = new Master(clock, data);
  const service = await master.service(options);
  service.tell({ type: 'roster', trainers: ['ann', 'bob'] });
  return { master, service };
}

const ask = (service: TaskService, trainer: string, rest: Omit<TaskAsker, 'trainer' | 'most'>) =>
  service.getTasks({ trainer, most: 1, ...rest });

async function take(service: TaskService, trainer: string, held: AttemptRef[] = []): Promise<AttemptRef> {
  const answer = await ask(service, trainer, { held: held, maxWaitMs: WAIT_MS, closed: OPEN });
  if (typeof answer === 'string') throw new Error(`${trainer} got no task: ${answer}`);
  return answer[0]!;
}

const execute = (service: TaskService, { trainer, ...ref }: AttemptRef, position = 0): void =>
  service.tell({ type: 'progress', trainer, executing: { ...ref, position }, phase: 'compute' });

describe('a report', () => {
  it('is saved with others of the same turn', async () => {
    const { master, service } = await aService({ tasks: 3 });
    const refs = [await take(service, 'ann'), await take(service, 'bob')];
    const before = master.troubled.writes.length;
    await Promise.all(refs.map((ref) => service.finish(ref, noSums())));
    expect(master.troubled.writes.length).toBe(before + 1);
  });

  it('is accepted after it is saved', async () => {
    const { master, service } = await aService({ tasks: 2 });
    const ref = await take(service, 'ann');
    master.troubled.hold();
    const finished = service.finish(ref, noSums());
    expect(await stateOf(finished)).toBe('open');
    master.troubled.releaseHold();
    expect(await stateOf(finished)).toBe('done');
  });

  it('is refused with its code, after what the refusal rests on is saved', async () => {
    const { master, service } = await aService({ tasks: 2 });
    const ref = await take(service, 'ann');
    master.troubled.hold();
    const finished = service.finish(ref, noSums());
    const again = service.finish(ref, noSums());
    expect(await stateOf(again)).toBe('open');
    master.troubled.releaseHold();
    expect(await stateOf(finished)).toBe('done');
    expect(await stateOf(again)).toBe('refused: AttemptNotLive');
    expect(await stateOf(service.fail({ ...ref, pass: 1 }, FAILURE))).toBe('refused: PassAfter');
    expect(await stateOf(service.giveBack(ref, 0))).toBe('refused: AttemptNotLive');
  });

  it('is heard through an outage of the store, and answered after it', async () => {
    const { master, service } = await aService({ tasks: 2 });
    const ref = await take(service, 'ann');
    master.troubled.isAway = true;
    const finished = service.finish(ref, noSums());
    await master.clock.advance(60_000);
    expect(await stateOf(finished)).toBe('open');
    master.troubled.isAway = false;
    await master.clock.advance(2_000);
    expect(await stateOf(finished)).toBe('done');
    expect(service.queue.counts()).toMatchObject({ done: 1, discarded: 0 });
  });

  it('of which the save fails for good is never accepted', async () => {
    const { master, service } = await aService({ tasks: 2 });
    const ref = await take(service, 'ann');
    const next = new Master(master.clock, master.troubled.data);
    const finished = service.finish(ref, noSums());
    await settled();
    expect(master.ends).toMatchObject([{ code: 'LeaseGone' }]);
    expect(await stateOf(finished)).toBe('open');
    service.close();
    expect(await stateOf(finished)).toBe('refused: NotReady');
    const other = await next.service({ tasks: 2 });
    other.tell({ type: 'roster', trainers: ['ann'] });
    expect(await stateOf(other.finish(ref, noSums()))).toBe('done');
  });
});

describe('a request for a task', () => {
  it('is dealt one after the deal is saved', async () => {
    const { master, service } = await aService({ tasks: 2 });
    master.troubled.hold();
    const asked = ask(service, 'ann', { held: [], maxWaitMs: WAIT_MS, closed: OPEN });
    expect(await stateOf(asked)).toBe('open');
    master.troubled.releaseHold();
    expect(await stateOf(asked)).toMatchObject([{ trainer: 'ann', pass: 0, attempt: 1 }]);
  });

  it('is dealt several at once, which are saved together', async () => {
    const { master, service } = await aService({ tasks: 20 });
    const before = master.troubled.writes.length;
    const closed = OPEN;
    const dealt = await service.getTasks({ trainer: 'ann', held: [], most: 3, maxWaitMs: WAIT_MS, closed });
    expect(dealt).toHaveLength(3);
    expect(master.troubled.writes.length).toBe(before + 1);
  });

  it('waits for so long, and is then told to ask again', async () => {
    const { master, service } = await aService({ tasks: 1 });
    await take(service, 'ann');
    const asked = ask(service, 'bob', { held: [], maxWaitMs: 3_000, closed: OPEN });
    await master.clock.advance(2_999);
    expect(await stateOf(asked)).toBe('open');
    expect(service.queue.counts().waiting).toBe(1);
    await master.clock.advance(1);
    expect(await stateOf(asked)).toBe('wait');
    expect(service.queue.counts().waiting).toBe(0);
  });

  it('is dealt what comes back while it waits, and its waiting is over', async () => {
    const { master, service } = await aService({ tasks: 1 });
    const ref = await take(service, 'ann');
    const asked = ask(service, 'bob', { held: [], maxWaitMs: 5_000, closed: OPEN });
    await service.giveBack(ref, 0);
    expect(await stateOf(asked)).toEqual([{ ...ref, trainer: 'bob', attempt: 2 }]);
    await master.clock.advance(5_000);
    expect(service.queue.attempts()).toHaveLength(1);
    expect(master.clock.pendingTimers).toBe(0);
  });

  it('is given up when its connection ends: no task is dealt to a closed connection', async () => {
    const { service } = await aService({ tasks: 1 });
    const ref = await take(service, 'ann');
    const session = new AbortController();
    const asked = ask(service, 'bob', { held: [], maxWaitMs: WAIT_MS, closed: session.signal });
    session.abort();
    expect(await stateOf(asked)).toBe('wait');
    await service.giveBack(ref, 0);
    expect(service.queue.counts()).toMatchObject({ todo: 1, pending: 0, waiting: 0 });
  });

  it('whose connection has ended already is dealt nothing', async () => {
    const { service } = await aService({ tasks: 1 });
    expect(await stateOf(ask(service, 'ann', { held: [], maxWaitMs: WAIT_MS, closed: AbortSignal.abort() }))).toBe(
      'wait',
    );
    expect(service.queue.counts()).toMatchObject({ todo: 1, waiting: 0 });
  });

  it('can no longer be given up when its deal is being saved; the deal comes back by the next request', async () => {
    const { master, service } = await aService({ tasks: 1 });
    master.troubled.hold();
    const session = new AbortController();
    const asked = ask(service, 'ann', { held: [], maxWaitMs: 5_000, closed: session.signal });
    session.abort();
    await master.clock.advance(5_000);
    service.release();
    expect(await stateOf(asked)).toBe('open');
    expect(service.queue.counts().pending).toBe(1);
    master.troubled.releaseHold();
    expect(await stateOf(asked)).toMatchObject([{ attempt: 1 }]);
    expect(await take(service, 'ann', [])).toMatchObject({ attempt: 2 });
  });

  it('is told none when all is done, after the end is saved', async () => {
    const { master, service } = await aService({ tasks: 1 });
    const ref = await take(service, 'ann');
    const waiting = ask(service, 'bob', { held: [], maxWaitMs: WAIT_MS, closed: OPEN });
    await settled();
    master.troubled.hold();
    void service.finish(ref, noSums());
    expect(await stateOf(waiting)).toBe('open');
    expect(master.events).toEqual([]);
    master.troubled.releaseHold();
    expect(await stateOf(waiting)).toBe('none');
    expect(master.events).toEqual(['pass 0 ended', 'ended']);
    expect(await stateOf(ask(service, 'ann', { held: [], maxWaitMs: WAIT_MS, closed: OPEN }))).toBe('none');
  });

  it('is told to ask again when the service lets all go', async () => {
    const { service } = await aService({ tasks: 1 });
    const ref = await take(service, 'ann');
    const asked = [
      ask(service, 'bob', { held: [], maxWaitMs: WAIT_MS, closed: OPEN }),
      ask(service, 'ann', { held: [ref], maxWaitMs: WAIT_MS, closed: OPEN }),
    ];
    service.release();
    expect(await Promise.all(asked.map(stateOf))).toEqual(['wait', 'wait']);
  });

  it('is told that the master is ending by a service that is closed, before or after', async () => {
    const { master, service } = await aService({ tasks: 1 });
    const ref = await take(service, 'ann');
    const asked = ask(service, 'bob', { held: [], maxWaitMs: WAIT_MS, closed: OPEN });
    service.close();
    expect(await stateOf(asked)).toBe('refused: NotReady');
    expect(await stateOf(ask(service, 'bob', { held: [], maxWaitMs: WAIT_MS, closed: OPEN }))).toBe(
      'refused: NotReady',
    );
    expect(await stateOf(service.finish(ref, noSums()))).toBe('refused: NotReady');
    service.tell({ type: 'gone', trainer: 'ann' });
    expect(service.queue.counts().pending).toBe(1);
    expect(master.clock.pendingTimers).toBe(0);
  });
});

describe('what the job is told', () => {
  it('of discards, ended passes and failure comes after it is saved', async () => {
    const { master, service } = await aService({ tasks: 2, passes: 2, maxFailures: 0, maxDiscarded: 1 });
    const ref = await take(service, 'ann');
    master.troubled.hold();
    const failed = service.fail(ref, FAILURE);
    expect(await stateOf(failed)).toBe('open');
    expect(master.events).toEqual([]);
    master.troubled.releaseHold();
    await failed;
    expect(master.events).toEqual([`discarded task ${ref.task}`]);
    await service.finish(await take(service, 'ann'), noSums());
    await service.fail(await take(service, 'ann'), FAILURE);
    expect(master.events).toEqual([
      `discarded task ${ref.task}`,
      'pass 0 ended',
      `discarded task ${1 - ref.task}`,
      `failed by task ${1 - ref.task}`,
    ]);
  });
});

describe('a queue that is not saved', () => {
  it('is answered at once', async () => {
    const { clock, data } = aStore();
    const master = new Master(clock, data);
    const service = master.serviceOf(createTaskQueue(configOf({ tasks: 1 }), undefined, 0), undefined);
    service.tell({ type: 'roster', trainers: ['ann'] });
    await service.finish(await take(service, 'ann'), noSums());
    expect(master.events).toEqual(['pass 0 ended', 'ended']);
    expect(master.troubled.writes).toEqual([]);
  });
});

describe('the time that a task may take', () => {
  const OPTIONS = { tasks: 1, timeoutMs: 5_000, maxFailures: 0, maxDiscarded: 1 };

  it('runs by the clock', async () => {
    const { master, service } = await aService(OPTIONS);
    execute(service, await take(service, 'ann'));
    await master.clock.advance(4_999);
    expect(service.queue.attempts()).toHaveLength(1);
    await master.clock.advance(1);
    expect(master.events).toContain('discarded task 0');
  });

  it('does not run while the master is cut off from the store, however long', async () => {
    const { master, service } = await aService(OPTIONS);
    const ref = await take(service, 'ann');
    execute(service, ref);
    await master.clock.advance(3_000);
    execute(service, ref);
    master.isHeld = false;
    master.troubled.isAway = true;
    await master.clock.advance(60_000);
    master.isHeld = true;
    master.troubled.isAway = false;
    service.tell({ type: 'resumed' });
    await master.clock.advance(1_900);
    expect(service.queue.attempts()).toHaveLength(1);
    await master.clock.advance(200);
    expect(service.queue.attempts()).toHaveLength(0);
  });

  it('does not run while the master itself stands still', async () => {
    const { master, service } = await aService(OPTIONS);
    const ref = await take(service, 'ann');
    execute(service, ref);
    master.clock.jump(60_000);
    await master.clock.advance(0);
    expect(service.queue.attempts()).toHaveLength(1);
    await master.clock.advance(5_000);
    expect(master.events).toContain('discarded task 0');
  });

  it('does not run then either when a message is the first thing that is heard', async () => {
    const { master, service } = await aService(OPTIONS);
    const ref = await take(service, 'ann');
    execute(service, ref);
    master.clock.jump(60_000);
    execute(service, ref);
    await master.clock.advance(4_999);
    expect(service.queue.attempts()).toHaveLength(1);
  });
});

describe('masters that die at any moment, on a store that fails at any moment', () => {
  type Act = { readonly kind: 'work' | 'die' | 'trouble' | 'away' | 'late'; readonly pick: number };
  const acts = fc.array(
    fc.record({
      kind: fc.constantFrom<Act['kind'][]>('work', 'work', 'work', 'work', 'die', 'trouble', 'away', 'late'),
      pick: fc.nat(100),
    }),
    { maxLength: 60, size: 'max' },
  );
  const TROUBLES = ['unavailable', 'unknownLanded', 'unknownLost', 'unknownLate'] as const;

  it('lose nothing that was acknowledged, and accept nothing twice', async () => {
    await fc.assert(
      fc.asyncProperty(acts, async (history) => {
        const options = { tasks: 4, passes: 3 };
        const { clock, data } = aStore();
        const all: Master[] = [];
        const acknowledged = new Set<string>();
        const begin = async (): Promise<TaskService> => {
          const master = new Master(clock, data);
          all.push(master);
          const service = await master.service(options);
          for (const name of acknowledged) {
            const [pass, task] = name.split('/').map(Number) as [number, number];
            expect(service.queue.isDone(pass, task)).toBe(true);
          }
          service.tell({ type: 'roster', trainers: ['ann'] });
          return service;
        };
        const work = async (service: TaskService): Promise<void> => {
          const answer = await ask(service, 'ann', { held: [], maxWaitMs: 5_000, closed: OPEN });
          if (typeof answer === 'string') return;
          const { pass, task } = answer[0]!;
          await service.finish(answer[0]!, { ...noSums(), read: 1 });
          expect(acknowledged).not.toContain(`${pass}/${task}`);
          acknowledged.add(`${pass}/${task}`);
        };
        /** Its master died, or it asked again, naming no task that it holds. */
        const expected = ['NotReady', 'AttemptNotLive', 'PassBefore'];
        const faults: unknown[] = [];
        const quietly = (service: TaskService): void =>
          void work(service).catch((error: { code: string }) => expected.includes(error.code) || faults.push(error));
        let service = await begin();
        for (const { kind, pick } of history) {
          const { troubled } = all.at(-1)!;
          if (kind === 'work') quietly(service);
          if (kind === 'trouble') troubled.next(TROUBLES[pick % TROUBLES.length]!);
          if (kind === 'away') troubled.isAway = !troubled.isAway;
          if (kind === 'late') for (const master of all) master.troubled.landLate();
          if (kind === 'die') {
            // The old one goes on for a while: it does not know yet that it is not the master.
            const old = service;
            service = await begin();
            if (pick % 2 === 0) old.close();
          }
          await clock.advance(pick);
        }
        for (const master of all) master.troubled.isAway = false;
        service = await begin();
        while (service.queue.counts().phase === 'train') {
          await work(service);
          for (const master of all) master.troubled.landLate();
        }
        expect(faults).toEqual([]);
        const { ended } = service.queue.totals();
        expect(ended.map(({ done }) => done)).toEqual([4, 4, 4]);
        // A finish whose acknowledgement was lost on the way is done all the same.
        expect(acknowledged.size).toBeLessThanOrEqual(12);
      }),
      { numRuns: 100 },
    );
  });
});
