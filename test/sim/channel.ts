/** The client's end of the simulated wire: connects when requests wait, again and again, as `WebSocketChannel` does. */

import { backoffMs, jittered } from '../../src/base/backoff.ts';
import { PaddletError } from '../../src/base/errors.ts';
import type { Cancel } from '../../src/base/seams.ts';
import type { ReplyHeader, RequestHeader } from '../../src/protocol/messages/all-messages.ts';
import type { Channel, Outgoing, Received, RequestOptions } from '../../src/protocol/messages/channel.ts';
import { parseRequest } from '../../src/protocol/messages/parse.ts';
import type { Connection } from './connection.ts';
import { copyOf, type Parcel, payloadOf, receive } from './parcel.ts';
import { never, type SimulatedProcess } from './process.ts';
import type { SimulatedSession } from './session.ts';

export interface Dialer {
  /** Calls `opened` in the process when the server has accepted, or `failed`; or neither. */
  dial(
    client: SimulatedProcess,
    address: string,
    events: { opened(connection: Connection, session: SimulatedSession): boolean; failed(reason: string): void },
  ): void;
}

interface Call {
  readonly type: string;
  readonly parcel: Parcel<RequestHeader>;
  settled: boolean;
  settle(outcome: Parcel<ReplyHeader> | PaddletError): void;
}

type Phase = 'idle' | 'connecting' | 'open' | 'backingOff' | 'closed';

const CONNECT_TIMEOUT_MS = 5_000;
const BACKOFF = { firstMs: 50, capMs: 2_000 };

export class SimulatedChannel implements Channel {
  readonly address: string;
  readonly #process: SimulatedProcess;
  readonly #dialer: Dialer;
  readonly #waiting = new Set<Call>();
  readonly #unanswered = new Set<Call>();
  #phase: Phase = 'idle';
  #attempts = 0;
  #open: { readonly connection: Connection; readonly session: SimulatedSession } | undefined;
  #cancelTimer: Cancel = () => {};

  constructor(process: SimulatedProcess, dialer: Dialer, address: string) {
    this.#process = process;
    this.#dialer = dialer;
    this.address = address;
  }

  request<T extends RequestHeader['type']>(
    message: Outgoing<Extract<RequestHeader, { type: T }>>,
    options: RequestOptions,
  ): Promise<Received<Extract<ReplyHeader, { type: T }>>> {
    type Answer = Received<Extract<ReplyHeader, { type: T }>>;
    if (!this.#process.operate()) return never<Answer>();
    return new Promise<Answer>((resolve, reject) => {
      const { type } = message.header;
      if (this.#phase === 'closed') throw this.#lost(type, 'the channel is closed');
      // Validated as the receiver would, here, to find who made a bad one: once is enough, and the copy is its own.
      const parcel = { header: parseRequest(message.header), segments: (message.segments ?? []).map(copyOf) };
      const cancelTimeout = this.#process.clock.after(options.timeoutMs, () => {
        this.#waiting.delete(call);
        call.settle(new PaddletError('RequestTimeout', `${type} to ${this.address} took over ${options.timeoutMs} ms`));
      });
      const call: Call = {
        type,
        parcel,
        settled: false,
        settle: (outcome) => {
          if (call.settled) return;
          call.settled = true;
          cancelTimeout();
          if (outcome instanceof PaddletError) reject(outcome);
          else resolve(receive(outcome) as Answer);
        },
      };
      this.#waiting.add(call);
      if (this.#phase === 'idle') this.#connect();
      this.#dispatch();
    });
  }

  /** What is sent has left at once. */
  sending(): undefined {
    return undefined;
  }

  close(): void {
    if (this.#phase === 'closed') return;
    this.#phase = 'closed';
    this.#cancelTimer();
    for (const call of [...this.#waiting]) call.settle(this.#lost(call.type, 'the channel was closed'));
    this.#waiting.clear();
    this.#open?.connection.endClient('closed by this side');
  }

  #connect(): void {
    this.#phase = 'connecting';
    let isDone = false;
    const failed = (reason: string): void => {
      if (isDone) return;
      isDone = true;
      this.#cancelTimer();
      this.#ended(reason);
    };
    this.#cancelTimer = this.#process.clock.after(CONNECT_TIMEOUT_MS, () => failed('no handshake in time'));
    this.#dialer.dial(this.#process, this.address, {
      failed,
      opened: (connection, session) => {
        if (isDone || this.#phase !== 'connecting') return false;
        isDone = true;
        this.#cancelTimer();
        connection.joinClient({ ended: (reason) => this.#ended(reason) });
        this.#open = { connection, session };
        this.#phase = 'open';
        this.#attempts = 0;
        this.#dispatch();
        return true;
      },
    });
  }

  #dispatch(): void {
    if (this.#phase !== 'open') return;
    const { connection, session } = this.#open!;
    for (const call of this.#waiting) {
      this.#waiting.delete(call);
      this.#unanswered.add(call);
      const answer = (outcome: Parcel<ReplyHeader> | PaddletError): void => {
        if (this.#unanswered.delete(call)) call.settle(outcome);
      };
      const { header, segments } = call.parcel;
      const cargo = { request: header, payloadBytes: payloadOf(segments) };
      connection.toServer(() => session.receive({ parcel: call.parcel, answer }), cargo);
    }
  }

  #ended(reason: string): void {
    this.#open = undefined;
    const lost = [...this.#unanswered];
    this.#unanswered.clear();
    for (const call of lost) call.settle(this.#lost(call.type, `the connection was lost: ${reason}`));
    if (this.#phase === 'closed') return;
    if (this.#waiting.size === 0) {
      this.#phase = 'idle';
      return;
    }
    this.#phase = 'backingOff';
    const waitMs = jittered(backoffMs(this.#attempts, BACKOFF), this.#process.random);
    this.#attempts += 1;
    this.#cancelTimer = this.#process.clock.after(waitMs, () => this.#connect());
  }

  #lost(type: string, reason: string): PaddletError {
    return new PaddletError('ConnectionLost', `${type} to ${this.address}: ${reason}`);
  }
}
