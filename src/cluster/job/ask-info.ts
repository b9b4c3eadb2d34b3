/** Asks a process what it is and does. */
import { isPaddletError } from '../../base/errors.ts';
import type { Channel, Network } from '../../protocol/messages/channel.ts';

const ANSWER_WITHIN_MS = 2_000;

/** What it says; undefined when nobody answers in time: it is starting, dead or busy. */
export async function askInfo(channel: Channel): Promise<Record<string, unknown> | undefined> {
  try {
    const reply = await channel.request({ header: { type: 'info' } }, { timeoutMs: ANSWER_WITHIN_MS });
    reply.free();
    return reply.header.info;
  } catch (error) {
    if (!isPaddletError(error)) throw error;
    return undefined;
  }
}

/** The same, on a connection of its own. */
export async function askInfoAt(network: Network, address: string): Promise<Record<string, unknown> | undefined> {
  const channel = network.connect(address);
  try {
    return await askInfo(channel);
  } finally {
    channel.close();
  }
}
