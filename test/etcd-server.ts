/**
 * A real etcd server for tests: started on free ports in a folder of its own; can be stopped, killed, restarted, wiped.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

/** `PADDLET_TEST_ETCD`, etcd on PATH, or what scripts/fetch-etcd.sh has brought. Undefined when there is none. */
export function findEtcd(): string | undefined {
  const named = process.env.PADDLET_TEST_ETCD;
  if (named !== undefined && named !== '') return named;
  const folders = (process.env.PATH ?? '').split(':').filter((folder) => folder !== '');
  const places = [...folders.map((folder) => join(folder, 'etcd')), join(ROOT, '.cache/etcd/usr/bin/etcd')];
  return places.find((place) => existsSync(place));
}

/** The reason to skip tests that need etcd, or undefined. With CI=true nothing is skipped: such tests then fail. */
export function whyNoEtcd(): string | undefined {
  if (findEtcd() !== undefined || process.env.CI === 'true') return undefined;
  return 'no etcd: run scripts/fetch-etcd.sh or set PADDLET_TEST_ETCD';
}

export interface EtcdServerOptions {
  /** Milliseconds; etcd grants no lease under 1.5 times this, rounded up to seconds. */
  readonly electionTimeoutMs?: number;
  /** PEM files: the server's own, and the authority that certificates of clients must come from. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca: string };
}

/** Below those that Linux gives to processes that ask for any port, even while etcd is down. */
const PORTS = { from: 20_000, to: 30_000 };
const START_ATTEMPTS = 5;

export class EtcdServer {
  /** `host:port` for clients. */
  readonly host: string;
  readonly #scheme: 'etcd' | 'etcds';
  /** Plain HTTP in any case, for `/health`. */
  readonly #healthHost: string;
  readonly #binary: string;
  readonly #arguments: readonly string[];
  readonly #folder: string;
  #child: ChildProcess | undefined;
  #output = '';
  readonly #killAtExit = (): void => void this.#child?.kill('SIGKILL');

