/** What makes each mini-batch count once on each shard (docs/modes.md). */

import { describe, expect, it } from 'vitest';
import { PaddletError } from '../../../src/base/errors.ts';
import { bitmapToText, createBitmap } from '../../../src/core/bitmap.ts';
import { CLOSED, createLedger, type Ledger, type PushPosition } from '../../../src/core/shard/ledger.ts';
import * as fc from '../../properties.ts';

const BATCH = 3;
/** Tasks of a job: task t has t % 4 + 1 pushes, with a bad record in each third push. */
const pushesOf = (task: number): number => (task % 4) + 1;
const goodOf = (task: number, pushes: number): number => BATCH * pushes - Math.floor((pushes + task) / 3);
const recordsOf = (task: number): number => BATCH * pushesOf(task);

function pushAt(pass: number, task: number, push: number): PushPosition {
  return { pass, task, push, last: push === pushesOf(task) - 1, good: goodOf(task, push + 1) };
}

function apply(ledger: Ledger, push: PushPosition): void {
  expect(ledger.judge(push)).toEqual({ outcome: 'apply' });
  ledger.advance(push);
}

function finish(ledger: Ledger, pass: number, task: number): void {
  for (let push = 0; push < pushesOf(task); push++) apply(ledger, pushAt(pass, task, push));
}

describe('a push', () => {
  it('is applied once: the same again is a duplicate, even when its task is closed', () => {
    const ledger = createLedger(4);
    for (let push = 0; push < 4; push++) {
      apply(ledger, pushAt(0, 3, push));
      expect(ledger.judge(pushAt(0, 3, push))).toEqual({ outcome: 'duplicate' });
      expect(ledger.judge(pushAt(0, 3, 0))).toEqual({ outcome: 'duplicate' });
    }
    expect(ledger.position(0, 3)).toBe(CLOSED);
  });

  it('that comes too early is told the one wanted', () => {
    const ledger = createLedger(4);
    apply(ledger, pushAt(0, 3, 0));
    expect(ledger.judge(pushAt(0, 3, 3))).toEqual({ outcome: 'early', want: 1 });
    expect(ledger.judge(pushAt(7, 3, 1))).toEqual({ outcome: 'early', want: 0 });
    expect(ledger.position(0, 3)).toBe(1);
  });

  it('of one task says nothing of another, nor of another pass', () => {
    const ledger = createLedger(4);
    finish(ledger, 1, 2);
    expect(ledger.position(1, 2)).toBe(CLOSED);
    expect(ledger.position(0, 2)).toBe(0);
    expect(ledger.position(1, 3)).toBe(0);
  });

  it('is the same for a new attempt, which resumes where the last one stood', () => {
    const ledger = createLedger(4);
    apply(ledger, pushAt(0, 3, 0));
    apply(ledger, pushAt(0, 3, 1));
    const resumed = createLedger(4, ledger.encode());
    expect(resumed.position(0, 3)).toBe(2);
    apply(resumed, pushAt(0, 3, 2));
  });

  it('advances only when it was the one wanted: anything else is a bug', () => {
    const ledger = createLedger(4);
    expect(() => ledger.advance(pushAt(0, 3, 1))).toThrow('only the push wanted next');
    expect(() => ledger.judge(pushAt(0, 4, 0))).toThrow('task 4 is one of 4');
  });
});

