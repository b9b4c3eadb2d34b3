/**
 * One connection of a client, from the handshake and joining to its end: sends requests, matches answers by request id,
 * and bounds what is unanswered. It never comes back; `src/protocol/websocket/channel.ts` makes the next one.
 */
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import type { Cancel } from '../../base/seams.ts';
import { bad, type FrameHead } from '../frames/frame.ts';
import { type EncodedFrame, FrameSender } from '../frames/frame-sender.ts';
import type { Link, OpenLink, Place, ReceivedFrame } from '../frames/link.ts';
import { ClientJoin } from '../join/client-join.ts';
import type { ReplyHeader } from '../messages/all-messages.ts';
import type { LandingAllocator, Received } from '../messages/channel.ts';
import { fromErrorHeader } from '../messages/error-header.ts';
import { replyOf } from '../messages/parse.ts';
import { dial } from './handshake.ts';
import { watchLiveness } from './liveness.ts';
import type { Wire } from './wire-options.ts';

/**
 * A request on its way. `settle` is called once, by what ends it first; a settled one may stay on the wire, its answer
 * dropped.
 */
export interface Call {
  readonly id: number;
  readonly type: string;
  readonly encoded: EncodedFrame;
  settled: boolean;
  /** The operating system has all of it. */
  flushed: boolean;
  settle(outcome: Received<ReplyHeader> | PaddletError): void;
}

export interface ConnectionEvents {
  onOpen(): void;
  /** An answer came or bytes went out: there may be room for more. */
  onRoom(): void;
  /**
   * Called once. Unanswered calls were settled with `ConnectionLost` before. `refusal`: the server will never take this
   * client.
   */
  onEnded(reason: string, refusal: PaddletError | undefined): void;
}

export class ClientConnection {
  readonly #wire: Wire;
  readonly #address: string;
  readonly #landing: LandingAllocator | undefined;
  readonly #events: ConnectionEvents;
  readonly #giveUp: () => void;
  #joining: ClientJoin | undefined;
  #link: Link | undefined;
  readonly #unanswered = new Map<number, Call>();
  #unansweredBytes = 0;
  #sender: FrameSender | undefined;
  #stopTimer: Cancel;
  #stopLiveness: Cancel = () => {};
  #ended = false;
  /** Why it is about to end, where we know more than the close code says. */
  #reason: string | undefined;
  #refusal: PaddletError | undefined;

