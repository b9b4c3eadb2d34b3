/** For messages: why a member cannot be connected to, found by trying once more in plain steps: name, port, TLS. */
import { lookup } from 'node:dns/promises';
import { connect, isIP, type Socket } from 'node:net';
import { type SecureContextOptions, connect as tlsConnect } from 'node:tls';
import type { Clock } from '../../base/seams.ts';
import type { EtcdAccess } from './access.ts';

export interface Unreachable {
  /** `host:port`. */
  readonly host: string;
  readonly access: Pick<EtcdAccess, 'tls'>;
  readonly clock: Clock;
  /** Time limit for finding the reason; a host that stays silent that long is reported as silent. */
  readonly limitMs: number;
  /** Finds the address of a name; that of Node by default. */
  readonly resolve?: (name: string) => Promise<unknown>;
}

export async function whyUnreachable({ host, access, clock, limitMs, resolve = lookup }: Unreachable): Promise<string> {
  const colon = host.lastIndexOf(':');
  const name = host.slice(0, colon).replace(/^\[(.*)\]$/, '$1');
  const port = Number(host.slice(colon + 1));
  let isResolved = false;
  const late = Promise.withResolvers<string>();
  const cancel = clock.after(limitMs, () =>
    late.resolve(isResolved ? SILENT : `the host name ${name} was not resolved in time`),
  );
  const resolved = async (): Promise<string> => {
    try {
      await resolve(name);
    } catch (error) {
      return `the host name ${name} cannot be resolved (${codeOf(error)})`;
    }
    isResolved = true;
    return findReason(name, port, access.tls);
  };
  return Promise.race([resolved(), late.promise]).finally(cancel);
}

const SILENT = 'no answer (time-out)';

/** What Node says has the address in it, which the message has already. */
const REFUSALS: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'connection refused'],
  ['ENETUNREACH', 'its network is unreachable from this machine'],
  ['EHOSTUNREACH', 'its host is unreachable from this machine'],
  ['ETIMEDOUT', SILENT],
]);

async function findReason(name: string, port: number, tls: SecureContextOptions | undefined): Promise<string> {
  const refusal = await outcomeOf(connect({ host: name, port }), 'connect');
  if (refusal !== undefined) return REFUSALS.get(codeOf(refusal)) ?? refusal.message;
  if (tls === undefined) return 'connected, but no etcd answers there; if it expects TLS, write etcds://';
  const servername = isIP(name) === 0 ? { servername: name } : {};
  const failure = await outcomeOf(tlsConnect({ ...tls, ...servername, host: name, port }), 'secureConnect');
  return failure === undefined ? 'connected by TLS, but no etcd answers there' : `TLS failed: ${failure.message}`;
}

/** Undefined when the event came, else the error. */
function outcomeOf(socket: Socket, event: 'connect' | 'secureConnect'): Promise<Error | undefined> {
  return new Promise<Error | undefined>((resolve) => {
    socket.unref();
    socket.once(event, () => resolve(undefined));
    socket.on('error', resolve);
  }).finally(() => socket.destroy());
}

const codeOf = (error: unknown): string => String((error as { code?: unknown }).code);
