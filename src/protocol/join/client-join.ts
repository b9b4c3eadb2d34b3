/** A client's side of joining: answers the role's challenge, and sends nothing else before the role's own proof. */
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import type { Link, OpenLink, ReceivedFrame } from '../frames/link.ts';
import { fromErrorHeader } from '../messages/error-header.ts';
import { asPaddletError, challengeSchema, joinHeaderOf, sendJoin, welcomeSchema } from './frames.ts';
import { isProof, isSameToken, type Meeting, newNonce, proofOf } from './proof.ts';
import type { JoinToken } from './token.ts';

export interface ClientJoinOptions {
  readonly open: OpenLink;
  readonly token: JoinToken;
  /** Address of the role, as the `Host` header of the handshake names it. */
  readonly address: string;
  /** The connection, to be taken over at once. */
  readonly onJoined: (open: OpenLink) => void;
  /** Called at most once. `refusal`: the role was reached, and another attempt with the same token cannot succeed. */
  readonly onFailed: (reason: string, refusal?: PaddletError) => void;
  /** Gets what is a bug. */
  readonly onBug: (error: unknown) => void;
}

export class ClientJoin {
  readonly #options: ClientJoinOptions;
  readonly #link: Link;
  #state: 'waiting' | 'asking' | 'proved' | 'refused' | 'over' = 'waiting';
  #token: Uint8Array | undefined;
  #meeting: Meeting | undefined;

  constructor(options: ClientJoinOptions) {
    this.#options = options;
    this.#link = options.open({
      place: () => 'skip',
      onFrame: (frame) => this.#receive(frame),
      onBadFrame: (error) => this.#fail(error.message),
      onViolation: (reason) => this.#fail(reason),
      onClosed: (code, reason) => {
        // A role that refuses closes too.
        if (this.#state !== 'refused') this.#fail(reason === '' ? `close code ${code}` : reason);
      },
    });
    this.#link.start();
  }

  /** After it nothing is called. */
  cancel(): void {
    this.#state = 'over';
    this.#link.terminate();
  }

  #receive(frame: ReceivedFrame): void {
    frame.free();
    try {
      if (frame.kind === 'error') this.#refused(fromErrorHeader(frame.header, this.#options.address));
      else if (this.#state === 'waiting') this.#answer(joinHeaderOf(frame, challengeSchema).nonce);
      else this.#join(joinHeaderOf(frame, welcomeSchema).proof);
    } catch (error) {
      this.#fail(asPaddletError(error).message);
    }
  }

  #answer(serverNonce: Uint8Array): void {
    this.#state = 'asking';
    const meeting = { clientNonce: newNonce(), serverNonce: Uint8Array.from(serverNonce), host: this.#options.address };
    this.#meeting = meeting;
    this.#prove(meeting).catch(this.#options.onBug);
  }

  async #prove(meeting: Meeting): Promise<void> {
    const { token, address } = this.#options;
    try {
      this.#token = await token.current();
    } catch (error) {
      this.#fail(`the join token cannot be read: ${asPaddletError(error).message}`);
      return;
    }
    if (this.#state !== 'asking') return;
    if (this.#token === undefined) {
      const refusal = new PaddletError('JoinRefused', `${address} requires the join token, but the store has none`);
      this.#fail(refusal.message, refusal);
      return;
    }
    this.#state = 'proved';
    sendJoin(this.#link, {
      type: 'proof',
      nonce: meeting.clientNonce,
      proof: proofOf(this.#token, 'client', meeting),
    });
  }

  #join(proof: Uint8Array): void {
    const { address } = this.#options;
    if (this.#state !== 'proved') return;
    if (!isProof(proof, this.#token, 'server', this.#meeting!)) {
      this.#refused(new PaddletError('JoinRefused', `the peer at ${address} does not know the join token`));
      return;
    }
    this.#state = 'over';
    this.#options.onJoined((handlers) => {
      this.#link.handOver(handlers);
      return this.#link;
    });
  }

  /** If the token was changed in the meantime, the next connection uses the new one. */
  #refused(error: PaddletError): void {
    if (this.#state === 'over' || this.#state === 'refused') return;
    if (error.code !== 'JoinRefused') {
      this.#fail(`${error.code}: ${error.message}`);
      return;
    }
    this.#state = 'refused';
    const again = this.#options.token.refresh().catch((failure: unknown) => asPaddletError(failure));
    again
      .then((known) => {
        const hasChanged = !isPaddletError(known) && known !== undefined && !isSameToken(known, this.#token);
        const refusal = new PaddletError('JoinRefused', `${this.#options.address}: ${error.message}`, {
          hint: 'the peer belongs to another job, or the join token was changed: try again',
        });
        this.#fail(hasChanged ? 'the join token has changed' : refusal.message, hasChanged ? undefined : refusal);
      })
      .catch(this.#options.onBug);
  }

  #fail(reason: string, refusal?: PaddletError): void {
    if (this.#state === 'over') return;
    this.#state = 'over';
    this.#link.terminate();
    this.#options.onFailed(reason, refusal);
  }
}
