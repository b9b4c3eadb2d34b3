/**
 * etcd's gRPC services through the clients that npm `etcd3` makes, with none of its policies: a circuit breaker there is
 * shared by unrelated calls, no call has a deadline, and a failed write is retried without knowing whether it landed.
 * Here each call says whether it may be repeated, has a time limit, and fails over to the next member.
 */
import { noop } from 'cockatiel';
import { ConnectionPool } from 'etcd3/lib/connection-pool.js';
import { PaddletError } from '../../base/errors.ts';
import type { Cancel, Clock } from '../../base/seams.ts';

/** To reach a member, and again for its answer. */
export const CALL_LIMIT_MS = 2_000;
/** With several members, a silent one is not waited for so long. */
const CONNECT_LIMIT_OF_SEVERAL_MS = 500;

const GRPC_OPTIONS = {
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

/** gRPC status codes (https://grpc.github.io/grpc/core/md_doc_statuscodes.html) that etcd answers with. */
export const STATUS = {
  invalidArgument: 3,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  outOfRange: 11,
  unimplemented: 12,
  unauthenticated: 16,
} as const;

/** Answers of the server itself that say that nothing was done; any other failure leaves a sent request in doubt. */
const REFUSALS: ReadonlySet<number> = new Set(Object.values(STATUS));

type ServiceName = 'KV' | 'Lease' | 'Watch';
type Connection = Parameters<Parameters<ConnectionPool['withConnection']>[1]>[0];
export type Metadata = Connection['metadata'];

/** A bidirectional stream, as gRPC makes it. */
export interface Stream {
  write(message: unknown): void;
  cancel(): void;
  on(event: 'data', take: (message: unknown) => void): void;
  on(event: 'error', take: (error: Error) => void): void;
  on(event: 'end', take: () => void): void;
}

type UnaryMethod = (
  request: unknown,
  metadata: Metadata,
  options: object,
  done: (error: GrpcError | null, response: unknown) => void,
) => { cancel(): void };
type StreamMethod = (metadata: Metadata, options: object) => Stream;

export interface GrpcError extends Error {
  readonly code: number;
}

/** How a call failed, before it is told in the store's words. */
export class EtcdCallError extends Error {
  override readonly name = 'EtcdCallError';
  /** The status the server refused with; undefined when it was out of reach or silent. */
  readonly status: number | undefined;
  /** The request may have been carried out. */
  readonly isInDoubt: boolean;

  constructor(message: string, facts: { status?: number | undefined; isInDoubt: boolean }) {
    super(message);
    this.status = facts.status;
    this.isInDoubt = facts.isInDoubt;
  }
}

/** One member, with the clients that are in use for it. */
class Member {
  readonly host: string;
  /** Counts resets: a call that fails late does not tear down the connection that followed its own. */
  generation = 0;
  readonly #pool: ConnectionPool;
  #connection: Connection | undefined;

  constructor(host: string) {
    this.host = host;
    this.#pool = new ConnectionPool({
      hosts: host,
      grpcOptions: GRPC_OPTIONS,
      faultHandling: { host: () => noop, global: noop },
    });
  }

  async connection(service: ServiceName): Promise<Connection> {
    this.#connection = await this.#pool.withConnection(service, (connection) => connection);
    return this.#connection;
  }

  reset(generation: number): void {
    if (generation !== this.generation) return;
    this.generation += 1;
    this.#connection?.resource.resetAllServices();
  }

  close(): void {
    this.#pool.close();
  }
}

export interface CallOptions {
  /** Reads, and writes that may happen twice: repeated on the next member while there is time. */
  readonly isRepeatable: boolean;
}

export class EtcdRpc {
  readonly #clock: Clock;
  readonly #members: readonly Member[];
  readonly #connectLimitMs: number;
  readonly #running = new Set<Cancel>();
  #current = 0;
  #isClosed = false;

  constructor(hosts: readonly string[], clock: Clock) {
    this.#clock = clock;
    this.#members = hosts.map((host) => new Member(host));
    this.#connectLimitMs = hosts.length === 1 ? CALL_LIMIT_MS : CONNECT_LIMIT_OF_SEVERAL_MS;
  }

