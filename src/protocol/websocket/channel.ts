/**
 * The client's end of the wire: connects when requests wait, with back-off, and feeds the connection these requests, in
 * the order of the calls, as far as it has room. Requests not sent yet survive a lost connection.
 */

import { backoffMs, jittered } from '../../base/backoff.ts';
import { PaddletError } from '../../base/errors.ts';
import type { Cancel } from '../../base/seams.ts';
import { prepare } from '../frames/frame-sender.ts';
import type { ReplyHeader, RequestHeader } from '../messages/all-messages.ts';
import type { Channel, LandingAllocator, Outgoing, Received, RequestOptions } from '../messages/channel.ts';
import { type Call, ClientConnection } from './client-connection.ts';
import type { Wire } from './wire-options.ts';

type Phase = 'idle' | 'connecting' | 'open' | 'backingOff' | 'closed';

const LAST_REQUEST_ID = 2 ** 32 - 1;

export class WebSocketChannel implements Channel {
  readonly address: string;
  readonly #wire: Wire;
  readonly #landing: LandingAllocator | undefined;
  #phase: Phase = 'idle';
  #connection: ClientConnection | undefined;
  /** In the order of the calls; those given up are taken out. */
  readonly #waiting = new Set<Call>();
  #lastId = 0;
  #attempts = 0;
  #lastFailure: string | undefined;
  #cancelBackoff: Cancel = () => {};

  constructor(wire: Wire, address: string, landing: LandingAllocator | undefined) {
    this.#wire = wire;
    this.address = address;
    this.#landing = landing;
  }

  /** Bytes of requests handed to the connection and not answered. */
  get unansweredBytes(): number {
    return this.#connection?.unansweredBytes ?? 0;
  }

  get unanswered(): number {
    return this.#connection?.unanswered ?? 0;
  }

  request<T extends RequestHeader['type']>(
    message: Outgoing<Extract<RequestHeader, { type: T }>>,
    options: RequestOptions,
  ): Promise<Received<Extract<ReplyHeader, { type: T }>>> {
    type Answer = Received<Extract<ReplyHeader, { type: T }>>;
    return new Promise<Answer>((resolve, reject) => {
      if (this.#phase === 'closed') throw this.#lost(message.header.type, 'the channel is closed');
      const call = this.#call(message, options.timeoutMs, (outcome) => {
        if (outcome instanceof PaddletError) reject(outcome);
        else resolve(outcome as Answer);
      });
      this.#waiting.add(call);
      if (this.#phase === 'idle') this.#connect();
      this.#dispatch();
      if (this.#waiting.size > this.#wire.limits.requestsWaiting) {
        this.#waiting.delete(call);
        const limit = this.#wire.limits.requestsWaiting;
        call.settle(new PaddletError('Overloaded', `${limit} requests already wait for ${this.address}`));
      }
    });
  }

  sending(): Promise<void> | undefined {
    return this.#connection?.sending();
  }

  close(): void {
    if (this.#phase === 'closed') return;
    this.#phase = 'closed';
    this.#cancelBackoff();
    this.#failWaiting((call) => this.#lost(call.type, 'the channel was closed'));
    this.#connection?.close();
  }

  #call(
    message: Outgoing<RequestHeader>,
    timeoutMs: number,
    done: (outcome: Received<ReplyHeader> | PaddletError) => void,
  ): Call {
    const id = this.#lastId === LAST_REQUEST_ID ? 1 : this.#lastId + 1;
    const { header, segments = [] } = message;
    const encoded = prepare({ kind: 'request', requestId: id, header, segments }, this.#wire.limits);
    this.#lastId = id;
    const cancelTimeout = this.#wire.clock.after(timeoutMs, () => this.#timeOut(call, timeoutMs));
    const call: Call = {
      id,
      type: header.type,
      encoded,
      settled: false,
      flushed: false,
      settle: (outcome) => {
        call.settled = true;
        cancelTimeout();
        done(outcome);
      },
    };
    return call;
  }

  #timeOut(call: Call, timeoutMs: number): void {
    const sent = !this.#waiting.delete(call);
    const state = sent
      ? 'sent, not answered'
      : `not sent: ${this.#phase === 'open' ? 'no room on the connection' : (this.#lastFailure ?? 'not connected yet')}`;
    const message = `${call.type} to ${this.address} took over ${timeoutMs} ms (${state})`;
    call.settle(new PaddletError('RequestTimeout', message));
    // Its memory is the caller's again, so what is left of it must not go out; and such a connection is stuck anyhow.
    if (sent && !call.flushed) this.#connection?.end(`a request could not be sent in ${timeoutMs} ms`);
  }

  #connect(): void {
    this.#phase = 'connecting';
    this.#connection = new ClientConnection(this.#wire, this.address, this.#landing, {
      onOpen: () => this.#opened(),
      onRoom: () => this.#dispatch(),
      onEnded: (reason, refusal) => this.#ended(reason, refusal),
    });
  }

  #opened(): void {
    this.#phase = 'open';
    if (this.#lastFailure !== undefined) this.#wire.log.info(`connected to ${this.address}`);
    this.#attempts = 0;
    this.#lastFailure = undefined;
    this.#dispatch();
  }

  #dispatch(): void {
    if (this.#phase !== 'open') return;
    const connection = this.#connection!;
    for (const call of this.#waiting) {
      if (!connection.hasRoom(call.encoded.byteLength)) return;
      this.#waiting.delete(call);
      connection.send(call);
    }
  }

  #ended(reason: string, refusal: PaddletError | undefined): void {
    this.#connection = undefined;
    if (this.#phase === 'closed') return;
    // The next request tries again: another process may listen there by then.
    if (refusal !== undefined) this.#failWaiting(() => refusal);
    const isNews = this.#lastFailure === undefined;
    this.#lastFailure = reason;
    if (this.#waiting.size === 0) {
      this.#phase = 'idle';
      return;
    }
    // Said once per outage and only when somebody waits, then for those who look closely: roles may start in any order.
    this.#wire.log[isNews ? 'info' : 'debug'](`no connection to ${this.address}, trying again`, { reason });
    this.#phase = 'backingOff';
    const waitMs = jittered(backoffMs(this.#attempts++, this.#wire.timing.backoff), this.#wire.random);
    this.#cancelBackoff = this.#wire.clock.after(waitMs, () => this.#connect());
  }

  #failWaiting(error: (call: Call) => PaddletError): void {
    const calls = [...this.#waiting];
    this.#waiting.clear();
    for (const call of calls) call.settle(error(call));
  }

  #lost(type: string, reason: string): PaddletError {
    return new PaddletError('ConnectionLost', `${type} to ${this.address}: ${reason}`);
  }
}