describe('a task that is discarded', () => {
  it('is closed at its position; its later pushes are duplicates', () => {
    const ledger = createLedger(4);
    apply(ledger, pushAt(0, 3, 0));
    ledger.close(0, 3, recordsOf(3));
    expect(ledger.judge(pushAt(0, 3, 1))).toEqual({ outcome: 'duplicate' });
    expect(ledger.account()).toMatchObject({ applied: goodOf(3, 1), discarded: recordsOf(3) - goodOf(3, 1) });
  });

  it('may be closed again and again, and after it was finished', () => {
    const ledger = createLedger(4);
    finish(ledger, 0, 3);
    const before = ledger.encode();
    ledger.close(0, 3, recordsOf(3));
    ledger.close(0, 3, 4711);
    expect(ledger.encode()).toEqual(before);
  });

  it('cannot have fewer records than were applied of it', () => {
    const ledger = createLedger(4);
    apply(ledger, pushAt(0, 3, 2 - 2));
    const close = (): void => ledger.close(0, 3, 1);
    expect(close).toThrow(expect.objectContaining({ code: 'BadMessage' }));
    expect(ledger.position(0, 3)).toBe(1);
  });
});

describe('a pass that is complete', () => {
  it('collapses to the watermark: what it takes does not grow with the passes', () => {
    const ledger = createLedger(50);
    const sizes = [];
    for (let pass = 0; pass < 20; pass++) {
      for (let task = 0; task < 50; task++) finish(ledger, pass, task);
      sizes.push(ledger.encode().byteLength);
    }
    expect(ledger.watermark()).toBe(20);
    expect(ledger.account().passes).toEqual([]);
    expect(ledger.closedTasks(19)).toBeUndefined();
    expect(ledger.closedTasks(20)).toBe(bitmapToText(createBitmap(50)));
    expect((sizes[19]! - sizes[0]!) / 19).toBeLessThan(40);
  });

  it('waits for the one before it, and then both collapse', () => {
    const ledger = createLedger(2);
    finish(ledger, 1, 0);
    finish(ledger, 1, 1);
    finish(ledger, 0, 0);
    expect(ledger.watermark()).toBe(0);
    finish(ledger, 0, 1);
    expect(ledger.watermark()).toBe(2);
  });
});

describe('a saved ledger', () => {
  const saved = (): Record<string, unknown> => {
    const ledger = createLedger(4);
    for (let task = 0; task < 4; task++) finish(ledger, 0, task);
    finish(ledger, 1, 0);
    apply(ledger, pushAt(1, 3, 0));
    apply(ledger, pushAt(2, 1, 0));
    return JSON.parse(new TextDecoder().decode(ledger.encode())) as Record<string, unknown>;
  };
  const bytesOf = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));
  const [one, two] = saved().passes as [Record<string, unknown>, Record<string, unknown>];

  it('is read back to the byte', () => {
    const bytes = bytesOf(saved());
    expect(createLedger(4, bytes).encode()).toEqual(bytes);
  });

  it.each<[string, Uint8Array]>([
    ['no bytes', new Uint8Array(0)],
    ['not UTF-8', new Uint8Array([0xff, 0xfe])],
    ['cut off', bytesOf(saved()).subarray(0, 40)],
    ['not an object', bytesOf([])],
    ['another version', bytesOf({ ...saved(), version: 2 })],
    ['another number of tasks', bytesOf({ ...saved(), tasks: 5 })],
    ['a watermark that lies', bytesOf({ ...saved(), watermark: 2 })],
    ['a negative count', bytesOf({ ...saved(), collapsed: [{ good: -1, discarded: 0 }] })],
    ['a count that is none', bytesOf({ ...saved(), collapsed: [{ good: 0.5, discarded: 0 }] })],
    ['a pass below the watermark', bytesOf({ ...saved(), passes: [{ ...one, pass: 0 }] })],
    ['a pass twice', bytesOf({ ...saved(), passes: [one, one] })],
    ['passes out of order', bytesOf({ ...saved(), passes: [two, one] })],
    ['a bitmap of another size', bytesOf({ ...saved(), passes: [{ ...one, closed: '0100' }] })],
    ['a closed task beyond the last', bytesOf({ ...saved(), passes: [{ ...one, closed: '11' }] })],
    ['a bitmap in capitals', bytesOf({ ...saved(), passes: [{ ...one, closed: '0A' }] })],
    ['a complete pass above the watermark', bytesOf({ ...saved(), passes: [{ ...one, closed: '0f', open: [] }] })],
    ['an open task beyond the last', bytesOf({ ...saved(), passes: [{ ...one, open: [[4, 1, 1]] }] })],
    ['a task open and closed', bytesOf({ ...saved(), passes: [{ ...one, open: [[0, 1, 1]] }] })],
    [
      'an open task twice',
      bytesOf({
        ...saved(),
        passes: [
          {
            ...one,
            open: [
              [3, 1, 1],
              [3, 2, 1],
            ],
          },
        ],
      }),
    ],
    ['an open task without a push', bytesOf({ ...saved(), passes: [{ ...one, open: [[3, 0, 0]] }] })],
    ['a field too many', bytesOf({ ...saved(), more: true })],
  ])('that is damaged is refused: %s', (_, bytes) => {
    const load = (): Ledger => createLedger(4, bytes);
    expect(load).toThrow(PaddletError);
    expect(load).toThrow(expect.objectContaining({ code: 'CheckpointCorrupt' }));
  });

  it('of any bytes is read or refused, never a crash', () => {
    const text = JSON.stringify(saved());
    const damaged = fc
      .tuple(fc.nat(text.length - 1), fc.constantFrom('0', '9', '-', '.', 'e', '"', '[', ']', '{', ',', 'x'))
      .map(([at, character]) => text.slice(0, at) + character + text.slice(at + 1));
    fc.assert(
      fc.property(damaged, (value) => {
        try {
          const bytes = new TextEncoder().encode(value);
          const ledger = createLedger(4, bytes);
          expect(createLedger(4, ledger.encode()).encode()).toEqual(ledger.encode());
        } catch (error) {
          expect(error).toMatchObject({ code: 'CheckpointCorrupt' });
        }
      }),
      { numRuns: 500 },
    );
  });
});

