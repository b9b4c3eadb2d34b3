/**
 * The server's end of a simulated connection: requests in order, one after the other, as `ServerSession` handles them:
 * one may let those of its type pass.
 */
import { isPaddletError, PaddletError } from '../../src/base/errors.ts';
import type { Cancel } from '../../src/base/seams.ts';
import type { ReplyHeader, RequestHeader } from '../../src/protocol/messages/all-messages.ts';
import type { Outgoing, RequestHandler, Session } from '../../src/protocol/messages/channel.ts';
import { fromErrorHeader, toErrorHeader } from '../../src/protocol/messages/error-header.ts';
import { parseReply } from '../../src/protocol/messages/parse.ts';
import { WAITING_REQUESTS } from '../../src/protocol/websocket/wire-options.ts';
import type { Connection } from './connection.ts';
import type { Answered } from './oracles/oracle.ts';
import { copyOf, type Parcel, payloadOf, receive } from './parcel.ts';
import type { SimulatedProcess } from './process.ts';

/** A request on its way, with where its answer goes. `answer` runs in the client's process. */
export interface SentRequest {
  readonly parcel: Parcel<RequestHeader>;
  readonly answer: (outcome: Parcel<ReplyHeader> | PaddletError) => void;
}

export interface SessionHooks {
  /** A request was answered, well or not; the answer has not arrived. */
  answered(seen: Answered): void;
  bug(process: SimulatedProcess, error: unknown): void;
}

export class SimulatedSession implements Session {
  readonly remoteAddress: string;
  peer: { readonly role: string; readonly id: string } | undefined;
  readonly #connection: Connection;
  readonly #handler: RequestHandler;
  readonly #hooks: SessionHooks;
  readonly #queue: SentRequest[] = [];
  readonly #onClosed = new Set<() => void>();
  #running = 0;
  /** It holds up all those behind it. */
  #busy: SentRequest | undefined;
  /** They hold up those of other types. */
  readonly #passed = new Set<SentRequest>();
  #isDraining = false;
  #isClosed = false;

  constructor(connection: Connection, handler: RequestHandler, hooks: SessionHooks) {
    this.#connection = connection;
    this.#handler = handler;
    this.#hooks = hooks;
    this.remoteAddress = connection.client.name;
    connection.joinServer({ ended: () => this.#ended() });
  }

  onClosed(run: () => void): Cancel {
    if (this.#isClosed) {
      run();
      return () => {};
    }
    this.#onClosed.add(run);
    return () => void this.#onClosed.delete(run);
  }

  receive(request: SentRequest): void {
    this.#queue.push(request);
    this.#pump();
  }

  /** Refuses what has not begun, lets what runs be answered, then closes. */
  drain(): void {
    this.#isDraining = true;
    this.#pump();
    this.#closeWhenIdle();
    this.#connection.server.clock.after(10_000, () => this.#connection.endServer('drain took too long'));
  }

  #pump(): void {
    while (!this.#isClosed) {
      const request = this.#queue[0];
      if (request === undefined || !this.#mayBegin(request)) return;
      this.#queue.shift();
      if (this.#isDraining) this.#answer(request, new PaddletError('Draining', 'this role is closing'));
      else this.#handle(request);
    }
  }

  #mayBegin({ parcel }: SentRequest): boolean {
    if (this.#busy !== undefined) return false;
    const [passed] = this.#passed;
    return passed === undefined || parcel.header.type === passed.parcel.header.type;
  }

  #handle(request: SentRequest): void {
    this.#running += 1;
    const letPass = (): void => {
      this.#passed.add(request);
      if (this.#busy !== request) return;
      this.#busy = undefined;
      this.#pump();
    };
    try {
      const { header } = request.parcel;
      const result = this.#handler({ ...receive(request.parcel), letPass }, this);
      if (!(result instanceof Promise)) {
        this.#passed.delete(request);
        this.#finish(request, result);
        return;
      }
      if (!WAITING_REQUESTS.has(header.type) && !this.#passed.has(request)) this.#busy = request;
      void result
        .then(
          (outgoing) => this.#finish(request, outgoing),
          (error: unknown) => this.#fail(request, error),
        )
        .finally(() => {
          if (this.#busy === request) this.#busy = undefined;
          this.#passed.delete(request);
          this.#pump();
        });
    } catch (error) {
      this.#passed.delete(request);
      this.#fail(request, error);
    }
  }

  #finish(request: SentRequest, { header, segments = [] }: Outgoing<ReplyHeader>): void {
    this.#running -= 1;
    this.#answer(request, { header: parseReply(header), segments: segments.map(copyOf) });
    this.#closeWhenIdle();
  }

  #fail(request: SentRequest, error: unknown): void {
    if (!isPaddletError(error)) {
      this.#hooks.bug(this.#connection.server, error);
      return;
    }
    this.#running -= 1;
    this.#answer(request, fromErrorHeader(toErrorHeader(error), 'peer'));
    this.#closeWhenIdle();
  }

  #answer({ parcel, answer }: SentRequest, outcome: Parcel<ReplyHeader> | PaddletError): void {
    const { client, server } = this.#connection;
    if (server.isDead) return;
    const seen = outcome instanceof PaddletError ? outcome : outcome.header;
    this.#hooks.answered({ client, server, request: parcel.header, outcome: seen });
    if (this.#isClosed) return;
    const payloadBytes = outcome instanceof PaddletError ? 0 : payloadOf(outcome.segments);
    this.#connection.toClient(() => answer(outcome), { request: parcel.header, answer: seen, payloadBytes });
  }

  #closeWhenIdle(): void {
    if (this.#isDraining && this.#running === 0 && this.#queue.length === 0) this.#connection.endServer('Draining');
  }

  #ended(): void {
    this.#isClosed = true;
    this.#queue.length = 0;
    for (const run of [...this.#onClosed]) run();
    this.#onClosed.clear();
  }
}
