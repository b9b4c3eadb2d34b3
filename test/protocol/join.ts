/** Joining, as a client does it by hand; for processes without a test runner too. */
import { LIMITS } from '../../src/base/limits.ts';
import { decodeFrame, encodeFrame, type Frame } from '../../src/protocol/frames/frame.ts';
import { type Meeting, proofOf } from '../../src/protocol/join/proof.ts';
import type { JoinToken } from '../../src/protocol/join/token.ts';

/** Of all networks in tests that are not about the token. */
export const TOKEN = new Uint8Array(LIMITS.joinTokenBytes).fill(7);
export const tokenOf = (token: Uint8Array): JoinToken => ({ current: async () => token, refresh: async () => token });
export const testToken = tokenOf(TOKEN);

export const joinFrame = (header: object, requestId = 0): Uint8Array =>
  bytesOf({ kind: 'join', requestId, header, segments: [] });

const bytesOf = (frame: Frame): Uint8Array => new Uint8Array(Buffer.concat(encodeFrame(frame).buffers));

/** The random number of a role's challenge. */
export const nonceOf = (challenge: Uint8Array): Uint8Array =>
  (decodeFrame(challenge).header as { nonce: Uint8Array }).nonce;

/** What a client that dialed `host` is proving when it answers this challenge. */
export const meetingOf = (challenge: Uint8Array, host: string): Meeting => ({
  clientNonce: new Uint8Array(LIMITS.joinNonceBytes).fill(1),
  serverNonce: nonceOf(challenge),
  host,
});

/** The frame with which a client answers it. */
export function answerTo(challenge: Uint8Array, host: string, token = TOKEN): Uint8Array {
  const meeting = meetingOf(challenge, host);
  return joinFrame({ type: 'proof', nonce: meeting.clientNonce, proof: proofOf(token, 'client', meeting) });
}
