import { expect, it } from 'vitest';
import { PaddletError } from '../../../src/base/errors.ts';
import type { ReplyHeader } from '../../../src/protocol/messages/all-messages.ts';
import type { Outgoing, RequestHandler } from '../../../src/protocol/messages/channel.ts';
import { deferred, describeOnEveryPath, getTask, info, numbered, rig } from '../rig.ts';

const LONG = { timeoutMs: 30_000 };
const applied: Outgoing<ReplyHeader> = { header: { type: 'push', outcome: 'applied', recovery: 0 } };
const infoReply = (facts: Record<string, unknown>): Outgoing<ReplyHeader> => ({
  header: { type: 'info', info: facts },
});
const echo: RequestHandler = (request) => ({
  header: { type: 'push', outcome: 'applied', recovery: 0 },
  segments: Array.from({ length: request.segmentCount }, (_, i) => request.segment(i)),
});

describeOnEveryPath('requests and answers', () => {
  it('carries segments there and back, each at a multiple of 8', async () => {
    const { connect } = await rig({ handler: echo });
    const segments = [new Uint8Array([1, 2, 3]), new Uint8Array(0), new Uint8Array(new Float32Array([1.5, -2]).buffer)];
    const answer = await connect().request(numbered(1, segments), LONG);
    expect(answer.header).toEqual({ type: 'push', outcome: 'applied', recovery: 0 });
    expect(answer.segmentCount).toBe(3);
    segments.forEach((segment, i) => {
      expect(new Uint8Array(answer.segment(i))).toEqual(segment);
      expect(answer.segment(i).byteOffset % 8).toBe(0);
    });
    answer.free();
  });

  it.each(['random', 'zero'] as const)('carries 16 MB unchanged with a %s mask', async (masking) => {
    const { connect } = await rig({ handler: echo, masking });
    const sent = new Uint8Array(16 * 1024 * 1024 + 5);
    for (let i = 0; i < sent.length; i++) sent[i] = (i * 2_654_435_761) >>> 13;
    const before = Buffer.from(sent);
    const answer = await connect().request(numbered(1, [new Uint8Array([7]), sent]), LONG);
    expect(Buffer.compare(answer.segment(1), before)).toBe(0);
    expect(Buffer.compare(sent, before)).toBe(0);
    answer.free();
  });

  it('handles thousands of concurrent requests one after the other, and answers in the order asked', async () => {
    const seen: number[] = [];
    let running = 0;
    const { connect } = await rig({
      handler: async (request) => {
        expect(++running).toBe(1);
        if (request.header.type === 'push') {
          seen.push(request.header.task);
          // Uneven work: without ordering later ones would overtake.
          for (let i = request.header.task % 3; i > 0; i--) await new Promise((resolve) => setImmediate(resolve));
        }
        running--;
        return applied;
      },
    });
    const channel = connect();
    const answered: number[] = [];
    const all = Array.from({ length: 4000 }, (_, n) =>
      channel.request(numbered(n), LONG).then((answer) => {
        answered.push(n);
        answer.free();
      }),
    );
    await Promise.all(all);
    const order = Array.from({ length: 4000 }, (_, n) => n);
    expect(seen).toEqual(order);
    expect(answered).toEqual(order);
  });

  it('lets requests pass one that waits', async () => {
    const gate = deferred<Outgoing<ReplyHeader>>();
    const { connect } = await rig({
      handler: (request) => (request.header.type === 'getTasks' ? gate.promise : infoReply({})),
    });
    const channel = connect();
    const waiting = channel.request(getTask, LONG);
    await channel.request(info, LONG);
    gate.resolve({ header: { type: 'getTasks', state: 'finished' } });
    expect((await waiting).header.state).toBe('finished');
  });

  it('throws an error answer as it was, and goes on', async () => {
    const thrown = new PaddletError('PushOutOfOrder', 'push 3 wanted', { hint: 'rewind', details: { wanted: 3 } });
    const { connect, bugs } = await rig({
      handler: (request) => {
        if (request.header.type === 'push') throw thrown;
        return infoReply({});
      },
    });
    const channel = connect();
    await expect(channel.request(numbered(1), LONG)).rejects.toMatchObject({
      code: 'PushOutOfOrder',
      message: 'push 3 wanted',
      hint: 'rewind',
      details: { wanted: 3 },
    });
    await channel.request(info, LONG);
    expect(bugs).toEqual([]);
  });

  it.each(['at once', 'later'])('answers a bug %s with Internal and hands it to onBug', async (when) => {
    const bug = new TypeError('x is not a function');
    const { connect, bugs } = await rig({
      handler: (request) => {
        if (request.header.type === 'info') return infoReply({});
        if (when === 'at once') throw bug;
        return Promise.reject(bug);
      },
    });
    const channel = connect();
    await expect(channel.request(numbered(1), LONG)).rejects.toMatchObject({ code: 'Internal' });
    expect(bugs).toEqual([bug]);
    await channel.request(info, LONG);
  });
});
