/**
 * Reading a bare socket after its handshake, in two ways:
 *
 * - `direct`: the operating system writes where the reader says, with Node's `onread`: into the place of the payload,
 *   or into one scratch buffer that all connections share. For connections of ours this is documented; one that was
 *   accepted is moved to a new `net.Socket` made of the old one's handle, which is not, and is done only where Node
 *   looks as expected.
 * - `data`: `data` events, whose buffers Node allocates for each read.
 */
import { connect, type NetConnectOpts, Socket } from 'node:net';
import { assert } from '../../base/assert.ts';

export interface ReadHandlers {
  /** Where the next bytes may be read to; undefined for anywhere. Asked once before each read. */
  room(): Uint8Array | undefined;
  /** Reports that `byteLength` bytes were read there. */
  filled(byteLength: number): void;
  /** Other bytes, which the handler may change; not valid after the call. */
  feed(bytes: Buffer): void;
  /** The peer sends nothing more. */
  onEnd(): void;
  onClosed(): void;
}

export interface Reads {
  readonly socket: Socket;
  readonly bytesRead: number;
  /** Hands over what came before, then reads. */
  start(): void;
  /** True where `moved` works: only then may `room` name memory that moves. */
  readonly canRedirect: boolean;
  /** Nothing may be read to where `room` said last. */
  moved(): void;
}

/** Takes a socket over. Nothing is handed to `handlers` before `start`. */
export type OpenReads = (handlers: ReadHandlers) => Reads;

const SCRATCH_BYTES = 256 * 1024;
/** Bytes in it are used up before the next read of any connection, which is why one is enough. */
const scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);

/** What `onread` calls: until a reader takes over, bytes go the usual way, as `data` events. */
class DirectReads {
  #handlers: ReadHandlers | undefined;
  #place: Uint8Array = scratch;
  bytesRead = 0;
  /** Gets bytes as long as there are no handlers. */
  onEarly: (bytes: Buffer) => void = () => {};

  readonly onread = {
    buffer: (): Uint8Array => {
      this.#place = this.#handlers?.room() ?? scratch;
      return this.#place;
    },
    callback: (byteLength: number): boolean => {
      this.bytesRead += byteLength;
      const place = this.#place;
      // `buffer` is asked after this: until then there is no place to move from.
      this.#place = scratch;
      if (this.#handlers === undefined) this.onEarly(Buffer.from(scratch.subarray(0, byteLength)));
      else if (place === scratch) this.#handlers.feed(scratch.subarray(0, byteLength));
      else this.#handlers.filled(byteLength);
      return true;
    },
  };

  /** The next read of the socket goes to where nothing moves. */
  moved(socket: Socket): void {
    if (this.#place === scratch) return;
    const handle = handleOf(socket);
    // Nothing is read from a socket that is closed.
    if (handle === undefined || handle === null) return;
    assert(handle.useUserBuffer !== undefined, 'memory that moves is refused where reads cannot be redirected');
    this.#place = scratch;
    handle.useUserBuffer(scratch);
  }

  handOver(handlers: ReadHandlers): void {
    this.#handlers = handlers;
  }
}

/** A connection being made, that can be taken over once its handshake is done. */
export interface Dialed {
  readonly socket: Socket;
  readonly open: OpenReads;
}

/** Connects so that `open` reads directly. Before it, the socket is like any other. */
export function dialDirect(options: NetConnectOpts): Dialed {
  const direct = new DirectReads();
  const socket = connect({ ...options, onread: direct.onread });
  direct.onEarly = (bytes) => void socket.push(bytes);
  return {
    socket,
    open: (handlers) => ({
      socket,
      get bytesRead() {
        return direct.bytesRead;
      },
      start: () => {
        watchEnd(socket, handlers);
        const early = drain(socket);
        direct.handOver(handlers);
        if (early !== undefined) handlers.feed(early);
        // Without this the end of the socket would not be reported.
        socket.resume();
      },
      canRedirect: canRedirect(socket),
      moved: () => direct.moved(socket),
    }),
  };
}

/** Reads by `data` events. `head` came with the handshake. */
export const openByData =
  (socket: Socket, head?: Buffer): OpenReads =>
  (handlers) => {
    let bytesRead = head?.length ?? 0;
    return {
      socket,
      get bytesRead() {
        return bytesRead;
      },
      start: () => {
        watchEnd(socket, handlers);
        if (head !== undefined && head.length > 0) handlers.feed(head);
        socket.on('data', (bytes: Buffer) => {
          bytesRead += bytes.length;
          handlers.feed(bytes);
        });
        socket.resume();
      },
      // Nothing is read where `room` says.
      canRedirect: true,
      moved: () => {},
    };
  };

interface Handle {
  /** What Node itself calls for `onread`: reads go there until the next `buffer`. */
  readonly useUserBuffer: (place: Uint8Array) => void;
  readonly reading: unknown;
}

const handleOf = (socket: Socket): Partial<Handle> | null | undefined =>
  (socket as unknown as { readonly _handle?: Partial<Handle> | null })._handle;

/** True where Node offers what redirects a read that is under way. */
export const canRedirect = (socket: Socket): boolean => typeof handleOf(socket)?.useUserBuffer === 'function';

/** Reads directly from a socket that was accepted, or by `data` events where Node is not as we know it. */
export const openAccepted =
  (accepted: Socket, head: Buffer): OpenReads =>
  (handlers) => {
    const moved = moveHandle(accepted);
    if (moved === undefined) return openByData(accepted, head)(handlers);
    const { socket, direct } = moved;
    return {
      socket,
      get bytesRead() {
        return direct.bytesRead + head.length;
      },
      start: () => {
        // The server counts its connections by the sockets that it made.
        socket.once('close', () => accepted.destroy());
        watchEnd(socket, handlers);
        direct.handOver(handlers);
        if (head.length > 0) handlers.feed(head);
        socket.resume();
      },
      canRedirect: canRedirect(socket),
      moved: () => direct.moved(socket),
    };
  };

/** True where an accepted socket can be read directly. */
export const canReadAccepted = (socket: Socket): boolean => {
  const handle = handleOf(socket);
  const known = canRedirect(socket) && typeof handle?.reading === 'boolean';
  // Bytes on their way in either direction belong to the old socket.
  return known && socket.writableLength === 0 && socket.readableLength === 0;
};

function moveHandle(accepted: Socket): { socket: Socket; direct: DirectReads } | undefined {
  if (!canReadAccepted(accepted)) return undefined;
  const owner = accepted as unknown as { _handle: Handle | null };
  const direct = new DirectReads();
  const options = { handle: owner._handle, onread: direct.onread };
  owner._handle = null;
  return { socket: new Socket(options as unknown as ConstructorParameters<typeof Socket>[0]), direct };
}

/** What a socket has read and no handler has taken. */
function drain(socket: Socket): Buffer | undefined {
  const chunks: Buffer[] = [];
  for (let chunk = socket.read(); chunk !== null; chunk = socket.read()) chunks.push(chunk as Buffer);
  return chunks.length === 0 ? undefined : Buffer.concat(chunks);
}

function watchEnd(socket: Socket, handlers: ReadHandlers): void {
  socket.on('end', () => handlers.onEnd());
  // 'close' follows.
  socket.on('error', () => {});
  socket.on('close', () => handlers.onClosed());
}
