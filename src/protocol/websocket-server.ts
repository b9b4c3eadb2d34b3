/** One port of a role: WebSocket connections of subprotocol `paddlet.v1`, and plain HTTP for probes and metrics. */
import { createServer, type Server as HttpServer, type IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { WebSocketServer } from 'ws';
import { PaddletError } from '../base/errors.ts';
import { formatAddress, parseAddress } from './address.ts';
import type { ListenOptions, Server } from './channel.ts';
import { answerHttp } from './http-answers.ts';
import { ServerSession } from './server-session.ts';
import { SUBPROTOCOL, type Wire } from './wire-options.ts';

/** Connections beyond the limit of WebSockets, so that a full role still answers its probes. */
const SPARE_CONNECTIONS = 64;

export async function listen(wire: Wire, options: ListenOptions): Promise<Server> {
  const { host, port } = parseAddress(options.listen, { allowPortZero: true });
  const server = new WebSocketRoleServer(wire, options);
  await server.bind(host, port);
  return server;
}

class WebSocketRoleServer implements Server {
  readonly #wire: Wire;
  readonly #options: ListenOptions;
  readonly #http: HttpServer;
  readonly #upgrades: WebSocketServer;
  readonly #sessions = new Set<ServerSession>();
  /** TCP connections, whatever they talk. */
  readonly #sockets = new Set<Socket>();
  #closing: Promise<void> | undefined;

  constructor(wire: Wire, options: ListenOptions) {
    this.#wire = wire;
    this.#options = options;
    this.#upgrades = new WebSocketServer({
      noServer: true,
      perMessageDeflate: false,
      clientTracking: false,
      maxPayload: wire.limits.frameBytes,
      handleProtocols: () => SUBPROTOCOL,
    });
    // Node's own time limits are off: `#limitHandshake` has one for everything before the first whole request.
    this.#http = createServer({ headersTimeout: 0, requestTimeout: 0, connectionsCheckingInterval: 2 ** 30 });
    this.#http.maxConnections = wire.limits.connectionsPerRole + SPARE_CONNECTIONS;
    this.#http.on('connection', (socket: Socket) => this.#accept(socket));
    this.#http.on('request', (request, response) => {
      void answerHttp(request, response, options.http, wire.onBug);
    });
    this.#http.on('upgrade', (request, socket, head) => this.#upgrade(request, socket as Socket, head));
    this.#http.on('clientError', (_error, socket) => refuse(socket as Socket, 400, 'Bad Request'));
    this.#http.on('drop', () => wire.log.warn('connection refused: too many', { limit: this.#http.maxConnections }));
  }

  get port(): number {
    return (this.#http.address() as AddressInfo).port;
  }

  bind(host: string, port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const failed = (error: NodeJS.ErrnoException): void => reject(listenError(error, formatAddress({ host, port })));
      this.#http.once('error', failed);
      this.#http.listen({ host, port }, () => {
        this.#http.off('error', failed);
        // After it was bound an error means that accepting failed once (too many open files): the role lives on.
        this.#http.on('error', (error) => this.#wire.log.error('accepting failed', { reason: error.message }));
        resolve();
      });
    });
  }

  close(): Promise<void> {
    this.#closing ??= new Promise((resolve) => {
      this.#http.close(() => resolve());
      for (const session of [...this.#sessions]) session.drain();
      // What has not become a session has nothing running; a probe that is being answered loses little.
      for (const socket of this.#sockets) socket.destroySoon();
    });
    return this.#closing;
  }

  /** A connection has to bring one whole HTTP request in time, slowly dripping bytes or not. */
  #accept(socket: Socket): void {
    this.#sockets.add(socket);
    const { handshakeTimeoutMs } = this.#wire.timing;
    const stop = this.#wire.clock.after(handshakeTimeoutMs, () => {
      if (this.#sockets.has(socket)) socket.destroy();
    });
    socket.once('close', () => {
      stop();
      this.#sockets.delete(socket);
    });
  }

  #upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    const onError = (): void => void socket.destroy();
    socket.on('error', onError);
    const protocols = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
    if (!protocols.includes(SUBPROTOCOL)) {
      refuse(socket, 400, 'Bad Request', `subprotocol must be ${SUBPROTOCOL}\n`);
      return;
    }
    if (this.#closing !== undefined) {
      refuse(socket, 503, 'Service Unavailable', 'closing\n');
      return;
    }
    if (this.#sessions.size >= this.#wire.limits.connectionsPerRole) {
      this.#wire.log.warn('connection refused: too many', { limit: this.#wire.limits.connectionsPerRole });
      refuse(socket, 503, 'Service Unavailable', 'too many connections\n');
      return;
    }
    this.#upgrades.handleUpgrade(request, socket, head, (ws) => {
      socket.off('error', onError);
      this.#sockets.delete(socket);
      socket.setNoDelay(true);
      const remote = formatAddress({ host: socket.remoteAddress ?? 'unknown', port: socket.remotePort ?? 0 });
      const { handler, landing } = this.#options;
      const session = new ServerSession(this.#wire, { ws, socket }, remote, { handler, landing });
      this.#sessions.add(session);
      session.onClosed(() => this.#sessions.delete(session));
    });
  }
}

function refuse(socket: Socket, status: number, reason: string, body = ''): void {
  if (!socket.writable) return void socket.destroy();
  socket.end(
    `HTTP/1.1 ${status} ${reason}\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
}

function listenError(error: NodeJS.ErrnoException, address: string): Error {
  switch (error.code) {
    case 'EADDRINUSE':
      return new PaddletError('PortInUse', `${address} is in use by another process`, {
        hint: 'choose another port, or port 0 for a free one',
        cause: error,
      });
    case 'EACCES':
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new PaddletError('Usage', `cannot listen on ${address}: ${error.code}`, {
        hint: 'choose an address of this machine and a port above 1023',
        cause: error,
      });
    default:
      return error;
  }
}
