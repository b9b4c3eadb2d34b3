/** The order in which the requests of one connection begin, and which of them wait for others. */
import { describe, expect, it } from 'vitest';
import { PaddletError } from '../../../src/base/errors.ts';
import type { ReplyHeader } from '../../../src/protocol/messages/all-messages.ts';
import type { Outgoing } from '../../../src/protocol/messages/channel.ts';
import { applied, info, infoReply, numbered, rig } from '../rig.ts';

const LONG = { timeoutMs: 30_000 };

interface OpenPush extends PromiseWithResolvers<Outgoing<ReplyHeader>> {
  letPass(): void;
}

/** Pushes let others pass when the test says so, and are answered when it says so. */
async function served(limits: { passingRequests?: number } = {}) {
  const begun: string[] = [];
  const pushes = new Map<number, OpenPush>();
  const waiters = new Map<string, () => void>();
  const { connect } = await rig({
    limits,
    handler: (request) => {
      const { header } = request;
      const name = header.type === 'push' ? `push ${header.task}` : header.type;
      begun.push(name);
      waiters.get(name)?.();
      if (header.type !== 'push') return infoReply;
      const answer = Promise.withResolvers<Outgoing<ReplyHeader>>();
      pushes.set(header.task, { ...answer, letPass: () => request.letPass!() });
      return answer.promise;
    },
  });
  const channel = connect();
  const answered: string[] = [];
  return {
    begun,
    answered,
    push: (n: number) =>
      channel.request(numbered(n), LONG).then(
        (reply) => {
          answered.push(`push ${n}`);
          reply.free();
        },
        () => void answered.push(`push ${n} failed`),
      ),
    info: () =>
      channel.request(info, LONG).then((reply) => {
        answered.push('info');
        reply.free();
      }),
    untilBegun: (name: string) =>
      begun.includes(name) ? Promise.resolve() : new Promise<void>((resolve) => waiters.set(name, resolve)),
    pushOf: (n: number) => pushes.get(n)!,
  };
}

describe('behind a request that lets those of its type pass', () => {
  it('they begin and may be answered first; others wait for all of them, and what is behind these, too', async () => {
    const { begun, answered, push, info: ask, untilBegun, pushOf } = await served();
    const [first, second, asked, third] = [push(1), push(2), ask(), push(3)];
    await untilBegun('push 1');
    pushOf(1).letPass();
    await untilBegun('push 2');
    pushOf(2).letPass();
    pushOf(2).resolve(applied);
    await second;
    expect(begun).toEqual(['push 1', 'push 2']);
    pushOf(1).resolve(applied);
    await Promise.all([first, asked, untilBegun('push 3')]);
    pushOf(3).resolve(applied);
    await third;
    expect(begun).toEqual(['push 1', 'push 2', 'info', 'push 3']);
    expect(answered).toEqual(['push 2', 'push 1', 'info', 'push 3']);
  });

  it('only so many begin before one is answered', async () => {
    const { begun, push, untilBegun, pushOf } = await served({ passingRequests: 2 });
    const pushes = [push(1), push(2), push(3)];
    for (const n of [1, 2]) {
      await untilBegun(`push ${n}`);
      pushOf(n).letPass();
    }
    // All three have come in one read.
    expect(begun).toEqual(['push 1', 'push 2']);
    pushOf(2).resolve(applied);
    await pushes[1];
    await untilBegun('push 3');
    expect(begun).toEqual(['push 1', 'push 2', 'push 3']);
    for (const n of [1, 3]) pushOf(n).resolve(applied);
    await Promise.all(pushes);
  });

  it('others begin when it has failed', async () => {
    const { answered, push, info: ask, untilBegun, pushOf } = await served();
    const [first, asked] = [push(1), ask()];
    await untilBegun('push 1');
    pushOf(1).letPass();
    pushOf(1).reject(new PaddletError('Suspended', 'cut off'));
    await Promise.all([first, asked]);
    expect(answered).toEqual(['push 1 failed', 'info']);
  });
});
