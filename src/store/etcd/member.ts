/**
 * One member of the cluster, for the clients of npm `etcd3` to make their calls through: it gives every call a time
 * limit, and tells a request that was certainly not sent from one that may have been carried out. It repeats nothing.
 */
import {
  type Client,
  type ClientUnaryCall,
  Metadata,
  type ServiceClientConstructor,
  type ServiceError,
} from '@grpc/grpc-js';
import { type ICallable, type ILeaseKeepAliveResponse, KVClient, LeaseClient, WatchClient } from 'etcd3';
import type { Clock } from '../../base/seams.ts';
import type { EtcdAccess, StoreUser } from './access.ts';
import { callError, EtcdCallError } from './call-error.ts';
import { clientOf, type ServiceName } from './protocol.ts';
import { CALL_LIMIT_MS, type TimeLimits } from './time-limits.ts';
import { whyUnreachable } from './unreachable.ts';

const CHANNEL_OPTIONS = {
  'grpc.keepalive_time_ms': 6_000,
  'grpc.keepalive_timeout_ms': 2_000,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.min_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
  'grpc.max_receive_message_length': -1,
  'grpc.max_send_message_length': -1,
  // Otherwise a reset channel gets the old, dead connection back.
  'grpc.use_local_subchannel_pool': 1,
};

export interface MemberOptions {
  /** `host:port`. */
  readonly host: string;
  /** One of several: messages name it. */
  readonly isNamed: boolean;
  readonly clock: Clock;
  readonly access: EtcdAccess;
  readonly limits: TimeLimits;
  /** How long to wait until the member is connected. */
  readonly connectLimitMs: number;
}

type ServiceClient = InstanceType<ServiceClientConstructor>;
type Done = (error: EtcdCallError | undefined, answer?: unknown) => void;
type StreamFn<R> = Parameters<ICallable<EtcdMember>['withConnection']>[1] extends (args: infer A) => unknown
  ? (args: A) => Promise<R> | R
  : never;

export class EtcdMember implements ICallable<EtcdMember> {
  readonly kv = new KVClient(this);
  readonly lease = new LeaseClient(this);
  /** Its streams have no time limit. */
  readonly watches = new WatchClient(this);
  readonly callOptionsFactory = undefined;
  readonly #options: MemberOptions;
  /** By service, on one connection; made again after a reset. */
  #clients = new Map<ServiceName, ServiceClient>();
  #generation = 0;
  /** Token of the user. It is requested once, and again when the server refuses it. Each member has separate tokens. */
  #token: Promise<string> | undefined;

  constructor(options: MemberOptions) {
    this.#options = options;
  }

  /** Counts resets: a call that fails late does not tear down the connection that followed its own. */
  get generation(): number {
    return this.#generation;
  }

