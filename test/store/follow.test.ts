import { describe, expect, it } from 'vitest';
import { PaddletError } from '../../src/base/errors.ts';
import { follow } from '../../src/store/follow.ts';
import { MemoryStore, MemoryStoreData } from '../../src/store/memory-store.ts';
import type { WatchHandlers } from '../../src/store/store.ts';
import { FakeClock, put, storyOf } from './support.ts';

async function world() {
  const clock = new FakeClock();
  const data = new MemoryStoreData({ clock });
  const store = new MemoryStore(data);
  const faulty = new MemoryStore(data);
  const state = { listError: undefined as Error | undefined, watch: undefined as WatchHandlers | undefined };
  const { range } = faulty;
  faulty.range = async (query) => {
    if (state.listError !== undefined) throw state.listError;
    return range(query);
  };
  faulty.watch = (prefix, from, handlers) => {
    state.watch = handlers;
    return MemoryStore.prototype.watch.call(faulty, prefix, from, handlers);
  };
  const story: string[] = [];
  await put(store, '/p/a', '1');
  const start = () =>
    follow(
      faulty,
      '/p/',
      {
        onSnapshot: (entries) => story.push(`state ${entries.map((entry) => entry.value)}`),
        onEvents: (events) => story.push(events.map(storyOf).join()),
        onEnd: (error) => story.push(`end ${(error as PaddletError).code}`),
        onWaiting: (error) => story.push(`waiting ${error.code}`),
      },
      clock,
    );
  return { clock, data, store, state, story, start };
}

describe('follow', () => {
  it('waits for a store that is away, and says so', async () => {
    const { clock, state, story, start } = await world();
    state.listError = new PaddletError('StoreUnavailable', 'away');
    const cancel = start();
    await clock.advance(0);
    expect(story).toEqual(['waiting StoreUnavailable']);
    state.listError = undefined;
    await clock.advance(100);
    expect(story).toEqual(['waiting StoreUnavailable', 'state 1']);
    cancel();
  });

  it('lists again when the watch was compacted', async () => {
    const { clock, store, state, story, start } = await world();
    const cancel = start();
    await clock.advance(0);
    state.watch!.onEnd(new PaddletError('StoreCompacted', 'gone'));
    await put(store, '/p/a', '2');
    await clock.advance(100);
    await put(store, '/p/a', '3');
    await clock.advance(0);
    expect(story.filter((line) => line.startsWith('state'))).toEqual(['state 1', 'state 2']);
    expect(story.at(-1)).toBe('/p/a=3');
    cancel();
  });

  it('ends when the store was replaced', async () => {
    const { clock, state, story, start } = await world();
    start();
    await clock.advance(0);
    state.watch!.onEnd(new PaddletError('StoreReplaced', 'wiped'));
    await clock.advance(10_000);
    expect(story).toEqual(['state 1', 'end StoreReplaced']);
  });

  it('ends with what its handler cannot make sense of', async () => {
    const { clock, store } = await world();
    const story: string[] = [];
    const read = (value: string | undefined): void => {
      if (value === 'odd') throw new PaddletError('StoreValueInvalid', 'odd');
      story.push(`saw ${value}`);
    };
    follow(
      store,
      '/p/',
      {
        onSnapshot: ([entry]) => read(entry?.value),
        onEvents: ([event]) => read(event?.type === 'put' ? event.entry.value : undefined),
        onEnd: (error) => story.push(`end ${(error as PaddletError).code}`),
      },
      clock,
    );
    await clock.advance(0);
    await put(store, '/p/a', 'odd');
    await put(store, '/p/a', 'even');
    await clock.advance(1_000);
    expect(story).toEqual(['saw 1', 'end StoreValueInvalid']);
  });

  it('is silent after the cancel, while listing and while watching', async () => {
    const { clock, store, story, start } = await world();
    start()();
    await clock.advance(1_000);
    expect(story).toEqual([]);
    const cancel = start();
    await clock.advance(0);
    cancel();
    await put(store, '/p/a', '2');
    await clock.advance(1_000);
    expect(story).toEqual(['state 1']);
    expect(clock.pendingTimers).toBe(0);
  });
});
