/** Save before you speak, once and in order, whatever the store does (docs/design.md §2, §4). */
import { describe, expect, it } from 'vitest';
import { LIMITS } from '../../../../src/base/limits.ts';
import { loadQueue } from '../../../../src/cluster/job/queue-store.ts';
import { noSums, type QueueChange } from '../../../../src/core/tasks/state.ts';
import { aStore, Master, settled } from './service-rig.ts';

const block = (number: number, read: number, pass = 0, trainer = 'ann'): QueueChange => ({
  kind: 'block',
  pass,
  block: number,
  value: {
    done: '00',
    open: { [number * 256]: { last: 1, failures: 0, attempts: [{ attempt: 1, trainer }] } },
    sums: { ...noSums(), read },
  },
});

const passChange = (pass: number): QueueChange[] => [
  { kind: 'totals', pass, value: { tasks: 1, done: 1, discarded: 0, sums: noSums() } },
  { kind: 'state', value: { phase: 'train', pass: pass + 1 } },
  { kind: 'dropBlocks', pass },
];

function aMaster(): { master: Master; released: string[]; save: (name: string, ...changes: QueueChange[]) => void } {
  const { clock, data } = aStore();
  const master = new Master(clock, data);
  const released: string[] = [];
  const save = (name: string, ...changes: QueueChange[]): void =>
    master.pipeline.save(changes, [() => void released.push(name)]);
  return { master, released, save };
}

/** The reads that another master would find, by block. */
async function found(master: Master): Promise<Record<number, number>> {
  const saved = await loadQueue(master.context.store, master.context.keys);
  return Object.fromEntries([...(saved?.blocks ?? [])].map(([number, { sums }]) => [number, sums.read]));
}

describe('an answer', () => {
  it('goes after its change is saved, not before', async () => {
    const { master, released, save } = aMaster();
    master.troubled.hold();
    save('one', block(0, 1));
    await settled();
    expect(released).toEqual([]);
    expect(await found(master)).toEqual({});
    master.troubled.releaseHold();
    await settled();
    expect(released).toEqual(['one']);
    expect(await found(master)).toEqual({ 0: 1 });
  });

  it('that rests on nothing new goes after what was said before it', async () => {
    const { master, released, save } = aMaster();
    master.troubled.hold();
    save('saving', block(0, 1));
    save('refusal');
    await settled();
    expect(released).toEqual([]);
    master.troubled.releaseHold();
    await settled();
    expect(released).toEqual(['saving', 'refusal']);
    save('at once');
    await settled();
    expect(released.at(-1)).toBe('at once');
  });
});

describe('what gathers while a transaction is on its way', () => {
  it('is written in one, a value changed often only once, as it was at last', async () => {
    const { master, released, save } = aMaster();
    master.troubled.hold();
    save('first', block(0, 1));
    await settled();
    for (let i = 2; i <= 9; i++) save(`${i}`, block(0, i), block(1, 10 * i));
    master.troubled.releaseHold();
    await settled();
    expect(master.troubled.writes).toHaveLength(2);
    expect(released).toEqual(['first', '2', '3', '4', '5', '6', '7', '8', '9']);
    expect(await found(master)).toEqual({ 0: 9, 1: 90 });
  });

  it('across a change of pass: the old pass goes, the new one stays', async () => {
    const { master, save } = aMaster();
    save('a', block(0, 1), block(1, 1));
    await settled();
    master.troubled.hold();
    save('b', block(2, 1));
    await settled();
    save('c', block(0, 2), block(3, 2));
    save('d', ...passChange(0), block(1, 7, 1));
    save('e', block(1, 8, 1));
    master.troubled.releaseHold();
    await settled();
    expect(master.troubled.writes).toHaveLength(3);
    expect(await found(master)).toEqual({ 1: 8 });
    const { keys } = master.context;
    expect(master.troubled.data.range({ prefix: keys.taskBlocks(0) }).entries).toEqual([]);
    expect(master.ends).toEqual([]);
  });

  it('over several changes of pass leaves the last', async () => {
    const { master, save } = aMaster();
    master.troubled.hold();
    save('a', block(0, 1));
    await settled();
    for (let pass = 0; pass < 3; pass++) save(`${pass}`, ...passChange(pass), block(0, pass, pass + 1));
    master.troubled.releaseHold();
    await settled();
    const saved = await loadQueue(master.context.store, master.context.keys);
    expect(saved?.state).toEqual({ phase: 'train', pass: 3 });
    expect([...saved!.totals.keys()]).toEqual([0, 1, 2]);
    expect(await found(master)).toEqual({ 0: 2 });
    expect(master.troubled.data.range({ prefix: `${master.context.keys.tasksPrefix}blocks/` }).entries).toHaveLength(1);
  });
});