  /** One request, one answer. Throws `EtcdCallError`. */
  async exec<T>(service: ServiceName, method: string, request: unknown): Promise<T> {
    const { client, metadata } = await this.#connect(service);
    return this.#limited<T>((done) => {
      const answered = (error: ServiceError | null, answer?: unknown): void =>
        done(error === null ? undefined : callError(error), answer);
      const call: ClientUnaryCall = client[method]!(request, metadata, {}, answered);
      return call;
    });
  }

  /** For streams: `etcd3` opens one on the client that it is given. Throws `EtcdCallError`. */
  async withConnection<R>(service: ServiceName, run: StreamFn<R>): Promise<R> {
    const { client, metadata } = await this.#connect(service);
    // A member that is cut off from the others then ends the stream instead of staying silent.
    if (service === 'Watch') metadata.set('hasleader', 'true');
    return run({ resource: this, client, metadata });
  }

  /** What a failed stream means is decided by its reader, which knows whether it had ended the stream itself. */
  markFailed(): void {}

  /** Renews the lease on a separate stream, which is etcd's only way. Throws `EtcdCallError`. */
  async keepAlive(leaseId: bigint): Promise<ILeaseKeepAliveResponse> {
    const stream = await this.lease.leaseKeepAlive();
    return this.#limited<ILeaseKeepAliveResponse>((done) => {
      stream.on('data', (answer) => {
        done(undefined, answer);
        stream.cancel();
      });
      stream.on('error', (error) => done(callError(error)));
      stream.on('end', () => done(new EtcdCallError('the stream ended', { isInDoubt: true })));
      stream.write({ ID: leaseId.toString() });
      return stream;
    });
  }

  /** The next call asks for another one. */
  forgetToken(): void {
    this.#token = undefined;
  }

  /** Drops the connection of `generation`; the next call makes another. */
  reset(generation: number): void {
    if (generation !== this.#generation) return;
    this.#generation += 1;
    const clients = this.#clients;
    this.#clients = new Map();
    for (const client of clients.values()) client.close();
  }

  /** Waits until the member is connected: what fails before that was certainly not sent. */
  async #connect(service: ServiceName): Promise<{ client: ServiceClient; metadata: Metadata }> {
    const { limits } = this.#options;
    limits.checkOpen();
    const generation = this.#generation;
    const client = this.#client(service);
    await this.#waitUntilReady(client);
    const metadata = await this.#callMetadata();
    limits.checkOpen();
    // A call on a channel that another call has closed would throw.
    if (generation !== this.#generation) throw this.#notSent('the connection was reset');
    return { client, metadata };
  }

  async #callMetadata(): Promise<Metadata> {
    const metadata = new Metadata();
    const { user } = this.#options.access;
    if (user === undefined) return metadata;
    this.#token ??= this.#authenticate(user);
    const asked = this.#token;
    try {
      metadata.set('token', await asked);
      return metadata;
    } catch (error) {
      if (this.#token === asked) this.#token = undefined;
      throw error;
    }
  }

  async #authenticate({ name, password }: StoreUser): Promise<string> {
    const client = this.#client('Auth');
    const { token } = await this.#limited<{ readonly token: string }>((done) => {
      const answered = (error: ServiceError | null, answer?: unknown): void =>
        done(error === null ? undefined : callError(error), answer);
      const call: ClientUnaryCall = client.authenticate!({ name, password }, new Metadata(), {}, answered);
      return call;
    }).catch((error: unknown) => {
      // Asking for a token changes nothing: the call that wanted it was not sent.
      throw error instanceof EtcdCallError && error.isInDoubt ? this.#notSent(error.message) : error;
    });
    return token;
  }

  #waitUntilReady(client: Client): Promise<void> {
    const { limits, connectLimitMs } = this.#options;
    return new Promise((resolve, reject) => {
      const fail = (why: string): void => reject(this.#notSent(why));
      const stop = limits.start(connectLimitMs, (why) => {
        if (why === 'closed') fail(WHY.closed());
        else void this.#explain().then(fail, reject);
      });
      client.waitForReady(Number.POSITIVE_INFINITY, (error) => {
        stop();
        if (error === undefined) resolve();
        else fail(error.message);
      });
    });
  }

  #explain(): Promise<string> {
    return whyUnreachable({ ...this.#options, limitMs: this.#options.connectLimitMs / 2 });
  }

  #notSent(why: string): EtcdCallError {
    const { host, isNamed } = this.#options;
    return new EtcdCallError(isNamed ? `${host}: ${why}` : why, { isInDoubt: false });
  }

  #client(service: ServiceName): ServiceClient {
    const known = this.#clients.get(service);
    if (known !== undefined) return known;
    const [first] = this.#clients.values();
    const options = first === undefined ? CHANNEL_OPTIONS : { ...CHANNEL_OPTIONS, channelOverride: first.getChannel() };
    const made = new (clientOf(service))(this.#options.host, this.#options.access.credentials, options);
    this.#clients.set(service, made);
    return made;
  }

  #limited<T>(start: (done: Done) => { cancel(): void }): Promise<T> {
    return new Promise((resolve, reject) => {
      const stop = this.#options.limits.start(CALL_LIMIT_MS, (why) => {
        reject(new EtcdCallError(WHY[why](CALL_LIMIT_MS, 'answer'), { isInDoubt: true }));
        call.cancel();
      });
      const call = start((error, answer) => {
        stop();
        if (error === undefined) resolve(answer as T);
        else reject(error);
      });
    });
  }
}

/** Messages for a wait that was ended. */
const WHY = {
  late: (limitMs: number, what: string) => `no ${what} within ${limitMs} ms`,
  closed: () => 'the store was closed',
};
