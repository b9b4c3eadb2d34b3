/** A push that takes a pull along: one request where there were two. */
import { beforeEach, describe, expect, it } from 'vitest';
import { PaddletError } from '../../../../../src/base/errors.ts';
import type { RequestHeader } from '../../../../../src/protocol/messages/all-messages.ts';
import type { PlaceRequest } from '../../../../../src/roles/pserver/replicas/placing.ts';
import { TaskTurns } from '../../../../../src/roles/pserver/replicas/task-turns.ts';
import { createHandler } from '../../../../../src/roles/pserver/serve.ts';
import type { Serving } from '../../../../../src/roles/pserver/serving.ts';
import { createIdRouter } from '../../../../../src/tensor/id-router.ts';
import { push, resetServed, SESSION, SPEC, serving, shards, state } from '../../served-rig.ts';

beforeEach(resetServed);

describe('a push that takes a pull along', () => {
  const withPull = (at: number): RequestHeader =>
    ({ ...push({ push: at }), sparse: [{ table: 0 }], pull: { dense: [], sparse: [{ table: 0 }] } }) as RequestHeader;
  const ids = new Uint8Array(BigUint64Array.of(7n).buffer);
  const segments = [ids, new Uint8Array(Float32Array.of(1, 2).buffer), ids];

  async function exchange(header: RequestHeader, sent: readonly Uint8Array[], current: Serving) {
    const handler = createHandler({ serving: () => current, info: () => ({}), files: () => undefined });
    const segment = (index: number): Uint8Array => sent[index]!;
    const reply = await handler({ header, segmentCount: sent.length, segment, free: () => {} }, SESSION);
    const values = (reply.segments ?? []).map((bytes) => [...new Float32Array(bytes.slice().buffer)]);
    return { header: reply.header, values };
  }

  it('is answered with the values after it, even when it was applied before', async () => {
    const current = serving();
    const before = shards.parameters;
    const first = new Uint8Array(8);
    before.pullSparse(0, ids, first);
    const applied = await exchange(withPull(0), segments, current);
    expect(applied.header).toEqual({ type: 'push', outcome: 'applied', recovery: 3, version: 1 });
    const after = new Uint8Array(8);
    before.pullSparse(0, ids, after);
    expect(after).not.toEqual(first);
    expect(applied.values).toEqual([[...new Float32Array(after.slice().buffer)]]);
    const again = await exchange(withPull(0), segments, current);
    expect(again).toEqual({ ...applied, header: { ...applied.header, outcome: 'duplicate' } });
    expect(state.applied).toBe(1);
  });

  it('that is malformed is refused before anything is applied', async () => {
    const unknown = { ...withPull(0), pull: { dense: [{ parameter: 9 }], sparse: [] } } as RequestHeader;
    for (const [header, sent] of [
      [withPull(0), segments.slice(0, 2)],
      [withPull(0), [...segments.slice(0, 2), new Uint8Array(7)]],
      [unknown, [...segments.slice(0, 2), new Uint8Array(4)]],
    ] as const) {
      await expect(exchange(header, sent, serving())).rejects.toMatchObject({
        code: expect.stringMatching(/^(BadMessage|UnknownParameter)$/),
      });
    }
    expect(state.applied).toBe(0);
  });
});

describe('a push to units that have copies', () => {
  const job = { spec: SPEC, shards: 2, units: 2, router: createIdRouter({ shards: 2 }) };

  /** What happens to pushes, which are placed when the test says so. */
  class Copies {
    readonly did: string[] = [];
    /** Of those that wait for room, in their order. */
    readonly asked: PromiseWithResolvers<'committed' | 'again'>[] = [];
    admitted: Promise<void> | undefined;
    counted = 0;
    readonly #handler: ReturnType<typeof createHandler>;

    constructor(other: Parameters<typeof serving>[0] = {}) {
      const placing = {
        turns: new TaskTurns(),
        place: ({ make }: Pick<PlaceRequest, 'make'>) => {
          const outcome = Promise.withResolvers<'committed' | 'again'>();
          this.asked.push(outcome);
          this.did.push(`placed ${this.asked.length}`);
          return outcome.promise.then((ended) => {
            if (ended === 'committed') make();
            return ended;
          });
        },
      };
      Object.defineProperty(placing, 'counted', { get: () => this.counted });
      const replicas = { placing, job, wait: () => this.admitted } as never;
      const current = serving({ ...other, replicas });
      this.#handler = createHandler({ serving: () => current, info: () => ({}), files: () => undefined });
    }

    async push(name: string, other: object = {}): Promise<string> {
      const header = { ...push(), ...other };
      const request = { header, segmentCount: 0, segment: () => new Uint8Array(0), free: () => {} };
      const letPass = (): void => void this.did.push(`${name} lets pass`);
      try {
        await this.#handler({ ...request, letPass }, SESSION);
        this.did.push(`${name} answered`);
        return 'applied';
      } catch (error) {
        return (error as PaddletError).code;
      }
    }
  }

  it('lets other pushes pass from when it is placed, and is answered when it is decided', async () => {
    const copies = new Copies();
    const admission = Promise.withResolvers<void>();
    copies.admitted = admission.promise;
    const answer = copies.push('it');
    await new Promise(setImmediate);
    expect(copies.did).toEqual([]);
    copies.admitted = undefined;
    admission.resolve();
    await new Promise(setImmediate);
    expect(copies.did).toEqual(['placed 1', 'it lets pass']);
    copies.asked[0]!.resolve('committed');
    expect(await answer).toBe('applied');
    expect(copies.did).toEqual(['placed 1', 'it lets pass', 'it answered']);
  });

  it('has the turn of its task until its answer is made, also while it is judged again', async () => {
    const copies = new Copies();
    const first = copies.push('first');
    const behind = copies.push('behind');
    await new Promise(setImmediate);
    expect(copies.did).toEqual(['placed 1', 'first lets pass']);
    const admission = Promise.withResolvers<void>();
    copies.admitted = admission.promise;
    copies.asked[0]!.resolve('again');
    await new Promise(setImmediate);
    copies.admitted = undefined;
    admission.resolve();
    await new Promise(setImmediate);
    expect(copies.did).toEqual(['placed 1', 'first lets pass', 'placed 2', 'first lets pass']);
    copies.asked[1]!.resolve('committed');
    await first;
    await new Promise(setImmediate);
    expect(copies.did.slice(4).sort()).toEqual(['behind lets pass', 'first answered', 'placed 3']);
    copies.asked[2]!.resolve('committed');
    await behind;
  });

  it('that is refused ends its turn', async () => {
    const copies = new Copies();
    const first = copies.push('first');
    copies.asked[0]!.reject(new PaddletError('Suspended', 'cut off'));
    expect(await first).toBe('Suspended');
    const next = copies.push('next');
    copies.asked[1]!.resolve('committed');
    expect(await next).toBe('applied');
  });

  it('is as stale as those make it that are placed before it', async () => {
    const copies = new Copies({ staleness: { rule: { policy: 'refuse', bound: 2 }, patienceMs: 1_000 } });
    const used = { revision: shards.stamp.revision, version: 0 };
    for (const [counted, outcome] of [
      [3, 'TooStale'],
      [2, 'applied'],
    ] as const) {
      copies.counted = counted;
      const answer = copies.push('it', { used });
      copies.asked.at(-1)!.resolve('committed');
      expect(await answer).toBe(outcome);
    }
  });
});
