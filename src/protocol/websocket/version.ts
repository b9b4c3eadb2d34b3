/**
 * Peers of different versions refuse each other at the handshake. The server's answer names the versions of both; a
 * client finds the server's in it. The first line is the same in every version, so that newer and older clients can
 * read it.
 */
import type { IncomingMessage } from 'node:http';
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';

export const SUBPROTOCOL = 'paddlet.v4';
/** The same; a server that chooses it has agreed that this client's masks are zeros. */
export const ZERO_MASK_SUBPROTOCOL = `${SUBPROTOCOL}.zero-mask`;

const VERSION = /^paddlet\.v\d{1,9}$/;
const FIRST_LINE = /^subprotocol must be (paddlet\.v\d{1,9})\n/;

/** What a client speaks, for people: the versions of paddlet among the subprotocols that it offers. */
export function offeredVersions(offered: ReadonlySet<string>): string {
  const versions = [...offered].filter((name) => VERSION.test(name)).slice(0, LIMITS.offeredVersions);
  return versions.length === 0 ? 'no version of paddlet' : versions.join(', ');
}

/** The body of the answer to a client that does not offer this version. */
export const refusalBody = (offered: ReadonlySet<string>): string =>
  `subprotocol must be ${SUBPROTOCOL}\nthe client offers ${offeredVersions(offered)}\n`;

/** Calls `done` once, with the version that a refusing server speaks if its answer names another than ours. */
export function readRefusal(response: IncomingMessage, done: (theirs: string | undefined) => void): void {
  let text = '';
  response.setEncoding('latin1');
  response.on('data', (piece: string) => {
    text += piece;
    if (text.length > LIMITS.refusalBytes) response.destroy();
  });
  // 'close' follows.
  response.on('error', () => {});
  response.once('close', () => {
    const theirs = response.statusCode === 400 ? FIRST_LINE.exec(text)?.[1] : undefined;
    done(theirs === SUBPROTOCOL ? undefined : theirs);
  });
}

/** As against a file or a job of another version. */
export const isPeerOfOtherVersion = (error: unknown): boolean =>
  isPaddletError(error, 'VersionMismatch') && error.details.theirs !== undefined;

export const wrongVersion = (address: string, theirs: string): PaddletError =>
  new PaddletError('VersionMismatch', `expected the peer at ${address} to speak ${SUBPROTOCOL}, got ${theirs}`, {
    hint: 'run the same version of paddlet in all processes of a job',
    details: { theirs, ours: SUBPROTOCOL },
  });
