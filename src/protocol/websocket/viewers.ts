/**
 * Browsers that look at a job: WebSocket connections of subprotocol `paddlet.view.v1` (docs/protocol.md, "Viewers").
 * One sends a single text, its proof to know the view token, and is sent texts from then on. Whatever else it sends
 * ends its connection: there is nothing that it could ask for, or change.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';
import * as z from 'zod';
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { parsedJson } from '../../base/parsed-json.ts';
import { isSameToken, newNonce } from '../join/proof.ts';
import { isViewProof, viewTokenOf } from '../join/view-token.ts';
import type { Viewer } from '../messages/channel.ts';
import { FrameStarts } from './frame-starts.ts';
import type { RefusalLog } from './refusal-log.ts';
import type { Wire } from './wire-options.ts';

export const VIEW_SUBPROTOCOL = 'paddlet.view.v1';
const VIEW_PATH = '/view';

export const isViewPath = ({ url = '' }: Pick<IncomingMessage, 'url'>): boolean => url.split('?', 1)[0] === VIEW_PATH;

export interface ViewersOptions {
  readonly wire: Wire;
  readonly refusals: RefusalLog;
  readonly onViewer: (viewer: Viewer) => void;
}

/** A connection that is about to become a viewer's. */
export interface ViewerUpgrade {
  readonly request: IncomingMessage;
  readonly socket: Socket;
  readonly head: Buffer;
  readonly remote: string;
  /** It has proved to know the token. */
  readonly onJoined: () => void;
}

