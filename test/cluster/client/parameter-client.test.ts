/** What goes out before what. */
import { expect, it } from 'vitest';
import { PaddletError } from '../../../src/base/errors.ts';
import { createParameterClient } from '../../../src/cluster/client/parameter-client.ts';
import type { PserverGroup } from '../../../src/cluster/client/pserver-group.ts';
import { createIdRouter } from '../../../src/tensor/id-router.ts';
import type { ParameterSpec } from '../../../src/tensor/spec.ts';

const SHARDS = 2;
const spec: ParameterSpec = { dense: [], sparse: [{ name: 'v', width: 1, initializer: { type: 'zeros' } }] };
const ids = [{ ids: new Uint8Array(new BigUint64Array([1n, 2n, 3n]).buffer), count: 3 }];
const header = { pass: 0, task: 0, push: 0, last: false, good: 1 };
const never = new AbortController().signal;
const placement = {
  version: 1,
  primaryOf: new Int32Array(SHARDS),
  pservers: [{ index: 0, address: 'nowhere', token: 1n, stamp: { revision: '1', shards: SHARDS }, units: [] }],
};

it('a pull is routed when the push before it has left, though that was asked for in the same turn', async () => {
  const asked: string[] = [];
  const leaving = Promise.withResolvers<void>();
  let isLeaving = false;
  const group: PserverGroup = {
    withPlacement: async (_what, attempt) => attempt(await Promise.resolve(placement)),
    ask: ((_pserver: unknown, type: string) => {
      asked.push(type);
      isLeaving = type === 'push';
      return new Promise(() => {});
    }) as PserverGroup['ask'],
    sending: () => (isLeaving ? leaving.promise : undefined),
    current: () => placement,
    answers: () => [],
    close: () => {},
  };
  const client = createParameterClient({ spec, shards: SHARDS, group, router: createIdRouter({ shards: SHARDS }) });
  void client.push(header, { dense: [], sparse: [new Float32Array(3)], ids }, never);
  void client.pull(ids, never);
  await new Promise((resolve) => setImmediate(resolve));
  expect(asked).toEqual(['push']);
  leaving.resolve();
  await new Promise((resolve) => setImmediate(resolve));
  expect(asked).toEqual(['push', 'pull']);
});

/** Of a client whose pserver answers so. */
function pushing(answer: (fields: { pull?: unknown }) => object) {
  const asked: string[] = [];
  const group = {
    withPlacement: async (_what: string, attempt: (to: unknown) => unknown) => attempt(placement),
    ask: async (_pserver: unknown, type: string, fields: { pull?: unknown }) => {
      asked.push(fields.pull === undefined ? type : `${type} and pull`);
      const reply = { type: 'push', outcome: 'applied', recovery: 0, ...answer(fields) };
      return { header: reply, segmentCount: 0, segment: () => new Uint8Array(0), free() {} };
    },
    sending: () => undefined,
    current: () => placement,
    close: () => {},
  } as unknown as PserverGroup;
  const client = createParameterClient({ spec, shards: SHARDS, group, router: createIdRouter({ shards: SHARDS }) });
  return { asked, pushed: client.push(header, { dense: [], sparse: [new Float32Array(3)], ids }, never, ids) };
}

it('a push whose pull cannot be answered is made without it: the pull may be of another task', async () => {
  const { asked, pushed } = pushing(({ pull }) => {
    if (pull !== undefined) throw new PaddletError('FrameTooLarge', 'the answer would have 300 MB');
    return {};
  });
  expect(await pushed).toMatchObject({ duplicate: false, pulled: undefined });
  expect(asked).toEqual(['push and pull', 'push']);
});

it.each([
  ['no version', {}],
  ['too few segments', { version: 1 }],
])('an answer to a push and a pull with %s is refused', async (_what, fields) => {
  await expect(pushing(() => fields).pushed).rejects.toMatchObject({ code: 'BadMessage' });
});
