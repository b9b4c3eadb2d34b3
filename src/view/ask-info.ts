/** Asks a process what it is and does. */
import { isPaddletError, PaddletError } from '../base/errors.ts';
import type { Channel, Network } from '../protocol/messages/channel.ts';
import { parseRoleInfo, type RoleInfo } from './info.ts';

const ANSWER_WITHIN_MS = 2_000;

export type InfoAnswer =
  | { readonly kind: 'info'; readonly info: RoleInfo }
  /**
   * It answered, with what this version does not understand, or refused this process. `error` says what; its message
   * has no subject.
   */
  | { readonly kind: 'notUnderstood'; readonly error: PaddletError }
  /**
   * No answer in time: the process is starting, dead or busy. With `replacedBy`, another process of the job has its
   * address: it has ended, and its key stays until its lease ends.
   */
  | { readonly kind: 'none'; readonly replacedBy?: string };

export async function askInfo(channel: Channel, timeoutMs = ANSWER_WITHIN_MS): Promise<InfoAnswer> {
  try {
    const reply = await channel.request({ header: { type: 'info' } }, { timeoutMs });
    reply.free();
    return { kind: 'info', info: parseRoleInfo(reply.header.info) };
  } catch (error) {
    if (!isPaddletError(error)) throw error;
    if (error.code === 'JoinRefused') return { kind: 'notUnderstood', error: refusedText(error) };
    // `Interrupted`: the channel was closed while it waited.
    if (error.action !== 'fatal' || error.code === 'Interrupted') return { kind: 'none' };
    const message = `sent an answer that this version does not understand: ${error.message}`;
    return { kind: 'notUnderstood', error: new PaddletError(error.code, message, { cause: error }) };
  }
}

/** A process is there: of another job, or of this one before the job is published. */
const refusedText = (error: PaddletError): PaddletError =>
  new PaddletError('JoinRefused', `did not accept this process: ${error.message}`, { cause: error });

/** The same, on a separate connection. An address that the process registered may be none. */
export async function askInfoAt(network: Network, address: string, timeoutMs?: number): Promise<InfoAnswer> {
  let channel: Channel;
  try {
    channel = network.connect(address);
  } catch (error) {
    if (!isPaddletError(error, 'Usage')) throw error;
    const message = `cannot be reached, since it has not registered an address: ${error.message}`;
    return { kind: 'notUnderstood', error: new PaddletError('StoreValueInvalid', message, { cause: error }) };
  }
  try {
    return await askInfo(channel, timeoutMs);
  } finally {
    channel.close();
  }
}
