/** A push that takes a pull along: one request where there were two. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { RequestHeader } from '../../../../src/protocol/messages/all-messages.ts';
import { createHandler } from '../../../../src/roles/pserver/serve.ts';
import type { Serving } from '../../../../src/roles/pserver/serving.ts';
import { createIdRouter } from '../../../../src/tensor/id-router.ts';
import { push, resetServed, SESSION, SPEC, serving, shards, state } from '../served-rig.ts';

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
  it('lets other pushes pass from when it is placed, and is answered when it is decided', async () => {
    const placed = Promise.withResolvers<'committed'>();
    const waited = Promise.withResolvers<void>();
    let undecided: Promise<void> | undefined = waited.promise;
    const did: string[] = [];
    const placing = {
      undecided: () => undecided,
      place: () => {
        did.push('placed');
        return placed.promise;
      },
    };
    const job = { spec: SPEC, shards: 2, units: 2, router: createIdRouter({ shards: 2 }) };
    const replicas = { placing, job, wait: () => undefined } as never;
    const current = serving({ replicas });
    const handler = createHandler({ serving: () => current, info: () => ({}), files: () => undefined });
    const request = { header: push(), segmentCount: 0, segment: () => new Uint8Array(0), free: () => {} };
    const answer = Promise.resolve(handler({ ...request, letPass: () => did.push('let pass') }, SESSION)).finally(() =>
      did.push('answered'),
    );
    expect(did).toEqual([]);
    undecided = undefined;
    waited.resolve();
    await new Promise(setImmediate);
    expect(did).toEqual(['placed', 'let pass']);
    placed.resolve('committed');
    expect((await answer).header).toMatchObject({ type: 'push', outcome: 'applied' });
    expect(did).toEqual(['placed', 'let pass', 'answered']);
  });
});
