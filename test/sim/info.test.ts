/**
 * What the roles say of themselves at any moment of their lives, faults included, is what the schemas describe, after
 * it went through the frames of the wire.
 */
import { expect, test } from 'vitest';
import { decodeFrame, encodeFrame } from '../../src/protocol/frames/frame.ts';
import type { ReplyHeader } from '../../src/protocol/messages/all-messages.ts';
import type { RequestHandler, Session } from '../../src/protocol/messages/channel.ts';
import { parseReply } from '../../src/protocol/messages/parse.ts';
import { parseRoleInfo } from '../../src/view/info.ts';
import type { Mode } from './mode.ts';
import type { SimulatedProcess } from './process.ts';
import { runSchedule } from './schedule.ts';

/** All roles are asked when they begin to listen, and at every so many requests of the cluster. */
const ONE_IN = 30;

const TIMEOUT_MS = 600_000;

const NO_SEGMENTS = {
  segmentCount: 0,
  segment: (): never => {
    throw new Error('it has none');
  },
  free: () => {},
};

const NO_SESSION: Session = { remoteAddress: '', peer: undefined, onClosed: () => () => {} };

/** As it arrives: the frame is encoded and decoded, and the reply checked as any other is. */
function sent(header: ReplyHeader): ReplyHeader {
  const { buffers } = encodeFrame({ kind: 'reply', requestId: 1, header, segments: [] });
  return parseReply(decodeFrame(Buffer.concat(buffers)).header);
}

async function ask(handler: RequestHandler, session: Session): Promise<string> {
  const reply = await handler({ ...NO_SEGMENTS, header: { type: 'info' } }, session);
  const header = sent(reply.header);
  if (header.type !== 'info') throw new Error('every role answers');
  const { role, state } = parseRoleInfo(header.info);
  return `${role} ${state}`;
}

async function heardFrom(mode: Mode, seeds: readonly number[]): Promise<Set<string>> {
  const heard = new Set<string>();
  let requests = 0;
  for (const seed of seeds) {
    const first: Promise<string>[] = [];
    const handlers = new Map<SimulatedProcess, RequestHandler>();
    const { violations } = await runSchedule({
      seed,
      mode,
      wrapHandler: (server, handler) => {
        handlers.set(server, handler);
        first.push(ask(handler, NO_SESSION));
        return async (request, session) => {
          if (requests++ % ONE_IN === 0) {
            for (const [process, asked] of handlers) if (!process.isDead) heard.add(await ask(asked, session));
          }
          return handler(request, session);
        };
      },
    });
    expect(violations, `seed ${seed}`).toEqual([]);
    for (const state of await Promise.all(first)) heard.add(state);
  }
  return heard;
}

test.each(['async', 'sync'] as const)('in %s mode', { timeout: TIMEOUT_MS }, async (mode) => {
  const heard = await heardFrom(mode, [1, 2, 3]);
  const states = ['master', 'pserver', 'trainer'].flatMap((role) => [`${role} waiting`, `${role} working`]);
  expect([...heard].sort()).toEqual(states);
});
