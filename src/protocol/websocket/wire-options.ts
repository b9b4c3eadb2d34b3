/** Options of the WebSocket network, with defaults. Tests make limits small and pass their own clock. */
import { assert } from '../../base/assert.ts';
import type { Backoff } from '../../base/backoff.ts';
import { PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Clock, Log, Random } from '../../base/seams.ts';
import type { FrameLimits } from '../frames/frame.ts';
import { LandingPool } from '../frames/landing-pool.ts';
import type { JoinToken } from '../join/token.ts';
import type { RequestHeader } from '../messages/all-messages.ts';
import type { LivenessOptions } from './liveness.ts';

/**
 * Requests that may wait for long: they begin in order, and requests behind them on a connection do not wait for them.
 */
export const WAITING_REQUESTS: ReadonlySet<RequestHeader['type']> = new Set<RequestHeader['type']>([
  'getTasks',
  'checkpoint',
  'pullVersion',
  'rounds',
  'cut',
  'getLanes',
  'replicate',
  'copyDigest',
]);

export interface WireLimits extends FrameLimits {
  readonly requestsInFlight: number;
  readonly passingRequests: number;
  readonly requestsWaiting: number;
  readonly sendQueueBytes: number;
  readonly heldBytes: number;
  readonly connectionsPerRole: number;
  readonly unjoinedConnections: number;
}

export interface WireTiming extends LivenessOptions {
  /** Client: TCP, WebSocket handshake and joining together. */
  readonly connectTimeoutMs: number;
  /** Server: from the TCP connection to the end of joining, or of a whole HTTP request. */
  readonly unjoinedTimeoutMs: number;
  /** Server: from joining to the first whole frame. */
  readonly firstFrameTimeoutMs: number;
  /** Server: how long a connection may hold memory while others are refused. */
  readonly heldPatienceMs: number;
  readonly backoff: Backoff;
  /** Server, on close: for running requests to end. */
  readonly drainTimeoutMs: number;
  /** For the peer to answer a close frame, before the socket is cut. */
  readonly closeTimeoutMs: number;
}

/**
 * How clients mask what they send. RFC 6455 wants unpredictable masks, against proxies that could be made to mistake
 * payload for HTTP; masking costs most of the speed. Both ends have to agree on zeros. `auto`: between loopback
 * addresses, where there is no proxy, else not. `zero`: always, for networks known to have no intermediaries.
 */
export type Masking = 'auto' | 'random' | 'zero';

/**
 * Who reads the sockets. `direct`: paddlet, payloads straight to where they are used. `data`: paddlet, by `data`
 * events, where Node's `onread` cannot be had. `ws`: the library, collecting and copying. The environment variable
 * PADDLET_RECEIVE sets the default.
 */
export const RECEIVE = ['direct', 'data', 'ws'] as const;
export type Receive = (typeof RECEIVE)[number];

/** Bytes of the frames that joined connections sent and received: headers and payloads. */
export interface WireTraffic {
  sentBytes: number;
  receivedBytes: number;
}

export interface WebSocketNetworkOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: Random;
  /** What both ends of every connection prove to know. */
  readonly joinToken: JoinToken;
  readonly masking?: Masking;
  /**
   * Called with what a handler threw if it is not a `PaddletError`. By default, throws it out of the event loop: the
   * process dies.
   */
  readonly onBug?: (error: unknown) => void;
  readonly limits?: Partial<WireLimits>;
  readonly timing?: Partial<WireTiming>;
  readonly receive?: Receive;
  /** Between roles on one host; PADDLET_UNIX_SOCKETS=off turns them off. */
  readonly unixSockets?: boolean;
  /** Counts up; of all connections of this process together. */
  readonly traffic?: WireTraffic;
  /**
   * Called for each request that was answered, with the time since its handler started; not for those that wait by
   * design (`WAITING_REQUESTS`).
   */
  readonly onServed?: (type: RequestHeader['type'], tookMs: number) => void;
}

/** The options with nothing left open. */
export interface Wire extends Required<Omit<WebSocketNetworkOptions, 'limits' | 'timing'>> {
  readonly limits: WireLimits;
  readonly timing: WireTiming;
  /** Memory for payloads without a landing. */
  readonly pool: LandingPool;
}

const DEFAULT_TIMING: WireTiming = {
  connectTimeoutMs: 5_000,
  unjoinedTimeoutMs: LIMITS.unjoinedMs,
  firstFrameTimeoutMs: 10_000,
  heldPatienceMs: 10_000,
  pingIntervalMs: 3_000,
  missedPings: 3,
  backoff: { firstMs: 50, capMs: 2_000 },
  drainTimeoutMs: 10_000,
  closeTimeoutMs: 1_000,
};

const crash = (error: unknown): void => {
  setImmediate(() => {
    throw error;
  });
};

export function resolveWire(options: WebSocketNetworkOptions): Wire {
  const limits: WireLimits = { ...LIMITS, ...options.limits };
  assert(limits.frameBytes * 2 <= limits.sendQueueBytes, 'a send queue has room for two frames');
  return {
    clock: options.clock,
    log: options.log,
    random: options.random,
    joinToken: options.joinToken,
    masking: options.masking ?? 'auto',
    onBug: options.onBug ?? crash,
    receive: options.receive ?? choice('PADDLET_RECEIVE', RECEIVE, 'direct'),
    unixSockets: options.unixSockets ?? choice('PADDLET_UNIX_SOCKETS', ['on', 'off'], 'on') === 'on',
    traffic: options.traffic ?? { sentBytes: 0, receivedBytes: 0 },
    onServed: options.onServed ?? (() => {}),
    limits,
    timing: { ...DEFAULT_TIMING, ...options.timing },
    pool: new LandingPool(limits.frameBytes),
  };
}

function choice<T extends string>(variable: string, choices: readonly T[], otherwise: T): T {
  const text = process.env[variable];
  if (text === undefined || text === '') return otherwise;
  const chosen = choices.find((one) => one === text);
  if (chosen !== undefined) return chosen;
  throw new PaddletError('Usage', `${variable} is ${JSON.stringify(text)}`, {
    hint: `set it to ${choices.join(' or ')}`,
  });
}
