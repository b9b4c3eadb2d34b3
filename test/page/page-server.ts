/** A role as the page sees it: serves the page, asks for the proof, tells what the test pushes. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { PAGE_HTML, PAGE_SECURITY_POLICY } from '../../src/page/generated/page.ts';
import type { PageData, PageMessage } from '../../src/page/page-data.ts';

export const TOKEN = '5a'.repeat(32);
const NONCE = '0f'.repeat(32);

export interface PageServer {
  /** Without the token. */
  readonly url: string;
  readonly port: number;
  /** Of each request but those for `/` and the WebSocket. */
  readonly strayRequests: readonly string[];
  push(data: PageData): void;
  close(): Promise<void>;
}

export async function servePage(first: PageData, port = 0): Promise<PageServer> {
  let data = first;
  const strayRequests: string[] = [];
  const viewers = new Set<WebSocket>();
  const server = createServer((request, response) => {
    if (new URL(request.url!, 'http://page').pathname !== '/') strayRequests.push(request.url!);
    response.writeHead(200, { 'content-type': 'text/html', 'content-security-policy': PAGE_SECURITY_POLICY });
    response.end(PAGE_HTML);
  });
  const sockets = new WebSocketServer({ server, path: '/view', handleProtocols: () => 'paddlet.view.v1' });
  sockets.on('connection', (socket, request) => {
    const send = (message: PageMessage): void => socket.send(JSON.stringify(message));
    socket.once('message', (text: Buffer) => {
      const { proof } = JSON.parse(text.toString('utf8')) as { proof: string };
      const hmac = createHmac('sha256', Buffer.from(TOKEN, 'hex')).update('paddlet.view.v1 viewer');
      const right = hmac.update(Buffer.from(NONCE, 'hex')).update(request.headers.host!).digest();
      if (!timingSafeEqual(right, Buffer.from(proof, 'hex'))) {
        send({ type: 'refused', message: 'the view token is not that of this job' });
        socket.close();
        return;
      }
      viewers.add(socket);
      socket.on('close', () => viewers.delete(socket));
      send({ type: 'data', data });
    });
    send({ type: 'challenge', nonce: NONCE });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const { port: bound } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${bound}/`,
    port: bound,
    strayRequests,
    push(next) {
      data = next;
      for (const viewer of viewers) viewer.send(JSON.stringify({ type: 'data', data } satisfies PageMessage));
    },
    async close() {
      for (const viewer of sockets.clients) viewer.terminate();
      sockets.close();
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
