/**
 * Who may ask at all, before anything else of a request is looked at. A browser runs pages of strangers on machines
 * that can reach a role, and tells where a request comes from: `Host` is the name that the page used (under DNS
 * rebinding a name of the attacker), `Origin` the page itself. Neither proves anything of other programs: that is what
 * the join token is for.
 */
import { isIPv6 } from 'node:net';
import { PaddletError } from '../../base/errors.ts';
import type { AllowedCallers } from '../messages/channel.ts';
import { isLoopback } from './address.ts';

export interface Caller {
  /** Values of the `Host` and `Origin` headers: each is there once at most in a request that is valid. */
  readonly host: readonly string[];
  readonly origin: readonly string[];
  /** The address of this machine that the connection came in on; undefined for a Unix socket. */
  readonly localAddress: string | undefined;
  readonly isUpgrade: boolean;
}

export interface CallerRefusal {
  readonly status: number;
  readonly reason: string;
  readonly body: string;
}

const HOST = /^(?:\[([0-9a-f:.]+)\]|([^\s:[\]/?#@]+))(?::(\d{1,5}))?$/i;
const HTTP_PORT = '80';
/** Only for binding: no other process reaches a role by them. */
const WILDCARDS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

const FOREIGN_HOST: CallerRefusal = {
  status: 403,
  reason: 'Forbidden',
  body: 'the Host of this request is not a name of this role; allow it with --allow-host\n',
};
const FOREIGN_ORIGIN: CallerRefusal = {
  status: 403,
  reason: 'Forbidden',
  body: 'pages of other origins may not use this role; allow an origin with --allow-origin\n',
};
const OTHER_ROLE: CallerRefusal = { status: 421, reason: 'Misdirected Request', body: 'this is another role\n' };

export class CallerRules {
  readonly #own: ReadonlySet<string>;
  readonly #hosts: ReadonlySet<string>;
  readonly #origins: ReadonlySet<string>;

  /** `own`: the host that is listened on, and the host that other processes get. */
  constructor(own: readonly string[], allowed: AllowedCallers) {
    this.#own = new Set(own.filter((host) => !WILDCARDS.has(host)).map(lowerCase));
    this.#hosts = new Set(allowed.hosts.map(lowerCase));
    this.#origins = new Set(allowed.origins.map(lowerCase));
  }

  /** Why the caller is refused by the role at `port`, or undefined. */
  refusalOf({ host, origin, localAddress, isUpgrade }: Caller, port: number): CallerRefusal | undefined {
    const [, v6, name, itsPort = HTTP_PORT] = HOST.exec(host.length === 1 ? host[0]! : '') ?? [];
    const named = (v6 ?? name)?.toLowerCase();
    if (named === undefined) return FOREIGN_HOST;
    if (!this.#hosts.has(named)) {
      // An address is not a name: it cannot be made to lead elsewhere.
      const isOwn = this.#own.has(named) || isLoopback(named) || named === localAddress?.replace(/^::ffff:/, '');
      if (!isOwn) return FOREIGN_HOST;
      // A connection that was meant for another role could be passed on to this one.
      if (isUpgrade && Number(itsPort) !== port) return OTHER_ROLE;
    }
    if (origin.length === 0) return undefined;
    return this.#mayUse(origin, host[0]!) ? undefined : FOREIGN_ORIGIN;
  }

  /** An origin of the user's choice, whose pages may read the answers. */
  allowedOrigin(origin: readonly string[]): string | undefined {
    return origin.find((one) => this.#origins.has(one.toLowerCase()));
  }

  #mayUse(origin: readonly string[], host: string): boolean {
    const [only] = origin;
    if (only === undefined || origin.length > 1) return false;
    return only.toLowerCase() === `http://${host.toLowerCase()}` || this.#origins.has(only.toLowerCase());
  }
}

const lowerCase = (text: string): string => text.toLowerCase();

/** Reads what a user wrote: `https://board.example:8443`. Throws `Usage`. */
export function parseOrigin(text: string): string {
  const origin = URL.canParse(text) ? new URL(text).origin : 'null';
  if (/^https?:/.test(origin) && origin === text.toLowerCase().replace(/\/$/, '')) return origin;
  throw new PaddletError('Usage', `origin ${JSON.stringify(text.slice(0, 300))}: not the origin of a web page`, {
    hint: 'write scheme, host and port as the browser does, for example https://board.example or http://10.0.0.5:3000',
  });
}

/** Reads what a user wrote: a name, or an address with or without brackets. Throws `Usage`. */
export function parseAllowedHost(text: string): string {
  const [, v6, name, port] = HOST.exec(isIPv6(text) ? `[${text}]` : text) ?? [];
  const host = v6 ?? name;
  if (host !== undefined && port === undefined) return host.toLowerCase();
  throw new PaddletError('Usage', `host ${JSON.stringify(text.slice(0, 300))}: not a name or address`, {
    hint: 'write a host without a port, for example trainer-1.example or 10.0.0.5',
  });
}
