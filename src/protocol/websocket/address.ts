/**
 * Network addresses as users and store keys write them: `host:port`, an IPv6 host in brackets (`[::1]:8001`).
 */
import { isIPv6 } from 'node:net';
import { PaddletError } from '../../base/errors.ts';

export interface Address {
  /** A name or a number, without brackets. */
  readonly host: string;
  /** 0–65535; 0 only where a free port is asked for. */
  readonly port: number;
}

/** Loopback, a free port: what a role listens on by default. */
export const DEFAULT_LISTEN = '127.0.0.1:0';

const HOST_NAME = /^[A-Za-z0-9_]([A-Za-z0-9_.-]{0,252})$/;

const refuse = (text: string, reason: string): never => {
  throw new PaddletError('Usage', `address ${JSON.stringify(text.slice(0, 300))}: ${reason}`, {
    hint: 'write host:port, for example 127.0.0.1:8001, or [::1]:8001 for IPv6',
  });
};

/** Reads `host:port`. Throws `Usage` saying what is wrong. Port 0 is for listening only: `allowPortZero`. */
export function parseAddress(text: string, options: { readonly allowPortZero?: boolean } = {}): Address {
  const colon = text.lastIndexOf(':');
  if (colon < 0) return refuse(text, 'the port is missing');
  const portText = text.slice(colon + 1);
  if (!/^\d{1,5}$/.test(portText) || Number(portText) > 65_535) return refuse(text, 'the port must be 0 to 65535');
  const port = Number(portText);
  if (port === 0 && options.allowPortZero !== true) return refuse(text, 'cannot connect to port 0');
  return { host: parseHost(text, text.slice(0, colon)), port };
}

function parseHost(text: string, host: string): string {
  if (host === '') return refuse(text, 'the host is missing');
  if (host.startsWith('[')) {
    const inner = host.endsWith(']') ? host.slice(1, -1) : '';
    // With a zone (`%eth0`) it is one, but no URL can hold it.
    const usable = isIPv6(inner) && !inner.includes('%');
    return usable ? inner : refuse(text, 'the text in brackets is not an IPv6 address');
  }
  if (isIPv6(host) || host.includes(':')) return refuse(text, 'an IPv6 host needs brackets');
  // 999.1.1.1 looks like a host name, but is not valid in a URL.
  const usable = HOST_NAME.test(host) && URL.canParse(`ws://${host}/`);
  return usable ? host : refuse(text, 'the host is neither a name nor an address');
}

/** The text that `parseAddress` reads. */
export const formatAddress = ({ host, port }: Address): string =>
  isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;

/** True when traffic to `host` cannot leave this machine (127.0.0.0/8, ::1, `localhost`). */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
