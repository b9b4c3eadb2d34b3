/**
 * What the roles see of the network: typed requests and replies with raw segments. The real network (WebSocket) and the
 * simulated one both implement `Network`. Frames are described in docs/protocol.md.
 */
import type { Cancel } from '../../base/seams.ts';
import type { ReplyHeader, RequestHeader } from './all-messages.ts';

/** Memory that a payload landed in. `bytes()` is made at each use; `free()` gives the memory back, once. */
export interface Landing {
  readonly byteLength: number;
  /** True for memory that stays where it is until it is freed: it can be filled by the operating system. */
  readonly fixed?: boolean;
  bytes(): Uint8Array;
  /**
   * For memory that may move: `run` is called, until `free`, as soon as it has, before anybody can write to where it
   * was. With that it can be filled by the operating system, too. To be called once.
   */
  readonly onMoved?: ((run: () => void) => void) | undefined;
  /** Called as the payload comes: its first `byteLength` bytes are there, and the last of them still in the cache. */
  arrived?(byteLength: number): void;
  free(): void;
}

/**
 * Hands out the memory that payloads of one connection or server land in; undefined leaves it to the network. May throw
 * `OutOfMemory` or `Overloaded`.
 */
export type LandingAllocator = (byteLength: number) => Landing | undefined;

/**
 * A received message. `segment(i)` views the landing; not valid after `free()` or, for kernel memory, across an await.
 * The receiver of an answer frees it. A request is freed by the network when its answer was sent; its handler may do it
 * earlier.
 */
export interface Received<H> {
  readonly header: H;
  readonly segmentCount: number;
  segment(index: number): Uint8Array;
  /** Bytes of all segments together. Networks that do not know leave it out. */
  readonly payloadBytes?: number;
  free(): void;
  /**
   * For a request: memory with any content for the answer's segments, 8-byte aligned. The network takes the memory back
   * and reuses it after the answer is sent; nothing may refer to it then. Networks without such memory omit it.
   */
  readonly answerMemory?: (byteLength: number) => Uint8Array;
  /** For a request: lets later requests of the same type start before this one is answered. Networks may omit it. */
  readonly letPass?: () => void;
}

export interface Outgoing<H> {
  readonly header: H;
  /**
   * Ordinary memory, not kernel memory (which moves when it grows). Not copied: a caller must not change them before
   * the promise of the call settles, a handler never after it has answered with them (views of its request are fine).
   */
  readonly segments?: readonly Uint8Array[];
}

export interface RequestOptions {
  /** The whole request, reconnection included; then `RequestTimeout`. */
  readonly timeoutMs: number;
}

/**
 * The client's end of one connection. It connects at the first request, and again by itself, with back-off, while
 * requests wait, until closed.
 */
export interface Channel {
  readonly address: string;
  /**
   * Sends and waits for the answer. Requests on one channel are delivered and handled in the order of the calls, one
   * after the other; those of WAITING_REQUESTS begin in that order too but do not hold up the ones behind them.
   * Waits while the connection is down or has no room (LIMITS.requestsInFlight, sendQueueBytes); `Overloaded` when
   * LIMITS.requestsWaiting calls wait already, `FrameTooLarge` at once for what no frame may hold.
   * A connection that breaks fails its unanswered requests with `ConnectionLost` (they may or may not have been
   * handled: repeat them under the same ids). An error answer is thrown as its PaddletError.
   */
  request<T extends RequestHeader['type']>(
    message: Outgoing<Extract<RequestHeader, { type: T }>>,
    options: RequestOptions,
  ): Promise<Received<Extract<ReplyHeader, { type: T }>>>;
  /**
   * Resolves when the operating system has taken what is being sent, or the connection is closed; undefined when
   * nothing is. Nothing is sent while the thread is busy: a caller that is about to keep it busy for long waits for
   * this first.
   */
  sending(): Promise<void> | undefined;
  close(): void;
}

/** What a role does with one request. A thrown PaddletError is answered as such; anything else is a bug and crashes. */
export type RequestHandler = (
  request: Received<RequestHeader>,
  session: Session,
) => Promise<Outgoing<ReplyHeader>> | Outgoing<ReplyHeader>;

/** One accepted connection. `peer` may be set by the handler and is shown in messages. */
export interface Session {
  readonly remoteAddress: string;
  peer: { readonly role: string; readonly id: string } | undefined;
  /** Runs when the connection ends, at once if it has. */
  onClosed(run: () => void): Cancel;
}

/** What a user allows beyond the role's own names. */
export interface AllowedCallers {
  /** Host names or addresses, without a port: any port is meant. */
  readonly hosts: readonly string[];
  /** Origins of web pages, such as `https://board.example`. */
  readonly origins: readonly string[];
}

/** A browser that looks on: it is sent texts, and can ask for nothing (docs/protocol.md, "Viewers"). */
export interface Viewer {
  /** Path and query of its request. */
  readonly path: string;
  /**
   * False if the text was skipped: earlier texts are still in flight, or the viewer disconnected. A viewer whose token
   * is no longer valid is refused.
   */
  send(text: string): Promise<boolean>;
  /** Runs when the connection ends, at once if it has. */
  onClosed(run: () => void): void;
}

export interface ListenOptions {
  /** `host:port`; port 0 takes a free one. `PortInUse` when it is taken. */
  readonly listen: string;
  /** The host that other processes get, if it differs from the host that is listened on. */
  readonly advertise?: string;
  /** Names of this role and origins of web pages that may ask beside its own. */
  readonly allow?: AllowedCallers;
  readonly handler: RequestHandler;
  readonly landing?: LandingAllocator;
  /** Answers GET requests on the same port; undefined is 404. */
  readonly http: (path: string) => Promise<HttpAnswer | undefined>;
  /** Takes viewers that have proved to know the view token; without it no viewer can join. Networks may omit it. */
  readonly onViewer?: (viewer: Viewer) => void;
  /** Refuses processes of a job at the handshake. */
  readonly takesViewersOnly?: boolean;
}

export interface HttpAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  /** More headers, by their names in small letters. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Server {
  /** The port that was bound. */
  readonly port: number;
  /** Stops accepting, ends connections after their running requests were answered. */
  close(): Promise<void>;
}

export interface ConnectOptions {
  readonly landing?: LandingAllocator;
  /**
   * The client is often too busy to read and write: the operating system is to hold whole messages of some MB. It does
   * so for TCP; a Unix socket holds 200 KB.
   */
  readonly isBuffered?: boolean;
}

export interface Network {
  listen(options: ListenOptions): Promise<Server>;
  connect(address: string, options?: ConnectOptions): Channel;
}