/** The same by sets of what was applied, in the simplest way. */
class NaiveLedger {
  readonly applied = new Map<string, PushPosition>();
  readonly closed = new Map<string, number>();
  readonly tasks: number;

  constructor(tasks: number) {
    this.tasks = tasks;
  }

  next(pass: number, task: number): number {
    if (this.isClosed(pass, task)) return CLOSED;
    let next = 0;
    while (this.applied.has(`${pass}/${task}/${next}`)) next += 1;
    return next;
  }

  isClosed(pass: number, task: number): boolean {
    return this.closed.has(`${pass}/${task}`) || this.applied.has(`${pass}/${task}/${pushesOf(task) - 1}`);
  }

  good(pass: number, task: number): number {
    const last = [...this.applied.values()].filter((one) => one.pass === pass && one.task === task).at(-1);
    return last?.good ?? 0;
  }

  account(passes: number): { applied: number; discarded: number } {
    let applied = 0;
    for (let pass = 0; pass < passes; pass++)
      for (let task = 0; task < this.tasks; task++) applied += this.good(pass, task);
    return { applied, discarded: [...this.closed.values()].reduce((sum, one) => sum + one, 0) };
  }

  watermark(passes: number): number {
    for (let pass = 0; pass < passes; pass++) {
      for (let task = 0; task < this.tasks; task++) if (!this.isClosed(pass, task)) return pass;
    }
    return passes;
  }

  closedTasks(pass: number): string {
    const bitmap = createBitmap(this.tasks);
    for (let task = 0; task < this.tasks; task++) if (this.isClosed(pass, task)) bitmap.add(task);
    return bitmapToText(bitmap);
  }
}

const PASSES = 3;
const events = (tasks: number) =>
  fc.array(
    fc.record({
      kind: fc.constantFrom('next', 'next', 'next', 'next', 'any', 'close', 'reload'),
      pass: fc.nat(PASSES - 1),
      task: fc.nat(tasks - 1),
      push: fc.nat(4),
    }),
    { maxLength: 120, size: 'max' },
  );

