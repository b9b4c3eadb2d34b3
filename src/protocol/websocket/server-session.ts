/**
 * One accepted connection: handles its requests in the order they came, one after the other, and answers each. One may
 * let those of its type begin before it is answered; all others wait for it. Bounds what it holds for a peer that asks
 * too much or does not read its answers.
 */
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import type { Cancel } from '../../base/seams.ts';
import { bad, type Frame, type FrameHead } from '../frames/frame.ts';
import { FrameSender, prepare } from '../frames/frame-sender.ts';
import type { Link, OpenLink, Place, ReceivedFrame } from '../frames/link.ts';
import type { ReplyHeader } from '../messages/all-messages.ts';
import type { LandingAllocator, Outgoing, RequestHandler, Session } from '../messages/channel.ts';
import { toErrorHeader } from '../messages/error-header.ts';
import type { HeldBytes, Holder } from './held-bytes.ts';
import { watchLiveness } from './liveness.ts';
import { ServedRequest } from './served-request.ts';
import { WAITING_REQUESTS, type Wire } from './wire-options.ts';

export interface SessionOptions {
  readonly handler: RequestHandler;
  readonly landing: LandingAllocator | undefined;
  /** Bytes held by all connections of the role. */
  readonly held: HeldBytes;
}

export class ServerSession implements Session {
  readonly remoteAddress: string;
  peer: { readonly role: string; readonly id: string } | undefined;
  readonly #wire: Wire;
  readonly #link: Link;
  readonly #options: SessionOptions;
  readonly #sender: FrameSender;
  /** Received, not started. */
  readonly #queue: ServedRequest[] = [];
  /** Started or queued, not answered. */
  #requests = 0;
  #requestBytes = 0;
  /** Size of the frame that is being received. */
  #incomingBytes = 0;
  /** All of these bytes, and those of answers that are not read. */
  readonly #holder: Holder;
  /** The request that blocks all later ones. */
  #busy: ServedRequest | undefined;
  /** They hold up those of other types: they let pass, and are not answered. All are of one type. */
  readonly #passed = new Set<ServedRequest>();
  #draining = false;
  #closed = false;
  readonly #stopFirstFrame: Cancel;
  /** Stops the time limit of a drain or a close. */
  #stopEnd: Cancel = () => {};
  readonly #stopLiveness: Cancel;
  readonly #onClosed = new Set<() => void>();

