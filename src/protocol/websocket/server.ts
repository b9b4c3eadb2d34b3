/**
 * One port of a role: WebSocket connections of subprotocol `paddlet.v4`, for processes that know the job's join token,
 * and plain HTTP for probes and metrics.
 */
import { createServer, type Server as HttpServer, type IncomingMessage } from 'node:http';
import {
  type AddressInfo,
  createServer as createSocketServer,
  type Socket,
  type Server as SocketServer,
} from 'node:net';
import { WebSocketServer } from 'ws';
import { LIMITS } from '../../base/limits.ts';
import type { OpenLink } from '../frames/link.ts';
import { ServerJoin } from '../join/server-join.ts';
import type { ListenOptions, Server } from '../messages/channel.ts';
import { type Address, formatAddress, isLoopback, parseAddress } from './address.ts';
import { type CallerRefusal, CallerRules } from './callers.ts';
import { listenError } from './claim-port.ts';
import { accept, chooseSubprotocol } from './handshake.ts';
import { HeldBytes } from './held-bytes.ts';
import { answerHttp } from './http-answers.ts';
import { RefusalLog } from './refusal-log.ts';
import { ServerSession } from './server-session.ts';
import { claimUnixSocket, sweepUnixSockets } from './unix-socket.ts';
import { type Unjoined, UnjoinedConnections } from './unjoined.ts';
import { offeredVersions, refusalBody, SUBPROTOCOL } from './version.ts';
import { isViewPath, VIEW_SUBPROTOCOL, Viewers, type ViewerUpgrade } from './viewers.ts';
import type { Wire } from './wire-options.ts';

/** Connections beyond the limit of WebSockets, so that a full role still answers its probes. */
const SPARE_CONNECTIONS = 64;

export async function listen(wire: Wire, options: ListenOptions): Promise<Server> {
  const { host, port } = parseAddress(options.listen, { allowPortZero: true });
  const server = new WebSocketRoleServer(wire, options, host);
  await server.bind({ host, port });
  if (wire.unixSockets) await server.bindUnixSocket(host);
  return server;
}

class WebSocketRoleServer implements Server {
  readonly #wire: Wire;
  readonly #options: ListenOptions;
  readonly #http: HttpServer;
  readonly #upgrades: WebSocketServer;
  readonly #sessions = new Set<ServerSession>();
  /** Hands its connections to `#http`. */
  #unix: SocketServer | undefined;
  readonly #unixSockets = new WeakSet<Socket>();
  #unixConnections = 0;
  /** Connections that have not joined, keyed by their sockets. */
  readonly #unjoined: UnjoinedConnections<Socket>;
  readonly #held: HeldBytes;
  #closing: Promise<void> | undefined;
  readonly #callers: CallerRules;
  readonly #refusals: RefusalLog;
  readonly #viewers: Viewers | undefined;
  /** Kept, since the socket no longer knows it once it is closing, and a request may still come then. */
  #port = 0;

