/**
 * The limit of the wire: two Node processes and a bare TCP socket, without frames, headers or answers worth the name. A
 * message is 8 bytes (what, how long) and, when pushed, that many more, which end in memory of its own, as they do in
 * paddlet; a push is acknowledged by 8 bytes, a pull answered by the bytes. Reading is done the fastest way known:
 * `onread` into the destination on both sides.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, Socket } from 'node:net';
import { fileURLToPath } from 'node:url';

export const MiB = 1024 * 1024;
export const LARGEST_BYTES = 100 * MiB;
const HEAD_BYTES = 8;
const READ_BYTES = MiB;
const SMALL_READ_BYTES = 256 * 1024;
/** Below this a payload is read together with what follows. */
const DIRECT_BYTES = 64 * 1024;

/** Cuts what comes into heads and payloads; payloads go to `memory`. */
class RawReader {
  readonly #memory: Buffer;
  readonly #onHead: (head: Buffer) => number;
  readonly #onPayload: () => void;
  readonly #scratch = Buffer.allocUnsafeSlow(SMALL_READ_BYTES);
  readonly #head = Buffer.alloc(HEAD_BYTES);
  #headBytes = 0;
  #total = 0;
  #left = 0;
  #place: Buffer = this.#scratch;

  /** `onHead` returns how many bytes follow. */
  constructor(memory: Buffer, onHead: (head: Buffer) => number, onPayload: () => void) {
    this.#memory = memory;
    this.#onHead = onHead;
    this.#onPayload = onPayload;
  }

  /** Without heads: the next `byteLength` bytes are a payload. */
  expect(byteLength: number): void {
    this.#total = byteLength;
    this.#left = byteLength;
  }

  readonly onread = {
    buffer: (): Buffer => {
      const at = this.#total - this.#left;
      this.#place =
        this.#left < DIRECT_BYTES ? this.#scratch : this.#memory.subarray(at, Math.min(at + READ_BYTES, this.#total));
      return this.#place;
    },
    callback: (byteLength: number): boolean => {
      if (this.#place === this.#scratch) this.#feed(this.#scratch.subarray(0, byteLength));
      else this.#landed(byteLength);
      return true;
    },
  };

  #feed(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) {
      if (this.#left > 0) {
        const piece = bytes.subarray(at, at + this.#left);
        this.#memory.set(piece, this.#total - this.#left);
        at += piece.length;
        this.#landed(piece.length);
        continue;
      }
      const piece = bytes.subarray(at, at + HEAD_BYTES - this.#headBytes);
      this.#head.set(piece, this.#headBytes);
      at += piece.length;
      this.#headBytes = (this.#headBytes + piece.length) % HEAD_BYTES;
      if (this.#headBytes === 0) this.expect(this.#onHead(this.#head));
    }
  }

  #landed(byteLength: number): void {
    this.#left -= byteLength;
    if (this.#left === 0) this.#onPayload();
  }
}

function serve(): void {
  const values = Buffer.alloc(LARGEST_BYTES, 1);
  const memory = Buffer.alloc(LARGEST_BYTES, 2);
  const server = createServer({ noDelay: true }, (accepted) => {
    const acknowledgement = Buffer.alloc(HEAD_BYTES);
    const reader = new RawReader(
      memory,
      (head) => {
        const byteLength = head.readUInt32LE(4);
        if (head.readUInt32LE(0) === 0) return byteLength;
        socket.write(values.subarray(0, byteLength));
        return 0;
      },
      () => void socket.write(acknowledgement),
    );
    const owner = accepted as unknown as { _handle: unknown };
    const handle = owner._handle;
    owner._handle = null;
    const options: unknown = { handle, onread: reader.onread };
    const socket = new Socket(options as ConstructorParameters<typeof Socket>[0]);
    socket.on('error', () => {});
    socket.on('close', () => accepted.destroy());
    socket.resume();
  });
  server.listen({ host: '127.0.0.1', port: 0 }, () => {
    process.send?.((server.address() as { port: number }).port);
  });
  process.once('disconnect', () => process.exit());
}

export interface RawTcp {
  /** Messages a second, `inFlight` of them at a time, over about `forMs`. */
  rate(op: 'push' | 'pull', byteLength: number, inFlight: number, forMs: number): Promise<number>;
  close(): void;
}

export async function startRawTcp(): Promise<RawTcp> {
  const server: ChildProcess = fork(fileURLToPath(import.meta.url), ['serve']);
  const [port] = (await once(server, 'message')) as [number];
  const memory = Buffer.alloc(LARGEST_BYTES, 3);
  const payload = Buffer.alloc(LARGEST_BYTES, 4);
  let answered = (): void => {};
  let answerBytes = 0;
  const reader: RawReader = new RawReader(
    memory,
    () => 0,
    () => {
      reader.expect(answerBytes);
      answered();
    },
  );
  const socket = connect({ host: '127.0.0.1', port, onread: reader.onread });
  await once(socket, 'connect');
  socket.setNoDelay(true);
  const run = (op: 'push' | 'pull', byteLength: number, inFlight: number, forMs: number): Promise<number> =>
    new Promise((resolve) => {
      const head = Buffer.alloc(HEAD_BYTES);
      head.writeUInt32LE(op === 'push' ? 0 : 1, 0);
      head.writeUInt32LE(byteLength, 4);
      answerBytes = op === 'push' ? HEAD_BYTES : byteLength;
      reader.expect(answerBytes);
      const startMs = performance.now();
      let sent = 0;
      let done = 0;
      const send = (): void => {
        sent++;
        socket.cork();
        socket.write(head);
        if (op === 'push') socket.write(payload.subarray(0, byteLength));
        process.nextTick(() => socket.uncork());
      };
      answered = () => {
        done++;
        if (performance.now() - startMs < forMs) send();
        else if (done === sent) resolve((done * 1000) / (performance.now() - startMs));
      };
      for (let i = 0; i < inFlight; i++) send();
    });
  return {
    rate: run,
    close: () => {
      socket.destroy();
      server.disconnect();
    },
  };
}

if (process.argv[2] === 'serve' && process.argv[1] === fileURLToPath(import.meta.url)) serve();
