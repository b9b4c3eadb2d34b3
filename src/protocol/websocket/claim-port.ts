/** The port of a role, taken before the role serves: what is wrong with it is known at once, not when a job comes. */
import { createServer } from 'node:net';
import { PaddletError } from '../../base/errors.ts';
import { formatAddress, parseAddress } from './address.ts';

export interface ClaimedPort {
  /** Gives it back, to be listened on at once. */
  release(): Promise<void>;
}

/** Throws `Usage` or `PortInUse`. Who connects before the release is cut. Port 0 claims none; its host is checked. */
export async function claimPort(listen: string): Promise<ClaimedPort> {
  const address = parseAddress(listen, { allowPortZero: true });
  const server = createServer((socket) => void socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(listenError(error, formatAddress(address))));
    server.listen(address, resolve);
  });
  let released: Promise<void> | undefined;
  const release = (): Promise<void> => {
    released ??= new Promise((resolve) => void server.close(() => resolve()));
    return released;
  };
  if (address.port === 0) await release();
  return { release };
}

export function listenError(error: NodeJS.ErrnoException, address: string): Error {
  switch (error.code) {
    case 'EADDRINUSE':
      return new PaddletError('PortInUse', `${address} is in use by another process`, {
        hint: 'choose another port, or port 0 for a free one',
        cause: error,
      });
    case 'EACCES':
    case 'EADDRNOTAVAIL':
    case 'EAFNOSUPPORT':
    case 'EINVAL':
    case 'EAI_AGAIN':
    case 'ENOTFOUND':
      return new PaddletError('Usage', `cannot listen on ${address}: ${error.code}`, {
        hint: 'choose an address of this machine and a port above 1023',
        cause: error,
      });
    default:
      return error;
  }
}
