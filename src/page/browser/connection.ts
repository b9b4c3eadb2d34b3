/** The WebSocket to the role that served the page. It is opened again for ever. */
import type { PageCurve, PageData, PageMessage, PageProof } from '../page-data.ts';
import { pauseMs } from './pauses.ts';
import { proofOf } from './proof.ts';

const SUBPROTOCOL = 'paddlet.view.v1';
/** Data come every two seconds. A connection may be gone without a word, as when a machine was switched off. */
const SILENCE_MS = 12_000;

export type LinkState =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'live' }
  | { readonly kind: 'lost' }
  | { readonly kind: 'refused'; readonly message: string };

export interface View {
  readonly link: LinkState;
  /** The last that was seen. */
  readonly data?: PageData;
  readonly curves: readonly PageCurve[];
  /** When the role last saw the job itself, on the clock of `performance`. */
  readonly seenMs?: number;
}

export class Connection {
  readonly #token: string;
  readonly #onView: (view: View) => void;
  #view: View = { link: { kind: 'connecting' }, curves: [] };
  #socket: WebSocket | undefined;
  #watchdog: ReturnType<typeof setTimeout> | undefined;
  #failures = 0;

  constructor(token: string, onView: (view: View) => void) {
    this.#token = token;
    this.#onView = onView;
  }

  open(): void {
    const { protocol, host, search } = location;
    const job = new URLSearchParams(search).get('job');
    const query = job === null ? '' : `?job=${encodeURIComponent(job)}`;
    const socket = new WebSocket(`${protocol === 'https:' ? 'wss' : 'ws'}://${host}/view${query}`, SUBPROTOCOL);
    this.#socket = socket;
    socket.onopen = () => {
      if (this.#view.link.kind === 'refused') this.#show({ ...this.#view, link: { kind: 'lost' } });
    };
    socket.onmessage = ({ data }) => {
      this.#watch();
      if (typeof data === 'string') this.#onMessage(JSON.parse(data) as PageMessage);
    };
    socket.onclose = () => this.#onClosed();
    this.#watch();
  }

  #onMessage(message: PageMessage): void {
    switch (message.type) {
      case 'challenge': {
        const proof = proofOf(this.#token, message.nonce, location.host);
        this.#socket?.send(JSON.stringify({ type: 'proof', proof } satisfies PageProof));
        break;
      }
      case 'refused':
        this.#show({ ...this.#view, link: { kind: 'refused', message: message.message } });
        break;
      case 'data':
        this.#onData(message.data);
        break;
    }
  }

  #onData(data: PageData): void {
    this.#failures = 0;
    const isNew = data.problem === undefined;
    const seenMs = isNew ? performance.now() : this.#view.seenMs;
    // A role that has not seen the job yet knows less than this page.
    const before = isNew || data.job !== undefined ? undefined : this.#view.data;
    this.#show({
      link: { kind: 'live' },
      data: before === undefined ? data : { ...before, problem: data.problem },
      curves: data.curves ?? this.#view.curves,
      ...(seenMs !== undefined && { seenMs }),
    });
  }

  #watch(): void {
    clearTimeout(this.#watchdog);
    this.#watchdog = setTimeout(() => {
      this.#socket?.close();
      this.#onClosed();
    }, SILENCE_MS);
  }

  #onClosed(): void {
    clearTimeout(this.#watchdog);
    // A connection that closes slowly must not be reported twice.
    if (this.#socket !== undefined) this.#socket.onclose = this.#socket.onmessage = null;
    this.#socket = undefined;
    const { link } = this.#view;
    const wasRefused = link.kind === 'refused';
    if (!wasRefused) this.#show({ ...this.#view, link: { kind: 'lost' } });
    setTimeout(() => this.open(), pauseMs(this.#failures, wasRefused));
    this.#failures += 1;
  }

  #show(view: View): void {
    this.#view = view;
    this.#onView(view);
  }
}
