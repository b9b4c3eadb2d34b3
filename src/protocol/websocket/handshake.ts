/**
 * The handshakes of both sides, done by `ws`; then the socket is taken from it, or not (`WireOptions.receive`). A
 * client of a role on its own host tries the role's Unix socket first.
 */
import { randomFillSync } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { WebSocket, type WebSocketServer } from 'ws';
import type { PaddletError } from '../../base/errors.ts';
import type { OpenLink } from '../frames/link.ts';
import { isLoopback, parseAddress } from './address.ts';
import { SocketLink } from './socket-link.ts';
import { type Dialed, dialDirect, openAccepted, openByData } from './socket-reads.ts';
import { unixSocketOf } from './unix-socket.ts';
import { readRefusal, SUBPROTOCOL, wrongVersion, ZERO_MASK_SUBPROTOCOL } from './version.ts';
import type { Wire } from './wire-options.ts';
import { WsLink } from './ws-link.ts';

export interface DialEvents {
  onOpen(open: OpenLink): void;
  /** Called once, unless `onOpen` was. `refusal`: the peer can be reached, but will never take this client. */
  onFailed(reason: string, refusal?: PaddletError): void;
}

/** Connects to a role. The function returned gives up, in silence, unless the connection is open. */
export function dial(wire: Wire, address: string, events: DialEvents): () => void {
  const { host, port } = parseAddress(address);
  const path = wire.unixSockets ? unixSocketOf(host, port) : undefined;
  const overTcp = { host, port };
  if (path === undefined) return dialOnce(wire, address, overTcp, events);
  let giveUp = dialOnce(
    wire,
    address,
    { path },
    {
      onOpen: events.onOpen,
      onFailed: (reason) => {
        wire.log.debug(`no Unix socket of ${address}`, { path, reason });
        giveUp = dialOnce(wire, address, overTcp, events);
      },
    },
  );
  return () => giveUp();
}

type Target = { readonly path: string } | { readonly host: string; readonly port: number };

function dialOnce(wire: Wire, address: string, target: Target, events: DialEvents): () => void {
  let settled = false;
  const once = (run: () => void): void => {
    if (settled) return;
    settled = true;
    run();
  };
  let dialed: Dialed | undefined;
  const offersZeroMask = agreesToZeroMask(wire, 'path' in target || isLoopback(target.host));
  const ws = new WebSocket(`ws://${address}/`, offersZeroMask ? [ZERO_MASK_SUBPROTOCOL, SUBPROTOCOL] : SUBPROTOCOL, {
    perMessageDeflate: false,
    maxPayload: wire.limits.frameBytes,
    followRedirects: false,
    // As it is written: proofs of the join token cover it.
    headers: { host: address },
    generateMask: (mask) => (ws.protocol === ZERO_MASK_SUBPROTOCOL ? mask.fill(0) : randomFillSync(mask)),
    createConnection: () => {
      dialed = wire.receive === 'direct' ? dialDirect(target) : dialPlain(target);
      return dialed.socket;
    },
  });
  let release = (): void => {};
  ws.on('upgrade', ({ socket }) => {
    release = keepListeners(socket);
  });
  ws.on('open', () => {
    const { socket, open } = dialed!;
    socket.setNoDelay(true);
    once(() =>
      events.onOpen((handlers) => {
        if (wire.receive === 'ws') return new WsLink(ws, socket, handlers, wire.limits, wire.pool);
        release();
        const zeroMask = ws.protocol === ZERO_MASK_SUBPROTOCOL;
        return new SocketLink(handlers, { side: 'client', zeroMask, limits: wire.limits, pool: wire.pool, open });
      }),
    );
  });
  ws.on('unexpected-response', (_request, response) => {
    readRefusal(response, (theirs) => {
      const refusal = theirs === undefined ? undefined : wrongVersion(address, theirs);
      once(() => events.onFailed(refusal?.message ?? `the handshake was answered ${response.statusCode}`, refusal));
      ws.terminate();
    });
  });
  ws.on('error', (error: NodeJS.ErrnoException) => once(() => events.onFailed(error.code ?? error.message)));
  ws.on('close', (code) => once(() => events.onFailed(`close code ${code}`)));
  return () => {
    once(() => {});
    ws.terminate();
  };
}

const dialPlain = (target: Target): Dialed => {
  const socket = connect(target);
  // What came with the handshake is still in the socket, and becomes an event again.
  return { socket, open: openByData(socket) };
};

/** Zeros instead of masks: only where no proxy can be in between, or the user says that none does. */
const agreesToZeroMask = (wire: Wire, isLocal: boolean): boolean =>
  wire.masking === 'zero' || (wire.masking === 'auto' && isLocal);

/** The subprotocol that a role chooses among those offered; undefined to refuse. */
export function chooseSubprotocol(wire: Wire, offered: ReadonlySet<string>, isLocal: boolean): string | undefined {
  if (offered.has(ZERO_MASK_SUBPROTOCOL) && agreesToZeroMask(wire, isLocal)) return ZERO_MASK_SUBPROTOCOL;
  return offered.has(SUBPROTOCOL) ? SUBPROTOCOL : undefined;
}

export interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Socket;
  readonly head: Buffer;
}

/** Ends the handshake of an accepted connection; `onOpen` is called at once if it is valid. */
export function accept(
  wire: Wire,
  upgrades: WebSocketServer,
  { request, socket, head }: Upgrade,
  onOpen: (open: OpenLink) => void,
): void {
  const release = keepListeners(socket);
  const isBare = wire.receive !== 'ws';
  upgrades.handleUpgrade(request, socket, isBare ? Buffer.alloc(0) : head, (ws) => {
    socket.setNoDelay(true);
    onOpen((handlers) => {
      if (!isBare) return new WsLink(ws, socket, handlers, wire.limits, wire.pool);
      release();
      const open = wire.receive === 'direct' ? openAccepted(socket, head) : openByData(socket, head);
      return new SocketLink(handlers, { side: 'server', zeroMask: false, limits: wire.limits, pool: wire.pool, open });
    });
  });
}

const EVENTS = ['close', 'data', 'end', 'error'] as const;
type Listener = (...facts: unknown[]) => void;

/** Remembers the listeners; the function returned removes those added later, and stops the flow. */
function keepListeners(socket: Socket): () => void {
  const before = new Map(EVENTS.map((event) => [event, new Set(socket.listeners(event))]));
  return () => {
    for (const [event, known] of before) {
      for (const listener of socket.listeners(event)) {
        if (!known.has(listener)) socket.removeListener(event, listener as Listener);
      }
    }
    socket.pause();
  };
}