  /** One request, one answer. Throws `EtcdCallError`. */
  unary(service: 'KV' | 'Lease', method: string, request: unknown, options: CallOptions): Promise<unknown> {
    return this.#withFailover(options, async (member) => {
      const { client, metadata } = await this.#ready(member, service);
      checkOpen(client);
      const call = (client as unknown as Record<string, UnaryMethod>)[method]!;
      return this.#limited((done) => call.call(client, request, metadata, {}, done));
    });
  }

  /** Sends one message on a new stream and waits for the first answer to it. Throws `EtcdCallError`. */
  exchange(service: 'Lease', method: string, message: unknown): Promise<unknown> {
    return this.#withFailover({ isRepeatable: true }, async (member) => {
      const { client, metadata } = await this.#ready(member, service);
      checkOpen(client);
      const open = (client as unknown as Record<string, StreamMethod>)[method]!;
      return this.#limited((done) => {
        const stream = open.call(client, metadata, {});
        stream.on('data', (answer) => {
          done(null, answer);
          stream.cancel();
        });
        stream.on('error', (error) => done(error as GrpcError, undefined));
        stream.on('end', () => done(Object.assign(new Error('the stream ended'), { code: 14 }), undefined));
        stream.write(message);
        return stream;
      });
    });
  }

  /** Opens a stream that lasts. `fail` tells that it did not work out: the next one goes to the next member. */
  async watch(): Promise<{ readonly stream: Stream; readonly fail: () => void }> {
    const member = this.#members[this.#current]!;
    const { generation } = member;
    const fail = (): void => this.#fail(member, generation);
    const { client, metadata } = await this.#ready(member, 'Watch').catch((error: unknown) => {
      fail();
      throw error;
    });
    checkOpen(client);
    const withLeader = metadata.clone();
    // A member that is cut off from the others ends the stream instead of staying silent.
    withLeader.set('hasleader', 'true');
    const { watch } = client as unknown as { watch: StreamMethod };
    return { stream: watch.call(client, withLeader, {}), fail };
  }

  close(): void {
    this.#isClosed = true;
    for (const cancel of [...this.#running]) cancel();
    for (const member of this.#members) member.close();
  }

  async #withFailover<T>(options: CallOptions, run: (member: Member) => Promise<T>): Promise<T> {
    const limitMs = this.#clock.monotonicMs() + CALL_LIMIT_MS;
    for (;;) {
      const member = this.#members[this.#current]!;
      const { generation } = member;
      try {
        return await run(member);
      } catch (error) {
        if (!(error instanceof EtcdCallError) || error.status !== undefined || this.#isClosed) throw error;
        this.#fail(member, generation);
        const mayRepeat = options.isRepeatable || !error.isInDoubt;
        if (!mayRepeat || this.#clock.monotonicMs() >= limitMs) throw error;
      }
    }
  }

  #fail(member: Member, generation: number): void {
    member.reset(generation);
    if (this.#members[this.#current] === member) this.#current = (this.#current + 1) % this.#members.length;
  }

  /** Waits until the member is connected: what fails before that was certainly not sent. */
  async #ready(member: Member, service: ServiceName): Promise<Connection> {
    if (this.#isClosed) throw closedError();
    const connection = await member.connection(service).catch((error: unknown) => {
      if (this.#isClosed) throw closedError();
      throw error;
    });
    await new Promise<void>((resolve, reject) => {
      const fail = (why: string): void => reject(new EtcdCallError(`${member.host}: ${why}`, { isInDoubt: false }));
      const stop = this.#timed(this.#connectLimitMs, (why) => fail(why === 'late' ? 'no connection' : why));
      connection.client.waitForReady(Number.POSITIVE_INFINITY, (error) => {
        stop();
        if (error === undefined) resolve();
        else fail(error.message);
      });
    });
    return connection;
  }

  #limited(
    start: (done: (error: GrpcError | null, response: unknown) => void) => { cancel(): void },
  ): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const stop = this.#timed(CALL_LIMIT_MS, (why) => {
        reject(new EtcdCallError(why === 'late' ? `no answer in ${CALL_LIMIT_MS} ms` : why, { isInDoubt: true }));
        call.cancel();
      });
      const call = start((error, response) => {
        stop();
        if (error === null) resolve(response);
        else reject(callError(error));
      });
    });
  }

  /** Calls `end` once, when the time is up or the store is closed, unless it is stopped before. */
  #timed(limitMs: number, end: (why: string) => void): Cancel {
    const stop = (): void => {
      cancelTimer();
      this.#running.delete(cancel);
    };
    const cancel = (): void => {
      stop();
      end('the store was closed');
    };
    const cancelTimer = this.#clock.after(limitMs, () => {
      stop();
      end('late');
    });
    this.#running.add(cancel);
    return stop;
  }
}

const closedError = (): EtcdCallError => new EtcdCallError('the store was closed', { isInDoubt: false });

const CHANNEL_IS_SHUT_DOWN = 4;

/** Another call may have reset the connection since it was ready; a call on a channel that was shut down would throw. */
function checkOpen(client: Connection['client']): void {
  if (client.getChannel().getConnectivityState(false) !== CHANNEL_IS_SHUT_DOWN) return;
  throw new EtcdCallError('the connection was reset', { isInDoubt: false });
}

function callError(error: GrpcError): EtcdCallError {
  const isRefusal = REFUSALS.has(error.code);
  return new EtcdCallError(error.message, { status: isRefusal ? error.code : undefined, isInDoubt: !isRefusal });
}

/** What a failed call means to the store's user. */
export function asStoreError(url: string, error: unknown): unknown {
  if (!(error instanceof EtcdCallError)) return error;
  const { status, message } = error;
  if (status === undefined) {
    if (error.isInDoubt) return new PaddletError('StoreUnknownOutcome', `store ${url}: ${message}`, { cause: error });
    const hint = 'is etcd running there? It is asked again as long as this process runs';
    return new PaddletError('StoreUnavailable', `store ${url}: ${message}`, { hint, cause: error });
  }
  switch (status) {
    case STATUS.invalidArgument:
      return new PaddletError('StoreLimit', `store ${url}: ${message}`, { cause: error });
    case STATUS.notFound:
      return new PaddletError('LeaseGone', `store ${url}: ${message}`, { cause: error });
    case STATUS.outOfRange:
      return new PaddletError('StoreCompacted', `store ${url}: ${message}`, { cause: error });
    case STATUS.resourceExhausted:
    case STATUS.failedPrecondition:
      return new PaddletError('StoreUnavailable', `store ${url}: ${message}`, { cause: error });
    default:
      return new PaddletError('StoreInvalid', `store ${url}: ${message}`, { cause: error });
  }
}
