/**
 * The view token: what lets a person look at a job in a browser, and nothing else. It is made of the join token, which
 * cannot be found from it, and is another one as soon as that is (docs/protocol.md, "Viewers").
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

/** 32 bytes. */
export const viewTokenOf = (joinToken: Uint8Array): Uint8Array =>
  createHmac('sha256', joinToken).update('view', 'latin1').digest();

const LABEL = 'paddlet.view.v1 viewer';

/**
 * 32 bytes. `nonce` was drawn for this connection; `host` is the address that the browser means, so that a stranger at
 * another address cannot pass a challenge on.
 */
export const viewProofOf = (viewToken: Uint8Array, nonce: Uint8Array, host: string): Uint8Array =>
  createHmac('sha256', viewToken).update(LABEL, 'latin1').update(nonce).update(host, 'utf8').digest();

/** Takes the same time wherever the proof is wrong. */
export function isViewProof(proof: Uint8Array, viewToken: Uint8Array, nonce: Uint8Array, host: string): boolean {
  const right = viewProofOf(viewToken, nonce, host);
  return proof.length === right.length && timingSafeEqual(proof, right);
}
