/**
 * A role's side of joining: sends a challenge, takes one proof, and then proves that it knows the token, too. Until
 * then a stranger may send one small frame and nothing else.
 */
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import { bad } from '../frames/frame.ts';
import type { Link, OpenLink, ReceivedFrame } from '../frames/link.ts';
import { asPaddletError, joinHeaderOf, proofSchema, sendJoin, sendRefusal } from './frames.ts';
import { isProof, type Meeting, newNonce, proofOf } from './proof.ts';
import type { JoinToken } from './token.ts';

export interface ServerJoinOptions {
  readonly open: OpenLink;
  readonly token: JoinToken;
  /** The `Host` header of the handshake. */
  readonly host: string;
  /** The connection, to be taken over at once. */
  readonly onJoined: (open: OpenLink) => void;
  /** Called at most once, and then neither `onJoined` is. The error has been sent. */
  readonly onRefused: (error: PaddletError) => void;
  /** Gets what is a bug. */
  readonly onBug: (error: unknown) => void;
}

export class ServerJoin {
  readonly #options: ServerJoinOptions;
  readonly #link: Link;
  readonly #serverNonce = newNonce();
  #state: 'waiting' | 'checking' | 'joined' | 'over' = 'waiting';

  constructor(options: ServerJoinOptions) {
    this.#options = options;
    this.#link = options.open({
      place: () => 'skip',
      onFrame: (frame) => this.#receive(frame),
      onBadFrame: (error) => this.#refuse(error),
      onViolation: (reason) => this.#end(new PaddletError('BadFrame', reason)),
      onClosed: () => {
        this.#state = 'over';
      },
    });
    this.#link.start();
    sendJoin(this.#link, { type: 'challenge', nonce: this.#serverNonce });
  }

  cut(): void {
    this.#state = 'over';
    this.#link.terminate();
  }

  #receive(frame: ReceivedFrame): void {
    frame.free();
    try {
      if (this.#state !== 'waiting') throw bad('kind', `a ${frame.kind} before the proof was answered`);
      const { nonce, proof } = joinHeaderOf(frame, proofSchema);
      this.#state = 'checking';
      const meeting = { clientNonce: nonce, serverNonce: this.#serverNonce, host: this.#options.host };
      this.#check(meeting, proof).catch(this.#options.onBug);
    } catch (error) {
      this.#refuse(asPaddletError(error));
    }
  }

  async #check(meeting: Meeting, proof: Uint8Array): Promise<void> {
    const found = await this.#tokenOf(meeting, proof);
    if (this.#state !== 'checking') return;
    if (isPaddletError(found)) {
      this.#refuse(found);
      return;
    }
    this.#state = 'joined';
    sendJoin(this.#link, { type: 'welcome', proof: proofOf(found, 'server', meeting) });
    this.#options.onJoined((handlers) => {
      this.#link.handOver(handlers);
      return this.#link;
    });
  }

  /** The token that the client knows; or why it may not join. */
  async #tokenOf(meeting: Meeting, proof: Uint8Array): Promise<Uint8Array | PaddletError> {
    const { token } = this.#options;
    const isRight = (known: Uint8Array | undefined): boolean => isProof(proof, known, 'client', meeting);
    try {
      let known = await token.current();
      // The token may have been changed, and the client knows it before this process does.
      if (!isRight(known)) known = await token.refresh();
      if (known === undefined)
        return new PaddletError('NotReady', 'this role does not know its job yet, so it has no join token');
      return isRight(known)
        ? known
        : new PaddletError('JoinRefused', 'the client does not know the join token of this role');
    } catch (error) {
      return new PaddletError('NotReady', `this role cannot read the join token: ${asPaddletError(error).code}`);
    }
  }

  #refuse(error: PaddletError): void {
    if (this.#state === 'over') return;
    sendRefusal(this.#link, error);
    this.#link.close(error.code === 'FrameTooLarge' ? 1009 : error.code === 'BadFrame' ? 1002 : 1008, error.code);
    this.#end(error);
  }

  #end(error: PaddletError): void {
    if (this.#state === 'over') return;
    this.#state = 'over';
    this.#options.onRefused(error);
  }
}
