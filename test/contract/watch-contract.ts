import { expect, it } from 'vitest';
import { follow } from '../../src/store/follow.ts';
import type { Store } from '../../src/store/store.ts';
import { put, storyOf, WatchRecorder } from '../store/support.ts';
import type { ContractWorld } from './store-contract.ts';

export function watchContract(world: ContractWorld): void {
  it('tells of each change under the prefix once, in order, in whole revisions', async () => {
    const { store, other, prefix } = world;
    const { revision } = await put(store, `${prefix}before`, '0');
    const watches = [store, other].map((side) => new WatchRecorder(side, `${prefix}a`, revision + 1n));
    await put(store, `${prefix}a/1`, '1');
    await put(store, `${prefix}b`, 'not watched');
    await other.txn({
      if: [],
      then: [{ put: `${prefix}a/2`, value: '2' }, { delete: `${prefix}a/1` }, { put: `${prefix}c`, value: '-' }],
    });
    await put(store, `${prefix}a/end`, '');
    for (const watch of watches) {
      await watch.until((story) => story.includes(`${prefix}a/end=`));
      expect(watch.story).toEqual([`${prefix}a/1=1`, `${prefix}a/2=2`, `-${prefix}a/1`, `${prefix}a/end=`]);
      expect(watch.revisions).toHaveLength(3);
      for (const { revision: at, events } of watch.revisions) {
        for (const event of events) {
          expect(event.type === 'put' ? event.entry.modRevision : event.modRevision).toBe(at);
        }
      }
      watch.cancel();
    }
  });

  it('tells of the past from any revision that is kept', async () => {
    const { store, other, prefix } = world;
    const revisions = [];
    for (let i = 0; i < 5; i++) revisions.push((await put(store, `${prefix}a`, `${i}`)).revision);
    const watch = new WatchRecorder(other, prefix, revisions[2]!);
    await watch.until((story) => story.length >= 3);
    expect(watch.story).toEqual([2, 3, 4].map((i) => `${prefix}a=${i}`));
    watch.cancel();
  });

  it('says nothing after it was cancelled', async () => {
    const { store, other, prefix } = world;
    const { revision } = await put(store, `${prefix}a`, '0');
    const cancelled = new WatchRecorder(other, prefix, revision + 1n);
    const witness = new WatchRecorder(other, prefix, revision + 1n);
    await put(store, `${prefix}a`, '1');
    await Promise.all([cancelled, witness].map((watch) => watch.until((story) => story.length === 1)));
    cancelled.cancel();
    cancelled.cancel();
    await put(store, `${prefix}a`, '2');
    await witness.until((story) => story.length === 2);
    expect(cancelled.story).toHaveLength(1);
    witness.cancel();
  });

  it('loses nothing when many connections write at once', async () => {
    const { store, other, prefix } = world;
    const { revision } = await put(store, `${prefix}start`, '');
    const watch = new WatchRecorder(other, prefix, revision + 1n);
    const write = (side: Store, i: number) => put(side, `${prefix}${i % 7}`, `${i}`);
    await Promise.all(Array.from({ length: 200 }, (_, i) => write(i % 2 === 0 ? store : other, i)));
    await watch.until((story) => story.length >= 200);
    expect(new Set(watch.story).size).toBe(200);
    const seen = watch.revisions.map((one) => one.revision);
    expect(seen).toEqual([...new Set(seen)].sort((a, b) => (a < b ? -1 : 1)));
    watch.cancel();
  });

  it('ends a watch whose past was compacted, and says so', async () => {
    const { store, other, prefix, harness } = world;
    const { revision } = await put(store, `${prefix}a`, '1');
    const last = await put(store, `${prefix}a`, '2');
    await harness.compact(last.revision);
    const watch = new WatchRecorder(other, prefix, revision);
    expect(await watch.ended).toMatchObject({ code: 'StoreCompacted' });
    expect(watch.story).toEqual([]);
    const next = new WatchRecorder(other, prefix, last.revision + 1n);
    await put(store, `${prefix}a`, '3');
    await next.until((story) => story.length === 1);
    next.cancel();
  });

  it('mirrors a prefix: first the state, then every change', async () => {
    const { store, other, prefix, harness } = world;
    await put(store, `${prefix}a`, '1');
    const story: string[] = [];
    let wake = (): void => {};
    const until = async (length: number): Promise<void> => {
      while (story.length < length) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    };
    const tell = (text: string): void => {
      story.push(text);
      wake();
    };
    const handlers = {
      onSnapshot: (entries: readonly { key: string; value: string }[]) =>
        tell(`state: ${entries.map((entry) => `${entry.key}=${entry.value}`)}`),
      onEvents: (events: readonly Parameters<typeof storyOf>[0][]) => tell(events.map(storyOf).join()),
      onEnd: (error: Error) => tell(`end: ${error.message}`),
    };
    const cancel = follow(other, prefix, handlers, harness.clock);
    await until(1);
    await put(store, `${prefix}a`, '2');
    await store.txn({ if: [], then: [{ put: `${prefix}b`, value: '3' }, { delete: `${prefix}a` }] });
    await until(3);
    expect(story).toEqual([`state: ${prefix}a=1`, `${prefix}a=2`, `${prefix}b=3,-${prefix}a`]);
    cancel();
  });
}
