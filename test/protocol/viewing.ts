/** A browser that looks at a job, as far as a role can tell: for tests without one. */
import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import type { PageMessage } from '../../src/page/page-data.ts';
import { viewProofOf } from '../../src/protocol/join/view-token.ts';
import { VIEW_SUBPROTOCOL } from '../../src/protocol/websocket/viewers.ts';

export interface TestViewer {
  readonly ws: WebSocket;
  /** The next text, in order. */
  next(): Promise<PageMessage>;
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
}

export interface ViewerParts {
  readonly path?: string;
  readonly origin?: string;
}

/** Rejects when the handshake is refused. */
export async function openViewer(address: string, { path = '/view', origin }: ViewerParts = {}): Promise<TestViewer> {
  const ws = new WebSocket(`ws://${address}${path}`, VIEW_SUBPROTOCOL, origin === undefined ? {} : { origin });
  const texts: PageMessage[] = [];
  let wake = (): void => {};
  ws.on('message', (data) => {
    texts.push(JSON.parse(String(data)) as PageMessage);
    wake();
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    ws.once('close', (code, reason) => resolve({ code, reason: String(reason) }));
  });
  onTestFinished(() => ws.terminate());
  await once(ws, 'open');
  return {
    ...{ ws, closed },
    next: async () => {
      while (texts.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      return texts.shift()!;
    },
  };
}

/** Answers the challenge; `host` is the address that the browser means. */
export async function proveTo(viewer: TestViewer, viewToken: Uint8Array, host: string): Promise<void> {
  const challenge = await viewer.next();
  if (challenge.type !== 'challenge') throw new Error(`a ${challenge.type} before the challenge`);
  const proof = viewProofOf(viewToken, Buffer.from(challenge.nonce, 'hex'), host);
  viewer.ws.send(JSON.stringify({ type: 'proof', proof: Buffer.from(proof).toString('hex') }));
}
