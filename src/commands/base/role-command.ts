/** The base of commands that run a role: makes the role's context from the flags. */
import { hostname } from 'node:os';
import { join } from 'node:path';
import { type Command, Flags } from '@oclif/core';
import { EXIT, type ExitCode, isPaddletError } from '../../base/errors.ts';
import type { Cancel, Host } from '../../base/seams.ts';
import type { KnownOfProcess, RoleContext, RoleEnd } from '../../cluster/context.ts';
import { StoredJoinToken } from '../../cluster/job/join-token.ts';
import { scrapeTargets } from '../../cluster/job/scrape-targets.ts';
import { createTroubles, TROUBLE_KINDS, troublesOf } from '../../cluster/troubles.ts';
import {
  createHealth,
  createMetricsRegistry,
  registerServed,
  registerTraffic,
  registerTroubles,
} from '../../host/metrics.ts';
import { logWarnings } from '../../host/outputs.ts';
import { keepErrors } from '../../host/recent-errors.ts';
import { reportingLog } from '../../host/reports.ts';
import { onForwarded, onTetherLost, tetheredTo } from '../../host/tether.ts';
import type { JoinToken } from '../../protocol/join/token.ts';
import type { ListenOptions, Network, Server } from '../../protocol/messages/channel.ts';
import { DEFAULT_LISTEN, formatAddress, parseAddress } from '../../protocol/websocket/address.ts';
import { parseAllowedHost, parseOrigin } from '../../protocol/websocket/callers.ts';
import { type ClaimedPort, claimPort } from '../../protocol/websocket/claim-port.ts';
import { createWebSocketNetwork } from '../../protocol/websocket/network.ts';
import { type Keys, keysOf } from '../../store/keys.ts';
import { openStore } from '../../store/open-store.ts';
import type { Store } from '../../store/store.ts';
import { VERSION } from '../version.ts';
import { findStore, jobFolder, type WhereFlags, waitForChroot } from './find-store.ts';
import { OWN_SIGNALS, type RoleSignals, roleSignals } from './interruption.ts';
import { PaddletCommand } from './paddlet-command.ts';
import { type CredentialFlags, storeCredentials } from './store-credentials.ts';

/** For commands that start roles. */
export const exposeFlags = {
  'expose-metrics': Flags.boolean({
    env: 'PADDLET_EXPOSE_METRICS',
    description: 'Serve GET /metrics without the join token: anyone who can reach the port can read the metrics.',
  }),
};

/** For commands that also listen for people and their browsers. */
export const listenFlags = {
  listen: Flags.string({
    default: DEFAULT_LISTEN,
    helpValue: 'HOST:PORT',
    description: 'Address to listen on; port 0 selects a free port.',
  }),
  'allow-host': Flags.string({
    multiple: true,
    multipleNonGreedy: true,
    default: [],
    helpValue: 'HOST',
    parse: async (text) => parseAllowedHost(text),
    description:
      'Additional host name under which this process accepts requests, such as the name of a proxy. May be repeated.',
  }),
  'allow-origin': Flags.string({
    multiple: true,
    multipleNonGreedy: true,
    default: [],
    helpValue: 'ORIGIN',
    parse: async (text) => parseOrigin(text),
    description:
      'Origin of web pages that may send requests to this process, such as https://board.example. May be repeated.',
  }),
};

export const roleFlags = {
  ...exposeFlags,
  ...listenFlags,
  advertise: Flags.string({
    helpValue: 'HOST',
    description:
      'Host name or address at which other processes reach this process. Default: the host of --listen; if that is 0.0.0.0 or ::, the host name of this machine.',
  }),
};

/** Set by `paddlet run`: the port to be tried first, so that a process that is started again is where it was. */
export const PORT_VARIABLE = 'PADDLET_TRY_PORT';

export interface RoleFlags extends WhereFlags, CredentialFlags {
  readonly listen: string;
  readonly advertise?: string | undefined;
  readonly 'allow-host': readonly string[];
  readonly 'allow-origin': readonly string[];
  readonly 'expose-metrics': boolean;
}

export abstract class RoleCommand<T extends typeof Command> extends PaddletCommand<T> {
  /** Runs `role` with its context; the store is closed in the end. Without a `chroot`, the only job in the store. */
  protected async withRole<R>(
    role: string,
    options: { readonly flags: RoleFlags; readonly url: string; readonly where: WhereFlags },
    run: (context: RoleContext) => Promise<R>,
  ): Promise<R | undefined> {
    const plain = this.host();
    const { log, recent: recentErrors } = keepErrors(plain.log, () => plain.clock.wallSeconds());
    logWarnings(log);
    const host = { ...plain, log: reportingLog(log) };
    const signals = stopSignals(host);
    const { stop } = signals;
    let store: Store | undefined;
    let stopFollowing: Cancel = () => {};
    let port: ClaimedPort | undefined;
    try {
      // Before the store is waited for, and a job in it: that may take hours.
      port = await claimPort(options.flags.listen);
      if (options.flags.advertise !== undefined)
        parseAddress(formatAddress({ host: options.flags.advertise, port: 1 }));
      store = await openOrRetry(options, host, stop);
      const opened = store;
      const chroot = await waitForStore(host, opened, stop, () => waitForChroot(opened, options.where, host, stop));
      const keys = keysOf(chroot);
      this.identity.job ??= jobNameIn(keys);
      const joinToken = new StoredJoinToken({ ...host, store, keys });
      stopFollowing = joinToken.follow();
      const labels = { job: jobNameIn(keys), role: this.identity.role };
      const registry = createMetricsRegistry(labels, VERSION);
      const identify = (facts: KnownOfProcess): void => {
        Object.assign(this.identity, facts);
        if (facts.index !== undefined) registry.setDefaultLabels({ ...labels, index: String(facts.index) });
      };
      const parts = { ...signals, host, store, keys, joinToken, port, identify, registry, recentErrors };
      return await run(makeContext(role, options.flags, parts));
    } catch (error) {
      if (isPaddletError(error, 'Interrupted')) return undefined;
      throw error;
    } finally {
      stopFollowing();
      await port?.release();
      await store?.close();
    }
  }
}