describe('more than one transaction can hold', () => {
  it('is cut by operations, and its answers go after the last part', async () => {
    const { master, released, save } = aMaster();
    const blocks = Array.from({ length: 300 }, (_, i) => block(i, i));
    save('many', ...blocks);
    await settled();
    expect(master.ends).toEqual([]);
    expect(master.troubled.writes.length).toBe(3);
    expect(released).toEqual(['many']);
    expect(Object.keys(await found(master))).toHaveLength(300);
  });

  it('is cut by bytes', async () => {
    const { master, save } = aMaster();
    const name = 'é'.repeat(100_000);
    save('large', ...Array.from({ length: 20 }, (_, i) => block(i, i, 0, name)));
    await settled();
    expect(master.ends).toEqual([]);
    expect(20 * 2 * name.length).toBeGreaterThan(LIMITS.storeTxnBytes);
    expect(master.troubled.writes.length).toBeGreaterThan(1);
    expect(Object.keys(await found(master))).toHaveLength(20);
  });

  it('is written so that any part of it is sound: discards, totals, state, old blocks, new blocks', async () => {
    const { master, save } = aMaster();
    const blocks = Array.from({ length: 130 }, (_, i) => block(i, i, 1));
    const report = { task: 3, pass: 0, records: 1, trainer: 'ann', code: 'X', error: '', where: '' };
    save('all', ...blocks, ...passChange(0), { kind: 'discarded', task: 3, value: report });
    await settled();
    const { keys } = master.context;
    const [first, second] = master.troubled.writes.map(({ txn }) =>
      txn.then.map((op) => ('put' in op ? op.put : 'deletePrefix' in op ? op.deletePrefix : '')),
    );
    expect(first!.slice(0, 3)).toEqual([keys.discardedTask(3), keys.passTotals(0), keys.taskBlocks(0)]);
    expect(first).toContain(keys.tasksState);
    expect(second!.slice(0, -1).every((key) => key.startsWith(keys.taskBlocks(1)))).toBe(true);
    for (const { txn } of master.troubled.writes) {
      const put = txn.then.find((op) => 'put' in op && op.put === keys.tasksState);
      expect(put).toMatchObject({ value: JSON.stringify({ phase: 'train', pass: 1 }) });
    }
  });
});

describe('a store that is away', () => {
  it('for a while costs time, and nothing else', async () => {
    const { master, released, save } = aMaster();
    master.troubled.isAway = true;
    save('one', block(0, 1));
    await master.clock.advance(30_000);
    save('two', block(0, 2));
    save('three', block(1, 3));
    await master.clock.advance(30_000);
    expect(released).toEqual([]);
    expect(master.log.messages.filter((message) => message.startsWith('waiting for the store')).length).toBeGreaterThan(
      1,
    );
    master.troubled.isAway = false;
    await master.clock.advance(2_000);
    expect(released).toEqual(['one', 'two', 'three']);
    expect(await found(master)).toEqual({ 0: 2, 1: 3 });
    expect(master.ends).toEqual([]);
  });

  it.each(['unavailable', 'unknownLanded', 'unknownLost', 'unknownLate'] as const)(
    'in the middle of a save (%s) has it saved once',
    async (trouble) => {
      const { master, released, save } = aMaster();
      save('one', block(0, 1));
      await settled();
      master.troubled.next(trouble, trouble);
      save('two', block(0, 2));
      await master.clock.advance(10_000);
      save('three', block(0, 3));
      await master.clock.advance(10_000);
      expect(released).toEqual(['one', 'two', 'three']);
      expect(master.troubled.writes.filter(({ succeeded }) => succeeded)).toHaveLength(3);
      expect(master.ends).toEqual([]);
    },
  );

  it('lets no try that was given up land after what came later', async () => {
    const { master, released, save } = aMaster();
    save('one', block(0, 1));
    await settled();
    master.troubled.next('unknownLate', 'unknownLate');
    save('two', block(0, 2));
    await master.clock.advance(10_000);
    save('three', block(0, 3));
    await settled();
    expect(released).toEqual(['one', 'two', 'three']);
    expect(master.troubled.landLate()).toEqual([false, false]);
    expect(await found(master)).toEqual({ 0: 3 });
    save('four', block(0, 4));
    await settled();
    expect(await found(master)).toEqual({ 0: 4 });
  });

  it('that says nothing until the end is given up when the master is to end', async () => {
    const { master, released, save } = aMaster();
    master.troubled.isAway = true;
    save('one', block(0, 1));
    await master.clock.advance(1_000);
    master.stopSignal.abort();
    await master.clock.advance(1_000);
    expect(master.ends).toMatchObject([{ code: 'Interrupted' }]);
    expect(released).toEqual([]);
  });
});

