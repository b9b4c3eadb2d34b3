/** Browsers have `crypto.subtle` on HTTPS and on localhost only, and the page is served by plain HTTP. */
import { hmac } from '@noble/hashes/hmac.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';

const LABEL = 'paddlet.view.v1 viewer';

/** `token` and `nonce` are 32 bytes each, and so is the proof, all in hexadecimal. */
export function proofOf(token: string, nonce: string, host: string): string {
  const message = concatBytes(utf8ToBytes(LABEL), hexToBytes(nonce), utf8ToBytes(host));
  return bytesToHex(hmac(sha256, hexToBytes(token), message));
}