  constructor(wire: Wire, address: string, landing: LandingAllocator | undefined, events: ConnectionEvents) {
    this.#wire = wire;
    this.#address = address;
    this.#landing = landing;
    this.#events = events;
    const { connectTimeoutMs } = wire.timing;
    this.#stopTimer = wire.clock.after(connectTimeoutMs, () => this.end(`no handshake within ${connectTimeoutMs} ms`));
    this.#giveUp = dial(wire, address, {
      onOpen: (open) => this.#join(open),
      onFailed: (reason, refusal) => this.#failed(reason, refusal),
    });
  }

  get unansweredBytes(): number {
    return this.#unansweredBytes;
  }

  get unanswered(): number {
    return this.#unanswered.size;
  }

  /**
   * False while sending `byteLength` more bytes would go over a bound of the connection, and once the server has sent a
   * close frame: what is no longer sent to it is not lost.
   */
  hasRoom(byteLength: number): boolean {
    if (this.#link?.isOpen !== true) return false;
    const { requestsInFlight, sendQueueBytes } = this.#wire.limits;
    return this.#unanswered.size < requestsInFlight && this.#unansweredBytes + byteLength <= sendQueueBytes;
  }

  /** Resolves when everything has left; undefined when nothing is being sent. */
  sending(): Promise<void> | undefined {
    return this.#sender?.draining();
  }

  send(call: Call): void {
    this.#unanswered.set(call.id, call);
    this.#unansweredBytes += call.encoded.byteLength;
    this.#wire.traffic.sentBytes += call.encoded.byteLength;
    this.#sender!.send(call.encoded, () => {
      call.flushed = true;
    });
  }

  /** Cuts the connection at once: nothing more is sent, so that callers have their memory back. */
  end(reason: string): void {
    this.#reason ??= reason;
    this.#giveUp();
    this.#joining?.cancel();
    this.#link?.terminate();
    this.#finish(this.#reason);
  }

  /** Sends a close frame when nothing is on its way, else cuts the connection. */
  close(): void {
    const idle = this.#sender !== undefined && this.#sender.queuedFrames === 0 && this.#unanswered.size === 0;
    if (!idle || this.#ended) {
      this.end('closed by this side');
      return;
    }
    this.#link!.close(1000, '');
    this.#stopLiveness();
    this.#stopTimer = this.#wire.clock.after(this.#wire.timing.closeTimeoutMs, () => this.end('closed by this side'));
  }

  #join(open: OpenLink): void {
    this.#joining = new ClientJoin({
      open,
      token: this.#wire.joinToken,
      address: this.#address,
      onJoined: (joined) => {
        this.#joining = undefined;
        this.#open(joined);
      },
      onFailed: (reason, refusal) => this.#failed(reason, refusal),
      onBug: this.#wire.onBug,
    });
  }

  #failed(reason: string, refusal: PaddletError | undefined): void {
    this.#refusal = refusal;
    this.end(reason);
  }

  #open(open: OpenLink): void {
    this.#stopTimer();
    const link = open({
      place: (head) => this.#place(head),
      onFrame: (frame) => this.#receive(frame),
      onBadFrame: (error) => this.end(error.message),
      // Not waited for: a server that broke the rules may never close.
      onViolation: (reason) => this.end(reason),
      onClosed: (code, reason) => this.#finish(this.#reason ?? (reason === '' ? `close code ${code}` : reason)),
    });
    this.#link = link;
    this.#sender = new FrameSender(link);
    this.#stopLiveness = watchLiveness(link, this.#wire, () => this.end('peer is silent'));
    link.start();
    this.#events.onOpen();
  }

  #place(head: FrameHead): Place {
    const call = this.#unanswered.get(head.preamble.requestId);
    if (call !== undefined && !call.settled) {
      if (this.#landing === undefined || head.preamble.kind !== 'reply') return 'any';
      try {
        return this.#landing(head.payloadBytes) ?? 'any';
      } catch (error) {
        if (!isPaddletError(error)) throw error;
        call.settle(error);
      }
    }
    this.#answered(head.preamble.requestId);
    return 'skip';
  }

  #receive(frame: ReceivedFrame): void {
    this.#wire.traffic.receivedBytes += frame.byteLength;
    if (frame.kind === 'request') {
      frame.free();
      this.end(bad('kind', 'a server does not send requests').message);
      return;
    }
    const call = this.#answered(frame.requestId);
    if (call === undefined || call.settled) {
      if (frame.kind === 'error' && frame.requestId === 0) this.#noteConnectionError(frame);
      frame.free();
      return;
    }
    let outcome: Received<ReplyHeader> | PaddletError;
    try {
      outcome = frame.kind === 'error' ? fromErrorHeader(frame.header, this.#address) : answerOf(frame, call.type);
    } catch (error) {
      if (!isPaddletError(error)) throw error;
      outcome = error;
    }
    if (outcome instanceof PaddletError) frame.free();
    call.settle(outcome);
  }

  /** Takes a request off the books; what it returns may have been given up by its caller. */
  #answered(id: number): Call | undefined {
    const call = this.#unanswered.get(id);
    if (call === undefined) return undefined;
    this.#unanswered.delete(id);
    this.#unansweredBytes -= call.encoded.byteLength;
    // After the caller of this frame's answer has been served.
    queueMicrotask(() => this.#events.onRoom());
    return call;
  }

  #noteConnectionError(frame: ReceivedFrame): void {
    const error = fromErrorHeader(frame.header, this.#address);
    this.#reason ??= `${error.code}: ${error.message}`;
  }

  #finish(reason: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#stopTimer();
    this.#stopLiveness();
    for (const call of this.#unanswered.values()) {
      if (call.settled) continue;
      const message = `connection to ${this.#address} lost before ${call.type} was answered: ${reason}`;
      call.settle(new PaddletError('ConnectionLost', message));
    }
    this.#unanswered.clear();
    this.#unansweredBytes = 0;
    this.#events.onEnded(reason, this.#refusal);
  }
}

function answerOf(frame: ReceivedFrame, type: string): Received<ReplyHeader> {
  const header = replyOf(frame);
  if (header.type !== type) throw new PaddletError('BadMessage', `expected an answer to ${type}, got ${header.type}`);
  return new Answer(header, frame);
}

class Answer implements Received<ReplyHeader> {
  readonly header: ReplyHeader;
  readonly segmentCount: number;
  readonly #frame: ReceivedFrame;

  constructor(header: ReplyHeader, frame: ReceivedFrame) {
    this.header = header;
    this.segmentCount = frame.segmentCount;
    this.#frame = frame;
  }

  segment(index: number): Uint8Array {
    return this.#frame.segment(index);
  }

  free(): void {
    this.#frame.free();
  }
}