describe('a master that lost the lock', () => {
  it('is told LeaseGone; it answers nothing and saves nothing, then or later', async () => {
    const { clock, data } = aStore();
    const old = new Master(clock, data);
    const released: string[] = [];
    old.pipeline.save([block(0, 1)], [() => void released.push('before')]);
    await settled();
    const next = new Master(clock, data);
    old.pipeline.save([block(0, 2)], [() => void released.push('after')]);
    await settled();
    old.pipeline.save([block(0, 3)], [() => void released.push('later')]);
    old.pipeline.save([], [() => void released.push('refusal')]);
    await settled();
    expect(old.ends).toMatchObject([{ code: 'LeaseGone' }]);
    expect(released).toEqual(['before']);
    expect(await found(next)).toEqual({ 0: 1 });
  });

  it('and the one after it never both write: only what the new one saves is there', async () => {
    const { clock, data } = aStore();
    const old = new Master(clock, data);
    old.troubled.hold();
    old.pipeline.save([block(0, 1), block(1, 1)], []);
    await settled();
    const next = new Master(clock, data);
    next.pipeline.save([block(0, 9)], []);
    await settled();
    old.troubled.releaseHold();
    await settled();
    expect(old.ends).toMatchObject([{ code: 'LeaseGone' }]);
    expect(next.ends).toEqual([]);
    expect(await found(next)).toEqual({ 0: 9 });
  });

  it('does not take what the new one saved for its own save, of which it had no answer', async () => {
    const { clock, data } = aStore();
    const old = new Master(clock, data);
    const released: string[] = [];
    old.pipeline.save([block(0, 1)], []);
    await settled();
    old.troubled.next('unknownLost');
    old.pipeline.save([block(0, 2)], [() => void released.push('never saved')]);
    await settled();
    const next = new Master(clock, data);
    next.pipeline.save([block(1, 9)], []);
    await settled();
    await clock.advance(10_000);
    expect(old.ends).toMatchObject([{ code: 'LeaseGone' }]);
    expect(released).toEqual([]);
    expect(await found(next)).toEqual({ 0: 1, 1: 9 });
  });

  it('leaves tries behind that land as little as it does', async () => {
    const { clock, data } = aStore();
    const old = new Master(clock, data);
    old.pipeline.save([block(0, 1)], []);
    await settled();
    old.troubled.next('unknownLate');
    old.pipeline.save([block(0, 2)], []);
    await settled();
    const next = new Master(clock, data);
    expect(old.troubled.landLate()).toEqual([false]);
    expect(await found(next)).toEqual({ 0: 1 });
  });
});

describe('a value that another changes under the master', () => {
  it('is refused loudly: no process but the master writes it', async () => {
    const { master, released, save } = aMaster();
    save('one', block(0, 1));
    await settled();
    master.troubled.data.txn({ if: [], then: [{ put: master.context.keys.tasksState, value: '{}' }] });
    save('two', block(0, 2));
    await settled();
    expect(master.ends).toMatchObject([{ code: 'StoreInvalid' }]);
    expect(released).toEqual(['one']);
  });
});
