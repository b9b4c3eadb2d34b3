/** Who is told what of a job, and when it is looked at. */
import { describe, expect, it } from 'vitest';
import { PaddletError } from '../../../src/base/errors.ts';
import { PageFeed } from '../../../src/commands/page/page-feed.ts';
import type { Looked } from '../../../src/commands/page/page-looks.ts';
import type { PageCurve, PageData, PageMessage } from '../../../src/page/page-data.ts';
import type { Viewer } from '../../../src/protocol/messages/channel.ts';
import { ManualClock, MemoryLog } from '../../protocol/rig.ts';

const EMPTY = { version: '1', servedBy: 'master', jobs: [] } as const;
const curve = (...trained: number[]): PageCurve => ({ name: 'train', trained, metrics: { logloss: trained } });

class FakeViewer implements Viewer {
  readonly path = '/view';
  readonly told: PageData[] = [];
  isBusy = false;
  #close = (): void => {};

  async send(text: string): Promise<boolean> {
    if (this.isBusy) return false;
    const message = JSON.parse(text) as PageMessage;
    if (message.type === 'data') this.told.push(message.data);
    return true;
  }

  onClosed(run: () => void): void {
    this.#close = run;
  }

  leave(): void {
    this.#close();
  }
}

function scene() {
  const clock = new ManualClock();
  const log = new MemoryLog();
  let looks = 0;
  let rests = 0;
  const curves = [curve(1, 2)];
  let next: () => Promise<Looked> = async () => ({ data: { ...EMPTY, time: looks }, curves });
  const look = (): Promise<Looked> => {
    looks++;
    return next();
  };
  const rest = (): void => {
    rests++;
  };
  const feed = new PageFeed({ host: { clock, log }, empty: EMPTY, look, rest });
  return {
    ...{ clock, log, feed },
    looks: () => looks,
    rests: () => rests,
    then: (run: () => Promise<Looked>) => {
      next = run;
    },
    /** Lets time pass, and all that is due happen. */
    pass: async (ms: number) => {
      clock.advance(ms);
      await settled();
    },
  };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a feed', () => {
  it('looks only while somebody does, once for all, and soon again at first', async () => {
    const { feed, looks, rests, pass } = scene();
    await pass(60_000);
    expect(looks()).toBe(0);
    const [first, second] = [new FakeViewer(), new FakeViewer()];
    feed.add(first);
    feed.add(second);
    await settled();
    expect(looks()).toBe(1);
    await pass(500);
    expect(looks()).toBe(2);
    await pass(1_999);
    expect(looks()).toBe(2);
    await pass(1);
    expect(looks()).toBe(3);
    expect([first.told.length, second.told.length]).toEqual([3, 3]);
    first.leave();
    second.leave();
    await pass(2_000);
    await pass(60_000);
    expect([looks(), rests()]).toEqual([3, 1]);
    feed.add(new FakeViewer());
    await settled();
    expect(looks()).toBe(4);
  });

  it('tells a newcomer what is known, without another look', async () => {
    const { feed, looks, pass } = scene();
    feed.add(new FakeViewer());
    await settled();
    await pass(500);
    await pass(1_000);
    const late = new FakeViewer();
    feed.add(late);
    await settled();
    expect(looks()).toBe(2);
    expect(late.told).toMatchObject([{ time: 2, curves: [curve(1, 2)] }]);
  });

  it('sends curves when they have changed, to each viewer that has not got them', async () => {
    const { feed, pass, then } = scene();
    const [quick, busy] = [new FakeViewer(), new FakeViewer()];
    feed.add(quick);
    feed.add(busy);
    await settled();
    busy.isBusy = true;
    const more = [curve(1, 2, 3)];
    then(async () => ({ data: { ...EMPTY, time: 2 }, curves: more }));
    await pass(500);
    busy.isBusy = false;
    await pass(2_000);
    expect(quick.told.map(({ curves }) => curves?.[0]?.trained.length)).toEqual([2, 3, undefined]);
    expect(busy.told.map(({ curves }) => curves?.[0]?.trained.length)).toEqual([2, 3]);
  });

  it('says why it knows nothing newer, beside what it knew last', async () => {
    const { feed, pass, then } = scene();
    const viewer = new FakeViewer();
    feed.add(viewer);
    await settled();
    then(() => Promise.reject(new PaddletError('StoreUnavailable', 'the store is unreachable')));
    await pass(500);
    expect(viewer.told.at(-1)).toMatchObject({ time: 1, problem: 'the store is unreachable' });
    then(async () => ({ data: { ...EMPTY, time: 3 }, curves: [] }));
    await pass(2_000);
    expect(viewer.told.at(-1)).toMatchObject({ time: 3 });
    expect(viewer.told.at(-1)).not.toHaveProperty('problem');
  });

  it('waits for a look that hangs, and begins no second one', async () => {
    const { feed, looks, pass, then } = scene();
    const viewer = new FakeViewer();
    const hanging = Promise.withResolvers<Looked>();
    then(() => hanging.promise);
    feed.add(viewer);
    await settled();
    await pass(6_000);
    expect(viewer.told).toMatchObject([{ problem: expect.stringContaining('did not answer in time'), jobs: [] }]);
    await pass(500);
    await pass(6_000);
    expect(looks()).toBe(1);
    // What comes of it is shown, however late it comes.
    hanging.resolve({ data: { ...EMPTY, time: 9 }, curves: [] });
    then(() => new Promise(() => {}));
    await pass(2_000);
    expect(viewer.told.at(-1)).toMatchObject({ time: 9 });
    expect(looks()).toBe(1);
  });

  it('ends at once when it is closed, whatever hangs', async () => {
    const { feed, looks, pass, then } = scene();
    const viewer = new FakeViewer();
    feed.add(viewer);
    await settled();
    then(() => new Promise(() => {}));
    await pass(500);
    await feed.close();
    expect(looks()).toBe(2);
    expect(viewer.told).toHaveLength(1);
  });

  it('outlives a viewer whose sending fails', async () => {
    const { feed, log, looks, pass } = scene();
    const broken = new FakeViewer();
    broken.send = () => Promise.reject(new TypeError('broken'));
    feed.add(broken);
    await settled();
    await pass(500);
    expect(looks()).toBe(2);
    expect(log.lines).toContainEqual(expect.stringContaining('the page has a bug'));
  });

  it('logs a bug, and goes on: a page must not end the training', async () => {
    const { feed, log, pass, then } = scene();
    const viewer = new FakeViewer();
    then(() => Promise.reject(new TypeError('a bug')));
    feed.add(viewer);
    await settled();
    expect(viewer.told.at(-1)?.problem).toContain('a bug');
    expect(log.lines).toContainEqual(expect.stringContaining('the page has a bug'));
    then(async () => ({ data: { ...EMPTY, time: 5 }, curves: [] }));
    await pass(500);
    expect(viewer.told.at(-1)).toMatchObject({ time: 5 });
  });

  it('shows the end: it looks once more when it is closed', async () => {
    const { feed, looks, then } = scene();
    const viewer = new FakeViewer();
    feed.add(viewer);
    await settled();
    then(async () => ({ data: { ...EMPTY, time: 7 }, curves: [] }));
    await feed.close();
    expect(looks()).toBe(2);
    expect(viewer.told.at(-1)).toMatchObject({ time: 7 });
    await feed.close();
  });
});
