/** Frames as a client of RFC 6455 may send them, well-formed or not, and what a server answers, byte by byte. */
const OPCODES = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

export interface FrameOptions {
  readonly fin?: boolean;
  /** 0 to 7. */
  readonly rsv?: number;
}

const MASK = [0x37, 0xfa, 0x21, 0x3d];

/** A masked frame. */
export function frame(
  opcode: keyof typeof OPCODES | number,
  payload: string | Uint8Array = '',
  { fin = true, rsv = 0 }: FrameOptions = {},
): Buffer {
  const bytes = Buffer.from(payload);
  const n = bytes.length;
  const code = typeof opcode === 'number' ? opcode : OPCODES[opcode];
  const length = Buffer.alloc(n < 126 ? 1 : n < 65_536 ? 3 : 9);
  length[0] = 0x80 | (n < 126 ? n : n < 65_536 ? 126 : 127);
  if (length.length === 3) length.writeUInt16BE(n, 1);
  if (length.length === 9) length.writeBigUInt64BE(BigInt(n), 1);
  const masked = bytes.map((byte, i) => byte ^ MASK[i % 4]!);
  return Buffer.concat([Buffer.from([(fin ? 0x80 : 0) | (rsv << 4) | code]), length, Buffer.from(MASK), masked]);
}

/** A message in fragments. */
export const fragments = (opcode: 'text' | 'binary', ...payloads: readonly (string | Uint8Array)[]): Buffer[] =>
  payloads.map((payload, i) => frame(i === 0 ? opcode : 'continuation', payload, { fin: i === payloads.length - 1 }));

export const closeFrame = (code: number, reason: string | Uint8Array = ''): Buffer =>
  frame('close', Buffer.concat([Buffer.from([code >> 8, code & 255]), Buffer.from(reason)]));

/** In pieces of that many octets. */
export const chopped = (bytes: Buffer, size: number): Buffer[] =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.subarray(i * size, (i + 1) * size));

/** What a server sent, a line a frame: `binary`, `pong <text>` or `close <code>`. Servers do not mask. */
export function linesOf(bytes: Buffer): string[] {
  const lines: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const opcode = bytes[at]! & 0x0f;
    const short = bytes[at + 1]!;
    const start = at + (short === 127 ? 10 : short === 126 ? 4 : 2);
    const length =
      short === 127 ? Number(bytes.readBigUInt64BE(at + 2)) : short === 126 ? bytes.readUInt16BE(at + 2) : short;
    const payload = bytes.subarray(start, start + length);
    if (opcode === OPCODES.binary) lines.push('binary');
    if (opcode === OPCODES.pong) lines.push(`pong ${payload.toString('latin1')}`);
    if (opcode === OPCODES.close) lines.push(`close ${length === 0 ? '' : payload.readUInt16BE(0)}`.trim());
    at = start + length;
  }
  return lines;
}
