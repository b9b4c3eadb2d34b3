/**
 * Proofs that one end of a connection knows the join token, for the other end (docs/protocol.md, "Joining"). A proof is
 * of one direction and of the random numbers of both ends, so it is of no use anywhere else: not sent back, and not on
 * another connection. It also covers `Host`, the address that the client means, so that a stranger at an old address
 * cannot pass a connection on to a role. With TLS between roles, what identifies the TLS session belongs there too.
 */
import { createHmac, randomFillSync, timingSafeEqual } from 'node:crypto';
import { LIMITS } from '../../base/limits.ts';

/** Who proves it. Both texts have the same length, and so has everything after them but the last. */
const LABEL = { client: 'paddlet.v4 client', server: 'paddlet.v4 server' } as const;

export interface Meeting {
  /** LIMITS.joinNonceBytes each, drawn for this connection. */
  readonly clientNonce: Uint8Array;
  readonly serverNonce: Uint8Array;
  /** The `Host` header of the handshake, as it was sent. */
  readonly host: string;
}

/** 32 bytes. */
export function proofOf(token: Uint8Array, who: keyof typeof LABEL, meeting: Meeting): Uint8Array {
  const { clientNonce, serverNonce, host } = meeting;
  const hmac = createHmac('sha256', token).update(LABEL[who], 'latin1');
  return hmac.update(clientNonce).update(serverNonce).update(host, 'utf8').digest();
}

/** Takes the same time wherever the proof is wrong. */
export function isProof(
  proof: Uint8Array,
  token: Uint8Array | undefined,
  who: keyof typeof LABEL,
  meeting: Meeting,
): boolean {
  if (token === undefined) return false;
  const right = proofOf(token, who, meeting);
  return proof.length === right.length && timingSafeEqual(proof, right);
}

export const isSameToken = (a: Uint8Array | undefined, b: Uint8Array | undefined): boolean =>
  a !== undefined && b !== undefined && a.length === b.length && timingSafeEqual(a, b);

export const newNonce = (): Uint8Array => randomFillSync(new Uint8Array(LIMITS.joinNonceBytes));