/**
 * They abort when the process that started this one has exited, too. A launcher leaves the work of the whole job to be
 * saved; the end of a guard is the end of its child, as if that had been killed itself.
 */
function stopSignals(host: Host): RoleSignals {
  const orphaned = new AbortController();
  const endNow = new AbortController();
  onTetherLost(({ parent, stopLimitMs }) => {
    host.log.warn(`the ${parent} has exited; ${parent === 'guard' ? 'ending without a save' : 'stopping'}`);
    if (parent === 'guard') endNow.abort();
    orphaned.abort();
    host.clock.after(stopLimitMs, () => {
      host.log.error(`not stopped within ${stopLimitMs / 1000} s after the ${parent} has exited; ending at once`);
      process.exit(EXIT.interrupted);
    });
  });
  const own = roleSignals(OWN_SIGNALS);
  const forwarded = forwardedSignals();
  return {
    stop: AbortSignal.any([own.stop, forwarded.stop, orphaned.signal]),
    jobStop: AbortSignal.any([own.jobStop, forwarded.jobStop, orphaned.signal]),
    endNow: endNow.signal,
  };
}

/** Those that a guard passes on count by themselves: the same one may have reached this process, too. */
function forwardedSignals(): RoleSignals {
  const runs = new Map<string, () => void>();
  onForwarded((signal) => runs.get(signal)?.());
  return roleSignals({ on: (signal, run) => runs.set(signal, run), exit: (code) => process.exit(code) });
}

interface RoleParts {
  readonly joinToken: JoinToken;
  readonly port: ClaimedPort;
}

function makeContext(
  role: string,
  flags: RoleFlags,
  parts: RoleSignals &
    Required<Pick<RoleContext, 'host' | 'store' | 'keys' | 'identify' | 'registry' | 'recentErrors'>> &
    RoleParts,
): RoleContext {
  const { host, store, keys, joinToken, port, identify, registry, recentErrors, stop, jobStop, endNow } = parts;
  const troubles = createTroubles();
  registerTroubles(registry, TROUBLE_KINDS, () => troublesOf({ troubles, store }).map(({ kind }) => kind));
  const traffic = { sentBytes: 0, receivedBytes: 0 };
  registerTraffic(registry, traffic);
  const network = createWebSocketNetwork({ ...host, joinToken, traffic, onServed: registerServed(registry) });
  return {
    host,
    store,
    keys,
    network: {
      ...network,
      listen: async (asked) => {
        await port.release();
        return listenOn(network, asked, process.env[PORT_VARIABLE]);
      },
    },
    listen: flags.listen,
    advertise: flags.advertise,
    allow: { hosts: flags['allow-host'], origins: flags['allow-origin'] },
    registry,
    health: (isReady) =>
      createHealth({
        ...{ role, isReady, registry, exposeMetrics: flags['expose-metrics'] },
        ...(role === 'master' && { targets: () => scrapeTargets(store, keys, jobNameIn(keys)) }),
      }),
    stop,
    jobStop,
    ...(endNow === undefined ? {} : { endNow }),
    troubles,
    startedBy: tetheredTo() === 'launcher' ? 'run' : undefined,
    hostName: hostname(),
    pid: process.pid,
    version: VERSION,
    identify,
    recentErrors,
  };
}

/** On the port that is to be tried first, else as asked; never where the user has chosen one. */
export async function listenOn(network: Network, asked: ListenOptions, port: string | undefined): Promise<Server> {
  const address = parseAddress(asked.listen, { allowPortZero: true });
  if (port === undefined || port === '' || address.port !== 0) return network.listen(asked);
  try {
    return await network.listen({ ...asked, listen: formatAddress({ ...address, port: Number(port) }) });
  } catch (error) {
    if (!isPaddletError(error, 'PortInUse')) throw error;
    return network.listen(asked);
  }
}

/** Retries while the store is unreachable, and logs it. */
async function waitForStore<R>(host: Host, store: Store, stop: AbortSignal, call: () => Promise<R>): Promise<R> {
  const { retryUntilAnswered } = await import('../../store/retry-until-answered.ts');
  return retryUntilAnswered({ ...host, store, signal: stop }, call);
}

/** Retries while the store may come: the file is locked, its disk is full or not mounted, a cluster is unreachable. */
async function openOrRetry(
  { url, flags }: { readonly url: string; readonly flags: RoleFlags },
  host: Host,
  signal: AbortSignal,
): Promise<Store> {
  const credentials = storeCredentials(url, flags);
  const { retryUntilAnswered } = await import('../../store/retry-until-answered.ts');
  return retryUntilAnswered({ ...host, store: { url }, signal }, () =>
    openStore(url, { ...host, access: 'join', credentials }),
  );
}

/** The store in a role's flags; a role that is started by hand creates no folder. */
export const storeUrl = (flags: WhereFlags): string => findStore(flags).url;

/** The name of the job, before its record is read. */
export const jobNameIn = ({ chroot }: Keys): string => chroot.slice(chroot.lastIndexOf('/') + 1);

export const checkpointFolder = (flags: WhereFlags, jobName: string): string =>
  join(jobFolder(flags, jobName), 'checkpoints');

export const exitOf = (end: RoleEnd | undefined): ExitCode =>
  end === 'finished' || end === 'left' ? EXIT.done : EXIT.interrupted;
