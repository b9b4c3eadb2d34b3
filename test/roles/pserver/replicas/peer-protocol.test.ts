/** Batches and answers between two pservers, over a real connection. */
import { expect, it } from 'vitest';
import { PaddletError } from '../../../../src/base/errors.ts';
import type { BatchAnswer, PeerBatch } from '../../../../src/core/replicas/peer-link.ts';
import type { ReplyHeader, RequestHeader } from '../../../../src/protocol/messages/all-messages.ts';
import type { Channel, Outgoing, Received } from '../../../../src/protocol/messages/channel.ts';
import { peerProtocol } from '../../../../src/roles/pserver/replicas/peer-protocol.ts';
import {
  decodeBatch,
  encodeAnswers,
  type ReplicateRequest,
} from '../../../../src/roles/pserver/replicas/replicate-codec.ts';
import { SharedUpdate } from '../../../../src/roles/pserver/update/shared-update.ts';
import { rig } from '../../../protocol/rig.ts';
import { gradientsOf, PARTS } from './updates.ts';
import { ENDS, FIELDS, JOB, OWN_ORDER } from './wire-rig.ts';

const WINDOW_BYTES = 1000;
const TIMES = { timeoutMs: 10_000 };
const PROTOCOL = peerProtocol(FIELDS, ENDS);
const STAGED: BatchAnswer = [{ type: 'staged', through: 6, committed: 5 }];

type Answering = (batch: PeerBatch<SharedUpdate>) => Promise<Outgoing<ReplyHeader>> | Outgoing<ReplyHeader>;

/** A pserver that takes copies. Gives the connection to it, and what was asked first on it. */
async function backup(answering: Answering): Promise<{ channel: Channel; openings: RequestHeader[] }> {
  const openings: RequestHeader[] = [];
  const { connect } = await rig({
    handler: (request) => {
      if (request.header.type === 'openReplicas') {
        openings.push(request.header);
        return { header: { type: 'openReplicas', windowBytes: WINDOW_BYTES } };
      }
      const { primary, member, batch } = decodeBatch(JOB, request as Received<ReplicateRequest>, OWN_ORDER);
      expect({ primary, member }).toEqual(ENDS);
      return answering(batch);
    },
  });
  return { channel: connect(), openings };
}

const commit = (committed: number): PeerBatch<SharedUpdate> => ({
  ...{ left: [], order: 0, isLate: false },
  frames: [{ link: { unit: 1, epoch: 3, ...ENDS }, frame: { type: 'commit', committed } }],
});

const committedOf = ({ frames }: PeerBatch<SharedUpdate>): number => frames[0]!.frame.committed;

it('opens with both names, and is told the window', async () => {
  const { channel, openings } = await backup(() => encodeAnswers([]));
  expect(await PROTOCOL.open(channel, TIMES)).toBe(WINDOW_BYTES);
  expect(openings).toEqual([{ type: 'openReplicas', ...FIELDS, ...ENDS }]);
});

it('carries a large update, and its answer', async () => {
  const ids = Array.from({ length: 20_000 }, (_, id) => BigInt(id));
  const push = { pass: 0, task: 0, push: 0, last: false, good: 1 };
  const shards = Array.from({ length: PARTS.shards }, (_, shard) => shard);
  const gradients = gradientsOf([{ parameter: 0, blocks: [0, 1] }], [{ table: 1, ids }]);
  const update = { type: 'push', push, shards, rateScale: 1, ...gradients } as const;
  const payload = new SharedUpdate({ of: PARTS, order: 4, update, units: [0, 1, 2, 3, 4, 5] });
  const name = { position: 6, epoch: 3 };
  const frame = { type: 'stage', update: { name, payload }, committed: 5 } as const;
  const sizes: (readonly [number, number])[] = [];
  const { channel } = await backup(({ frames }) => {
    const came = frames[0]!.frame;
    if (came.type === 'stage') sizes.push(...came.update.payload.bytesByUnit);
    return encodeAnswers(STAGED);
  });
  const frames = [{ link: { unit: 1, epoch: 3, ...ENDS }, frame }];
  expect(await PROTOCOL.send(channel, { left: [], frames, order: 4, isLate: false }, TIMES)).toEqual(STAGED);
  expect(sizes).toEqual([[1, payload.bytesByUnit.get(1)]]);
});

it('holds up no batch behind one that is not answered yet', async () => {
  const waiting = Promise.withResolvers<void>();
  const come: number[] = [];
  const { channel } = await backup(async (batch) => {
    come.push(committedOf(batch));
    if (come.length < 3) await waiting.promise;
    else waiting.resolve();
    return encodeAnswers([{ type: 'staged', through: committedOf(batch), committed: committedOf(batch) }]);
  });
  const answers = await Promise.all([1, 2, 3].map((committed) => PROTOCOL.send(channel, commit(committed), TIMES)));
  expect(answers).toEqual([1, 2, 3].map((at) => [{ type: 'staged', through: at, committed: at }]));
  expect(come).toEqual([1, 2, 3]);
});

it('fails as the pserver says, and for an answer that is none', async () => {
  const refusing = await backup(() => {
    throw new PaddletError('NotReady', 'it takes no copies');
  });
  await expect(PROTOCOL.send(refusing.channel, commit(1), TIMES)).rejects.toMatchObject({ code: 'NotReady' });
  const wrong = await backup(() => ({ header: { type: 'replicate' }, segments: [new Uint8Array(7)] }));
  await expect(PROTOCOL.send(wrong.channel, commit(1), TIMES)).rejects.toMatchObject({ code: 'BadMessage' });
});