  private constructor(binary: string, hosts: Hosts, { electionTimeoutMs = 100, tls }: EtcdServerOptions) {
    const { host, peerHost, healthHost } = hosts;
    const clients = `${tls === undefined ? 'http' : 'https'}://${host}`;
    this.host = host;
    this.#scheme = tls === undefined ? 'etcd' : 'etcds';
    this.#healthHost = healthHost;
    this.#binary = binary;
    this.#folder = mkdtempSync(join(tmpdir(), 'paddlet-etcd-'));
    this.#arguments = [
      ...['--data-dir', join(this.#folder, 'data')],
      ...['--listen-client-urls', clients, '--advertise-client-urls', clients],
      ...['--listen-metrics-urls', `http://${healthHost}`],
      ...(tls === undefined ? [] : ['--cert-file', tls.cert, '--key-file', tls.key]),
      ...(tls === undefined ? [] : ['--client-cert-auth', '--trusted-ca-file', tls.ca]),
      ...['--listen-peer-urls', `http://${peerHost}`, '--initial-advertise-peer-urls', `http://${peerHost}`],
      ...['--initial-cluster', `default=http://${peerHost}`],
      ...['--heartbeat-interval', String(electionTimeoutMs / 10), '--election-timeout', String(electionTimeoutMs)],
    ];
    process.once('exit', this.#killAtExit);
  }

  static async start(options: EtcdServerOptions = {}): Promise<EtcdServer> {
    const binary = findEtcd();
    if (binary === undefined) throw new Error('no etcd: run scripts/fetch-etcd.sh or set PADDLET_TEST_ETCD');
    for (let attempt = 1; ; attempt++) {
      const [host, peerHost, healthHost] = [await freeHost(), await freeHost(), await freeHost()];
      const server = new EtcdServer(binary, { host, peerHost, healthHost }, options);
      try {
        await server.restart();
        return server;
      } catch (error) {
        await server.stop();
        // Another one took a port since it was found free.
        const isTaken = String(error).includes('address already in use');
        if (!isTaken || attempt === START_ATTEMPTS) throw error;
      }
    }
  }

  get url(): string {
    return `${this.#scheme}://${this.host}`;
  }

  /** Starts it again, on the same ports and data, and waits until it is healthy. */
  async restart(): Promise<void> {
    await this.kill();
    const child = spawn(this.#binary, this.#arguments, { stdio: ['ignore', 'ignore', 'pipe'] });
    this.#child = child;
    const closed = once(child, 'close');
    this.#output = '';
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#output = (this.#output + text).slice(-10_000);
    });
    while (!(await this.#isHealthy())) {
      if (child.exitCode !== null) {
        // All that it said is here then.
        await closed;
        throw new Error(`etcd exited with ${child.exitCode}:\n${this.#output}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }

  /** SIGSTOP: it keeps its connections and answers nothing. Returns when all its threads have stopped. */
  async pause(): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined || !child.kill('SIGSTOP')) throw new Error('etcd does not run');
    while (!hasStopped(child.pid)) await new Promise((resolve) => setImmediate(resolve));
  }

  resume(): void {
    this.#child?.kill('SIGCONT');
  }

  /** SIGKILL; the data stays. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  /** Kills it and deletes its data; `restart` then makes an empty store at the same address. */
  async wipe(): Promise<void> {
    await this.kill();
    rmSync(join(this.#folder, 'data'), { recursive: true });
  }

  /** Kills it and removes all that it left. */
  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
    process.off('exit', this.#killAtExit);
  }

  /** Forgets history up to `revision`. By etcd's JSON gateway, as a stranger would. */
  async compact(revision: bigint): Promise<void> {
    await this.#post('/v3/kv/compaction', { revision: revision.toString(), physical: true });
  }

  /** Users must give their passwords from now on: `root`, who may do everything, and `user`, for the keys of jobs. */
  async requireUsers(user: { readonly name: string; readonly password: string }): Promise<void> {
    const prefix = { key: base64('/paddlet/'), range_end: base64('/paddlet0') };
    await this.#post('/v3/auth/user/add', { name: 'root', password: 'of-root' });
    await this.#post('/v3/auth/user/grant', { user: 'root', role: 'root' });
    await this.#post('/v3/auth/user/add', user);
    await this.#post('/v3/auth/role/add', { name: 'jobs' });
    await this.#post('/v3/auth/role/grant', { name: 'jobs', perm: { permType: 'READWRITE', ...prefix } });
    await this.#post('/v3/auth/user/grant', { user: user.name, role: 'jobs' });
    await this.#post('/v3/auth/enable', {});
  }

  async #post(path: string, body: object): Promise<void> {
    const answer = await fetch(`http://${this.host}${path}`, { method: 'POST', body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`etcd ${path}: ${answer.status} ${await answer.text()}`);
  }

  async #isHealthy(): Promise<boolean> {
    try {
      const answer = await fetch(`http://${this.#healthHost}/health`, { signal: AbortSignal.timeout(1_000) });
      return answer.ok && ((await answer.json()) as { health?: unknown }).health === 'true';
    } catch {
      return false; // Not listening yet.
    }
  }
}

interface Hosts {
  readonly host: string;
  readonly peerHost: string;
  readonly healthHost: string;
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** By proc(5): the state follows the name, which is in parentheses. */
function hasStopped(pid: number): boolean {
  const tasks = `/proc/${pid}/task`;
  return readdirSync(tasks).every((task) => /\) T /.test(readFileSync(join(tasks, task, 'stat'), 'utf8')));
}

const freeHost = async (): Promise<string> => `127.0.0.1:${await freePort()}`;

export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(PORTS.from, PORTS.to);
    const server = createServer().listen(port, '127.0.0.1');
    try {
      await once(server, 'listening');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') continue;
      throw error;
    }
    server.close();
    await once(server, 'close');
    return port;
  }
}