  constructor(wire: Wire, open: OpenLink, remoteAddress: string, options: SessionOptions) {
    this.#wire = wire;
    this.remoteAddress = remoteAddress;
    this.#options = options;
    this.#holder = options.held.enter(() => this.#cutHolder());
    const { firstFrameTimeoutMs } = wire.timing;
    this.#stopFirstFrame = wire.clock.after(firstFrameTimeoutMs, () =>
      this.#cut(`silent for ${firstFrameTimeoutMs} ms`),
    );
    const link = open({
      place: (head) => this.#place(head),
      onFrame: (frame) => this.#receive(frame),
      onBadFrame: (error) => this.#refuseConnection(error),
      onViolation: (reason) => {
        wire.log.debug('connection failed', { remoteAddress, reason });
        // Its close frame has been sent where it could.
        this.#endBy(wire.timing.closeTimeoutMs, 'peer did not close');
      },
      onClosed: () => this.#ended(),
    });
    this.#link = link;
    this.#sender = new FrameSender(link);
    this.#stopLiveness = watchLiveness(link, wire, () => this.#cut('peer is silent'));
    link.start();
  }

  onClosed(run: () => void): Cancel {
    if (this.#closed) {
      run();
      return () => {};
    }
    this.#onClosed.add(run);
    return () => void this.#onClosed.delete(run);
  }

  /** Refuses what has not started, lets what runs be answered, then closes the connection. */
  drain(): void {
    this.#draining = true;
    this.#endBy(this.#wire.timing.drainTimeoutMs, 'drain took too long');
    this.#pump();
    this.#closeWhenIdle();
  }

  #place(head: FrameHead): Place {
    const { requestId, frameBytes } = head.preamble;
    try {
      if (!this.#hasRoom(frameBytes)) throw this.#overloaded();
      const place = this.#options.landing?.(head.payloadBytes) ?? 'any';
      this.#incomingBytes = frameBytes;
      this.#holder.add(frameBytes);
      return place;
    } catch (error) {
      if (!isPaddletError(error)) throw error;
      this.#answerError(requestId, error);
      return 'skip';
    }
  }

  #receive(frame: ReceivedFrame): void {
    this.#wire.traffic.receivedBytes += frame.byteLength;
    this.#stopFirstFrame();
    this.#holder.add(-this.#incomingBytes);
    this.#incomingBytes = 0;
    if (frame.kind !== 'request') {
      frame.free();
      this.#refuseConnection(bad('kind', 'a client sends requests only', frame.requestId));
      return;
    }
    if (!this.#hasRoom(frame.byteLength)) {
      frame.free();
      this.#answerError(frame.requestId, this.#overloaded());
      return;
    }
    this.#requests++;
    this.#requestBytes += frame.byteLength;
    this.#holder.add(frame.byteLength);
    this.#queue.push(new ServedRequest(frame, this.#wire.pool));
    this.#pump();
  }

  #hasRoom(byteLength: number): boolean {
    const { requestsInFlight, sendQueueBytes } = this.#wire.limits;
    const hasOwnRoom = this.#requests < requestsInFlight && this.#requestBytes + byteLength <= sendQueueBytes;
    return hasOwnRoom && this.#options.held.hasRoom(byteLength);
  }

  #overloaded(): PaddletError {
    const { requestsInFlight, sendQueueBytes, heldBytes } = this.#wire.limits;
    const ofOne = `expected at most ${requestsInFlight} requests and ${sendQueueBytes} bytes unanswered on a connection`;
    return new PaddletError('Overloaded', `${ofOne}, and ${heldBytes} bytes unanswered or unread on all connections`);
  }

  /** Begins requests while there is room for their answers, whose size is not known before they are made. */
  #pump(): void {
    while (!this.#closed && this.#sender.queuedBytes <= this.#wire.limits.sendQueueBytes / 2) {
      const request = this.#queue[0];
      if (request === undefined || !this.#mayBegin(request)) return;
      this.#queue.shift();
      if (this.#draining) {
        this.#answerError(request.requestId, new PaddletError('Draining', 'this role is closing'), request);
      } else if (!this.#options.held.hasRoom(0)) {
        this.#answerError(request.requestId, this.#overloaded(), request);
      } else {
        this.#handle(request);
      }
    }
  }

  #mayBegin(request: ServedRequest): boolean {
    if (this.#busy !== undefined) return false;
    const [passed] = this.#passed;
    if (passed === undefined) return true;
    return request.type === passed.type && this.#passed.size < this.#wire.limits.passingRequests;
  }

  #handle(request: ServedRequest): void {
    request.onPass = () => {
      this.#passed.add(request);
      if (this.#busy !== request) return;
      this.#busy = undefined;
      this.#pump();
    };
    request.begunMs = this.#wire.clock.monotonicMs();
    try {
      // Read before the handler, which relies on a valid header.
      const { type } = request.header;
      const result = this.#options.handler(request, this);
      if (!(result instanceof Promise)) {
        this.#passed.delete(request);
        this.#answer(request, result);
        return;
      }
      if (!WAITING_REQUESTS.has(type) && !this.#passed.has(request)) this.#busy = request;
      void result
        .then(
          (outgoing) => this.#answer(request, outgoing),
          (error: unknown) => this.#answerFailure(request, error),
        )
        .catch(this.#wire.onBug)
        .finally(() => {
          request.onPass = undefined;
          if (this.#busy === request) this.#busy = undefined;
          this.#passed.delete(request);
          this.#pump();
        });
    } catch (error) {
      this.#passed.delete(request);
      this.#answerFailure(request, error);
    }
  }

  #answer(request: ServedRequest, { header, segments = [] }: Outgoing<ReplyHeader>): void {
    try {
      this.#send({ kind: 'reply', requestId: request.requestId, header, segments }, request);
    } catch (error) {
      this.#answerFailure(request, error);
    }
  }

  #answerFailure(request: ServedRequest, error: unknown): void {
    if (isPaddletError(error)) {
      this.#answerError(request.requestId, error, request);
      return;
    }
    const internal = new PaddletError('Internal', 'the peer hit a bug; its log contains the stack trace');
    this.#answerError(request.requestId, internal, request);
    this.#wire.onBug(error);
  }

  #answerError(requestId: number, error: PaddletError, request?: ServedRequest): void {
    const header = toErrorHeader(error);
    try {
      this.#send({ kind: 'error', requestId, header, segments: [] }, request);
    } catch (tooLarge) {
      if (!isPaddletError(tooLarge, 'FrameTooLarge')) throw tooLarge;
      this.#send({ kind: 'error', requestId, header: { ...header, details: {} }, segments: [] }, request);
    }
  }

  /** Sends, and lets go of the request that this answers once its memory can no longer be needed for the answer. */
  #send(answer: Frame, request: ServedRequest | undefined): void {
    const encoded = prepare(answer, this.#wire.limits);
    if (request !== undefined) {
      this.#tellServed(request);
      this.#requests--;
      this.#requestBytes -= request.byteLength;
      this.#holder.add(-request.byteLength);
    }
    if (this.#closed) {
      this.#sent(request);
      return;
    }
    this.#wire.traffic.sentBytes += encoded.byteLength;
    this.#holder.add(encoded.byteLength);
    this.#sender.send(encoded, () => {
      this.#holder.add(-encoded.byteLength);
      this.#sent(request);
    });
    // Refusals cost little but are not held back as requests are: a peer that floods and does not read is cut off.
    if (this.#sender.queuedFrames > 4 * this.#wire.limits.requestsInFlight)
      this.#cut('the peer does not read its answers');
  }

  #tellServed({ type, begunMs }: ServedRequest): void {
    if (begunMs === undefined || type === undefined || WAITING_REQUESTS.has(type)) return;
    this.#wire.onServed(type, this.#wire.clock.monotonicMs() - begunMs);
  }

  #sent(request: ServedRequest | undefined): void {
    if (request === undefined) return;
    request.end();
    this.#pump();
    this.#closeWhenIdle();
  }

  /** The stream of frames can no longer be trusted. */
  #refuseConnection(error: PaddletError): void {
    const { remoteAddress } = this;
    this.#wire.log.warn('bad frame, connection closed', { remoteAddress, peer: this.peer?.id, reason: error.message });
    const { requestId } = error.details;
    this.#answerError(typeof requestId === 'number' ? requestId : 0, error);
    this.#close(error.code === 'FrameTooLarge' ? 1009 : 1002, error.code);
  }

  #closeWhenIdle(): void {
    if (this.#draining && this.#requests === 0 && this.#sender.queuedFrames === 0) this.#close(1001, 'Draining');
  }

  #close(code: number, reason: string): void {
    this.#link.close(code, reason);
    this.#endBy(this.#wire.timing.closeTimeoutMs, 'peer did not close');
  }

  #endBy(delayMs: number, reason: string): void {
    this.#stopEnd();
    this.#stopEnd = this.#wire.clock.after(delayMs, () => this.#cut(reason));
  }

  #cutHolder(): void {
    const { remoteAddress } = this;
    this.#wire.log.warn('connection closed: it holds memory while other requests are refused', { remoteAddress });
    this.#cut('it blocks other connections');
  }

  #cut(reason: string): void {
    this.#wire.log.debug('connection cut', { remoteAddress: this.remoteAddress, reason });
    this.#link.terminate();
  }

  #ended(): void {
    this.#closed = true;
    this.#options.held.leave(this.#holder);
    this.#stopFirstFrame();
    this.#stopEnd();
    this.#stopLiveness();
    for (const request of this.#queue.splice(0)) request.free();
    for (const run of [...this.#onClosed]) run();
    this.#onClosed.clear();
  }
}