export class Viewers {
  readonly #options: ViewersOptions;
  readonly #upgrades = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    clientTracking: false,
    maxPayload: LIMITS.viewerTextBytes,
    handleProtocols: () => VIEW_SUBPROTOCOL,
  });
  /** Viewers that have proved to know the token. */
  readonly #joined = new Set<ViewerConnection>();

  constructor(options: ViewersOptions) {
    this.#options = options;
  }

  /** Ends the handshake. The function returned cuts the connection. */
  accept({ request, socket, head, remote, onJoined }: ViewerUpgrade): () => void {
    this.#upgrades.handleUpgrade(request, socket, head, (ws) => {
      const connection: ViewerConnection = new ViewerConnection(ws, this.#options.wire, {
        ...{ host: request.headers.host ?? '', path: (request.url ?? '').slice(0, LIMITS.viewerPathCharacters) },
        onJoined: () => {
          if (this.#joined.size >= LIMITS.viewers) {
            connection.refuse(new PaddletError('Overloaded', `${LIMITS.viewers} browsers already show this job`));
            return;
          }
          onJoined();
          this.#joined.add(connection);
          connection.onClosed(() => this.#joined.delete(connection));
          this.#options.onViewer(connection);
        },
        onRefused: (error) => {
          const said = `viewer refused: ${error.code}: ${error.message}`;
          this.#options.refusals.warn(said, { remoteAddress: remote });
        },
      });
      const frames = new FrameStarts(() => connection.refuseData());
      // Before `ws`, which handles a message as soon as it is complete.
      socket.prependListener('data', (bytes: Buffer) => frames.push(bytes));
    });
    return () => void socket.destroy();
  }

  /** Lets what is on its way be sent. */
  endAll(): void {
    for (const connection of [...this.#joined]) connection.end(1001, 'closing');
  }
}

interface ConnectionOptions {
  /** The `Host` header of the handshake. */
  readonly host: string;
  readonly path: string;
  readonly onJoined: () => void;
  readonly onRefused: (error: PaddletError) => void;
}

const proofSchema = z.strictObject({
  type: z.literal('proof'),
  proof: z.string().regex(new RegExp(`^[0-9a-f]{${2 * LIMITS.joinProofBytes}}$`)),
});

class ViewerConnection implements Viewer {
  readonly path: string;
  readonly #ws: WebSocket;
  readonly #wire: Wire;
  readonly #options: ConnectionOptions;
  readonly #nonce = newNonce();
  readonly #onClosed = new Set<() => void>();
  #state: 'waiting' | 'checking' | 'joined' | 'over' = 'waiting';
  /** The join token whose view token it has proved to know. */
  #token: Uint8Array | undefined;
  /** When it was heard of last: browsers answer pings. */
  #heardMs: number;

  constructor(ws: WebSocket, wire: Wire, options: ConnectionOptions) {
    this.#ws = ws;
    this.#wire = wire;
    this.#options = options;
    this.path = options.path;
    this.#heardMs = wire.clock.monotonicMs();
    ws.on('pong', () => {
      this.#heardMs = wire.clock.monotonicMs();
    });
    // 'close' follows.
    ws.on('error', () => {});
    ws.on('message', (data, isBinary) => this.#receive(data, isBinary));
    ws.on('close', () => this.#ended());
    ws.send(JSON.stringify({ type: 'challenge', nonce: Buffer.from(this.#nonce).toString('hex') }));
  }

  onClosed(run: () => void): void {
    if (this.#ws.readyState === this.#ws.CLOSED) run();
    else this.#onClosed.add(run);
  }

  async send(text: string): Promise<boolean> {
    const refusal = await this.#refusalNow();
    if (this.#state !== 'joined') return false;
    if (refusal !== undefined) {
      this.refuse(refusal);
      return false;
    }
    if (this.#wire.clock.monotonicMs() - this.#heardMs > LIMITS.viewerPatienceMs) {
      this.#ws.terminate();
      return false;
    }
    if (this.#ws.bufferedAmount > 0) return false;
    this.#ws.send(text);
    this.#ws.ping();
    return true;
  }

  refuse(error: PaddletError): void {
    if (this.#state === 'over') return;
    this.#options.onRefused(error);
    this.#ws.send(JSON.stringify({ type: 'refused', message: error.message }));
    this.end(1008, error.code);
  }

  /** Refuses data that is not the proof. */
  refuseData(): void {
    this.refuse(new PaddletError('BadFrame', 'a viewer sends its proof, once, and nothing else'));
  }

  end(code: number, reason: string): void {
    this.#state = 'over';
    this.#ws.close(code, reason);
    const { clock, timing } = this.#wire;
    this.onClosed(clock.after(timing.closeTimeoutMs, () => this.#ws.terminate()));
  }

  /** The first message: at the start of a second one `FrameStarts` has ended the connection. */
  #receive(data: RawData, isBinary: boolean): void {
    if (this.#state === 'over') return;
    const parsed = isBinary ? undefined : proofSchema.safeParse(parsedJson(String(data)));
    if (parsed?.success !== true) {
      this.refuseData();
      return;
    }
    this.#state = 'checking';
    this.#check(Buffer.from(parsed.data.proof, 'hex')).catch(this.#wire.onBug);
  }

  async #check(proof: Uint8Array): Promise<void> {
    const found = await this.#tokenOf(proof);
    if (this.#state !== 'checking') return;
    if (isPaddletError(found)) {
      this.refuse(found);
      return;
    }
    this.#token = found;
    this.#state = 'joined';
    this.#options.onJoined();
  }

  /** The join token whose view token the viewer knows; or why it may not look. */
  async #tokenOf(proof: Uint8Array): Promise<Uint8Array | PaddletError> {
    const { joinToken } = this.#wire;
    const isRight = (token: Uint8Array): boolean =>
      isViewProof(proof, viewTokenOf(token), this.#nonce, this.#options.host);
    try {
      let known = await joinToken.current();
      // It may have been changed, and the viewer knows it before this process does.
      if (known === undefined || !isRight(known)) known = await joinToken.refresh();
      if (known === undefined) return new PaddletError('NotReady', 'this process does not know its job yet');
      return isRight(known) ? known : new PaddletError('JoinRefused', 'the link lacks the view token of this job');
    } catch (error) {
      if (isPaddletError(error)) return new PaddletError('NotReady', `the join token cannot be read: ${error.code}`);
      throw error;
    }
  }

  /** Why the viewer may no longer look. */
  async #refusalNow(): Promise<PaddletError | undefined> {
    try {
      const known = await this.#wire.joinToken.current();
      if (isSameToken(known, this.#token)) return undefined;
      if (known === undefined) return new PaddletError('NotReady', 'the join token is no longer known');
      return new PaddletError(
        'JoinRefused',
        'the token of this job was changed: get a new link with `paddlet token view`',
      );
    } catch (error) {
      if (isPaddletError(error)) return new PaddletError('NotReady', `the join token cannot be read: ${error.code}`);
      throw error;
    }
  }

  #ended(): void {
    this.#state = 'over';
    for (const run of [...this.#onClosed]) run();
    this.#onClosed.clear();
  }
}