  constructor(wire: Wire, options: ListenOptions, host: string) {
    this.#wire = wire;
    this.#options = options;
    this.#callers = new CallerRules([host, options.advertise ?? host], options.allow ?? { hosts: [], origins: [] });
    this.#refusals = new RefusalLog(wire);
    const { onViewer } = options;
    this.#viewers = onViewer && new Viewers({ wire, refusals: this.#refusals, onViewer });
    this.#unjoined = new UnjoinedConnections(wire.clock, {
      timeoutMs: wire.timing.unjoinedTimeoutMs,
      limit: wire.limits.unjoinedConnections,
    });
    this.#held = new HeldBytes(wire.clock, {
      limit: wire.limits.heldBytes,
      patienceMs: wire.timing.heldPatienceMs,
    });
    this.#upgrades = new WebSocketServer({
      noServer: true,
      perMessageDeflate: false,
      clientTracking: false,
      maxPayload: wire.limits.frameBytes,
      handleProtocols: (offered, { socket }) =>
        chooseSubprotocol(wire, offered, this.#isLocal(socket as Socket)) ?? false,
    });
    // Node's own time limits are off: `#unjoined` has one for everything before the first whole request.
    this.#http = createServer({ headersTimeout: 0, requestTimeout: 0, connectionsCheckingInterval: 2 ** 30 });
    this.#http.maxConnections = wire.limits.connectionsPerRole + wire.limits.unjoinedConnections + SPARE_CONNECTIONS;
    this.#http.on('connection', (socket: Socket) => this.#accept(socket));
    this.#http.on('request', (request, response) => {
      const refusal = this.#refusalOf(request, false);
      const readableBy = this.#callers.allowedOrigin(request.headersDistinct.origin ?? []);
      void answerHttp(request, response, { http: options.http, refusal, readableBy }, wire.onBug);
    });
    this.#http.on('upgrade', (request, socket, head) => this.#upgrade(request, socket as Socket, head));
    this.#http.on('clientError', (_error, socket) => refuse(socket as Socket, 400, 'Bad Request'));
    this.#http.on('drop', () =>
      this.#refusals.warn('connection refused: too many', { limit: this.#http.maxConnections }),
    );
  }

  get port(): number {
    return this.#port;
  }

  bind({ host, port }: Address): Promise<void> {
    return new Promise((resolve, reject) => {
      const failed = (error: NodeJS.ErrnoException): void => reject(listenError(error, formatAddress({ host, port })));
      this.#http.once('error', failed);
      this.#http.listen({ host, port }, () => {
        this.#http.off('error', failed);
        this.#port = (this.#http.address() as AddressInfo).port;
        // After it was bound an error means that accepting failed once (too many open files): the role lives on.
        this.#http.on('error', (error) => this.#wire.log.error('accepting failed', { reason: error.message }));
        resolve();
      });
    });
  }

  /** A second door for clients on this host; without it they use TCP. */
  async bindUnixSocket(host: string): Promise<void> {
    const path = claimUnixSocket(host, this.port);
    if (path === undefined) return;
    const unix = createSocketServer((socket) => {
      this.#unixSockets.add(socket);
      this.#http.emit('connection', socket);
    });
    unix.maxConnections = this.#http.maxConnections;
    this.#unix = unix;
    await new Promise<void>((resolve) => {
      unix.on('error', (error) => {
        this.#wire.log.warn('no Unix socket', { path, reason: error.message });
        resolve();
      });
      unix.listen({ path }, resolve);
    });
    if (unix.listening) await sweepUnixSockets(path);
  }

  close(): Promise<void> {
    this.#closing ??= new Promise((resolve) => {
      // First, and with its file: while the port is bound no other role makes one of this name.
      const unixClosed = new Promise<void>((closed) => {
        if (this.#unix?.listening === true) this.#unix.close(() => closed());
        else closed();
      });
      this.#http.close(() => void unixClosed.then(resolve));
      for (const session of [...this.#sessions]) session.drain();
      this.#viewers?.endAll();
      // What has not become a session has nothing running; a probe that is being answered loses little.
      this.#unjoined.endAll();
    });
    return this.#closing;
  }

  /** A connection has to bring one whole HTTP request, or to join, in time, slowly dripping bytes or not. */
  #accept(socket: Socket): void {
    const plain: Unjoined = { cut: () => void socket.destroy(), end: () => void socket.destroySoon() };
    if (!this.#unjoined.add(socket, plain)) {
      const { unjoinedConnections: limit } = this.#wire.limits;
      this.#refusals.warn('connection closed: too many connections have not joined', { limit });
    }
    // Even when the session reads another socket made of its handle: the answer to a handshake can fail late. 'close'
    // follows.
    socket.on('error', () => {});
    socket.once('close', () => this.#unjoined.remove(socket));
  }

  #upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    const onError = (): void => void socket.destroy();
    socket.on('error', onError);
    const refusal = this.#refusalOf(request, true);
    if (refusal !== undefined) {
      refuse(socket, refusal.status, refusal.reason, refusal.body);
      return;
    }
    const protocols = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
    const offered = new Set(protocols);
    const isViewer = this.#viewers !== undefined && offered.has(VIEW_SUBPROTOCOL);
    if (isViewer && !isViewPath(request)) {
      refuse(socket, 404, 'Not Found', 'viewers connect to /view\n');
      return;
    }
    if (!isViewer && this.#options.takesViewersOnly === true) {
      const remoteAddress = this.#nameOf(socket);
      this.#refusals.warn(`connection refused: only viewers (${VIEW_SUBPROTOCOL}) connect here`, { remoteAddress });
      refuse(socket, 400, 'Bad Request', `subprotocol must be ${VIEW_SUBPROTOCOL}\n`);
      return;
    }
    if (!isViewer && chooseSubprotocol(this.#wire, offered, this.#isLocal(socket)) === undefined) {
      const remoteAddress = this.#nameOf(socket);
      const speaks = offeredVersions(offered);
      this.#refusals.warn(`connection refused: expected a peer with ${SUBPROTOCOL}, got ${speaks}`, { remoteAddress });
      refuse(socket, 400, 'Bad Request', refusalBody(offered));
      return;
    }
    if (this.#closing !== undefined) {
      refuse(socket, 503, 'Service Unavailable', 'closing\n');
      return;
    }
    // Asked for while the socket still knows.
    const remote = this.#nameOf(socket);
    if (isViewer) {
      socket.off('error', onError);
      this.#admit({ request, socket, head, remote });
      return;
    }
    if (this.#isFull()) {
      refuse(socket, 503, 'Service Unavailable', 'too many connections\n');
      return;
    }
    accept(this.#wire, this.#upgrades, { request, socket, head }, (open) => {
      socket.off('error', onError);
      this.#join(open, { socket, remote, host: request.headers.host ?? '' });
    });
  }

  #admit(viewer: Pick<ViewerUpgrade, 'request' | 'socket' | 'head' | 'remote'>): void {
    const { socket } = viewer;
    const cut = this.#viewers!.accept({ ...viewer, onJoined: () => this.#unjoined.remove(socket) });
    this.#unjoined.change(socket, { cut, end: cut });
  }

  #join(open: OpenLink, { socket, remote, host }: { socket: Socket; remote: string; host: string }): void {
    const cut = (): void => joining.cut();
    const joining = new ServerJoin({
      open,
      host,
      token: this.#wire.joinToken,
      onBug: this.#wire.onBug,
      onJoined: (joined) => {
        this.#unjoined.remove(socket);
        if (this.#isFull()) cut();
        else this.#begin(joined, remote);
      },
      onRefused: (error) => {
        this.#refusals.warn(`connection refused: ${error.code}: ${error.message}`, { remoteAddress: remote });
        this.#wire.clock.after(this.#wire.timing.closeTimeoutMs, cut);
      },
    });
    this.#unjoined.change(socket, { cut, end: cut });
  }

  #begin(open: OpenLink, remote: string): void {
    const { handler, landing } = this.#options;
    const session = new ServerSession(this.#wire, open, remote, { handler, landing, held: this.#held });
    this.#sessions.add(session);
    session.onClosed(() => this.#sessions.delete(session));
  }

  #isFull(): boolean {
    const { connectionsPerRole: limit } = this.#wire.limits;
    if (this.#sessions.size < limit) return false;
    this.#refusals.warn('connection refused: too many', { limit });
    return true;
  }

  /** Why the caller is refused, before anything else of the request counts. */
  #refusalOf(request: IncomingMessage, isUpgrade: boolean): CallerRefusal | undefined {
    const { host = [], origin = [] } = request.headersDistinct;
    const { localAddress } = request.socket;
    const refusal = this.#callers.refusalOf({ host, origin, localAddress, isUpgrade }, this.port);
    if (refusal !== undefined) {
      const remoteAddress = this.#nameOf(request.socket);
      const said = { host: shown(host), origin: shown(origin), remoteAddress };
      this.#refusals.warn(`request refused: ${refusal.body.trimEnd()}`, said);
    }
    return refusal;
  }

  #nameOf(socket: Socket): string {
    if (this.#unixSockets.has(socket)) return `unix:${++this.#unixConnections}`;
    return formatAddress({ host: socket.remoteAddress ?? 'unknown', port: socket.remotePort ?? 0 });
  }

  /** Whether the connection comes from this machine. */
  #isLocal(socket: Socket): boolean {
    return this.#unixSockets.has(socket) || isLoopback((socket.remoteAddress ?? '').replace(/^::ffff:/, ''));
  }
}

const shown = (values: readonly string[]): string => values.join(', ').slice(0, LIMITS.shownHeaderCharacters);

function refuse(socket: Socket, status: number, reason: string, body = ''): void {
  if (!socket.writable) return void socket.destroy();
  socket.end(
    `HTTP/1.1 ${status} ${reason}\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
}