describe('any sequence of pushes, retries, early ones, closes and reloads', () => {
  it('is judged and accounted as by a set of what was applied', () => {
    const cases = fc.integer({ min: 1, max: 9 }).chain((tasks) => fc.tuple(fc.constant(tasks), events(tasks)));
    fc.assert(
      fc.property(cases, ([tasks, history]) => {
        let ledger = createLedger(tasks);
        const naive = new NaiveLedger(tasks);
        for (const { kind, pass, task, push } of history) {
          const next = naive.next(pass, task);
          expect(ledger.position(pass, task)).toBe(next);
          if (kind === 'reload') ledger = createLedger(tasks, ledger.encode());
          else if (kind === 'close') {
            if (next !== CLOSED) naive.closed.set(`${pass}/${task}`, recordsOf(task) - naive.good(pass, task));
            ledger.close(pass, task, recordsOf(task));
          } else {
            const number = kind === 'next' && next !== CLOSED ? next : push % pushesOf(task);
            const position = pushAt(pass, task, number);
            const verdict = ledger.judge(position);
            const wanted = next === CLOSED || number < next ? 'duplicate' : number === next ? 'apply' : 'early';
            expect(verdict).toEqual(wanted === 'early' ? { outcome: wanted, want: next } : { outcome: wanted });
            if (wanted === 'apply') {
              ledger.advance(position);
              naive.applied.set(`${pass}/${task}/${number}`, position);
            }
          }
          const { applied, discarded } = ledger.account();
          expect({ applied, discarded }).toEqual(naive.account(PASSES));
          const watermark = naive.watermark(PASSES);
          expect(ledger.watermark()).toBe(watermark);
          expect(ledger.closedTasks(pass)).toBe(pass < watermark ? undefined : naive.closedTasks(pass));
        }
      }),
      { numRuns: 150 },
    );
  });

  it('gives the same bytes on two copies, in whatever order the tasks came', () => {
    const order = fc.shuffledSubarray(Array.from({ length: PASSES * 6 }, (_, i) => i));
    fc.assert(
      fc.property(order, (closed) => {
        const one = createLedger(6);
        const two = createLedger(6);
        for (const i of closed) finish(one, Math.floor(i / 6), i % 6);
        for (const i of [...closed].sort((a, b) => a - b)) finish(two, Math.floor(i / 6), i % 6);
        expect(one.encode()).toEqual(two.encode());
        expect(one.equals(two)).toBe(true);
      }),
    );
  });

  const anyAct = fc.record({
    on: fc.constantFrom('one', 'two', 'both'),
    pass: fc.nat(PASSES - 1),
    task: fc.nat(1),
    close: fc.boolean(),
    good: fc.nat(1),
  });

  it('equals another one that encodes to the same bytes, and is independent of its copy', () => {
    fc.assert(
      fc.property(fc.array(anyAct, { maxLength: 40, size: 'max' }), (acts) => {
        let [one, two] = [createLedger(2), createLedger(2)];
        const isSame = (): boolean => Buffer.compare(one.encode(), two.encode()) === 0;
        for (const { on, pass, task, close, good } of acts) {
          for (const ledger of on === 'both' ? [one, two] : [on === 'one' ? one : two]) {
            const push = ledger.position(pass, task);
            if (push === CLOSED) continue;
            const at = ledger.goodOf(pass, task);
            if (close) ledger.close(pass, task, 100);
            else ledger.advance({ pass, task, push, last: push === 2, good: at + good });
          }
          expect(one.equals(two)).toBe(isSame());
          [one, two] = [two, one];
          const before = Buffer.from(one.encode());
          const copy = one.copy();
          expect(copy.equals(one)).toBe(true);
          expect(Buffer.compare(copy.encode(), before)).toBe(0);
          if (copy.position(1, 0) !== CLOSED) copy.close(1, 0, 100);
          expect(Buffer.compare(one.encode(), before)).toBe(0);
          one = one.copy();
        }
      }),
      { numRuns: 150 },
    );
  });
});
