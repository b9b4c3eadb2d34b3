/**
 * Unix sockets beside TCP, for roles on one host: a role that listens on a loopback address also listens on a socket in
 * a private folder of its user, named after its address. A client of a loopback address looks there first. Nothing
 * is agreed on; where anything is not as expected, both use TCP.
 */
import { lstatSync, mkdirSync, readdirSync, readlinkSync, rmSync, unlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LIMITS } from '../../base/limits.ts';
import { isLoopback } from './address.ts';

/** Limit of `sockaddr_un`, without the final zero. */
const LONGEST_PATH_BYTES = 107;
const SWEPT_AGE_MS = 60_000;

/** Where the socket of the role at a loopback address is, if it has one. */
export function unixSocketOf(host: string, port: number): string | undefined {
  const path = pathOf(host, port);
  if (path === undefined || !isPrivate(folder())) return undefined;
  return lstatSync(path, { throwIfNoEntry: false })?.isSocket() === true ? path : undefined;
}

/**
 * Makes place for the socket of a role that has bound this address, and says where it is. A file left by a role that
 * died goes: who holds the port is its only owner. Undefined where there can be none.
 */
export function claimUnixSocket(host: string, port: number): string | undefined {
  const path = pathOf(host, port);
  if (path === undefined) return undefined;
  try {
    mkdirSync(folder(), { recursive: true, mode: 0o700 });
    if (!isPrivate(folder())) return undefined;
    if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) unlinkSync(path);
    return path;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    return undefined;
  }
}

/**
 * Removes what roles that were killed left beside `own`, a socket that was just made: files that are a minute older and
 * that no process listens on. Removes only as many as can be done at once.
 */
export async function sweepUnixSockets(own: string): Promise<void> {
  const madeMs = lstatSync(own, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const space = `${networkSpace()}-`;
  const old = readdirSync(folder())
    .filter((name) => name.startsWith(space))
    .slice(0, LIMITS.sweptSockets)
    .map((name) => join(folder(), name))
    .filter((path) => {
      const stats = lstatSync(path, { throwIfNoEntry: false });
      return stats?.isSocket() === true && stats.mtimeMs < madeMs - SWEPT_AGE_MS;
    });
  await Promise.all(old.map(removeIfDeaf));
}

function removeIfDeaf(path: string): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    socket.on('connect', () => socket.destroy());
    socket.on('error', (error: NodeJS.ErrnoException) => {
      // With `force` it is fine if another sweeper was faster.
      if (error.code === 'ECONNREFUSED') rmSync(path, { force: true });
    });
    socket.on('close', () => resolve());
  });
}

const userId = (): number | undefined => process.getuid?.();

const folder = (): string => join(tmpdir(), `paddlet-${userId()}`);

function pathOf(host: string, port: number): string | undefined {
  const space = networkSpace();
  if (!isLoopback(host) || userId() === undefined || space === undefined) return undefined;
  // `localhost` may be one of several addresses: left to TCP, which tries them all.
  if (host === 'localhost') return undefined;
  const path = join(folder(), `${space}-${host.replaceAll(':', '_')}-${port}`);
  return Buffer.byteLength(path) <= LONGEST_PATH_BYTES ? path : undefined;
}

/** Ports are counted per network namespace, and containers may share a folder for temporary files. */
function networkSpace(): string | undefined {
  try {
    return /\d+/.exec(readlinkSync('/proc/self/ns/net'))?.[0];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    return undefined;
  }
}

/** A folder, not a link to one, that no other user can use. */
function isPrivate(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isDirectory() === true && stats.uid === userId() && (stats.mode & 0o077) === 0;
}
