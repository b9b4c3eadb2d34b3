/** The requests on a connection between a primary and a backup (docs/protocol.md). */
import type { Channel, RequestOptions } from '../../../protocol/messages/channel.ts';
import type { SharedUpdate } from '../update/shared-update.ts';
import type { PeerProtocol } from './peer-connection.ts';
import { type BatchEnds, decodeAnswers, encodeBatch } from './replicate-codec.ts';

/** `job`: the fields that every request contains. */
export const peerProtocol = (
  job: { readonly job: string; readonly batchPlanId: string },
  ends: BatchEnds,
): PeerProtocol<SharedUpdate> => ({
  async open(channel: Channel, options: RequestOptions) {
    const { primary, member } = ends;
    const reply = await channel.request({ header: { type: 'openReplicas', ...job, primary, member } }, options);
    reply.free();
    return reply.header.windowBytes;
  },
  async send(channel, batch, options) {
    const reply = await channel.request(encodeBatch(job, ends, batch), options);
    try {
      return decodeAnswers(reply);
    } finally {
      reply.free();
    }
  },
});
