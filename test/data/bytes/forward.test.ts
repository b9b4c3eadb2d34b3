/** Content that is read once, in order, whatever blocks it comes in. */
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { ForwardBytes } from '../../../src/data/bytes/forward.ts';
import { openForward } from '../../../src/data/bytes/packings/unpack.ts';

const TEXT = Array.from({ length: 4000 }, (_, at) => `${at % 2} ${at}:1\n`).join('');

async function* blocksOf(bytes: Uint8Array, blockBytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += blockBytes) yield bytes.subarray(at, at + blockBytes);
}

const open = (bytes: Uint8Array, blockBytes = 1000): Promise<ForwardBytes> =>
  openForward('stdin', blocksOf(bytes, blockBytes));

async function textOf(content: ForwardBytes, bytes: number): Promise<string> {
  const parts: Uint8Array[] = [];
  for (;;) {
    const part = await content.take(bytes);
    parts.push(part);
    if (part.length < bytes) return Buffer.concat(parts).toString();
  }
}

test.each([1, 7, 4096, 1e6])(
  'what is peeked at stays, what is taken is gone (blocks of %d bytes)',
  async (blockBytes) => {
    const content = await open(Buffer.from('abcdefgh'), blockBytes);
    const seen: string[] = [];
    for (const count of [3, 2]) {
      seen.push(Buffer.from(await content.peek(count)).toString(), Buffer.from(await content.take(count)).toString());
    }
    seen.push(Buffer.from(await content.peek(99)).toString(), Buffer.from(await content.take(99)).toString());
    expect(seen).toEqual(['abc', 'abc', 'de', 'de', 'fgh', 'fgh']);
    expect((await content.take(5)).length).toBe(0);
  },
);

test.each([1, 3000])(
  'gzip is known by its content: several members, zeros between them, any blocks',
  async (blockBytes) => {
    const half = TEXT.length / 2;
    const members = [gzipSync(TEXT.slice(0, half)), Buffer.alloc(9), gzipSync(TEXT.slice(half)), Buffer.alloc(600)];
    expect(await textOf(await open(Buffer.concat(members), blockBytes), 777)).toBe(TEXT);
  },
);

test('a member that begins in a later block than the one before ends in', async () => {
  const zeros = Buffer.alloc(3 << 20);
  const content = await open(Buffer.concat([gzipSync(TEXT), zeros, gzipSync('1 1:1\n')]), 1 << 16);
  expect(await textOf(content, 1 << 16)).toBe(`${TEXT}1 1:1\n`);
});

test('broken gzip, and what is packed otherwise, is refused by name', async () => {
  const packed = gzipSync(TEXT);
  await expect(textOf(await open(packed.subarray(0, packed.length - 9)), 1 << 20)).rejects.toMatchObject({
    code: 'DataInvalid',
    message: expect.stringContaining('stdin is not a valid gzip file: unexpected end of file'),
  });
  await expect(open(Buffer.from('PK\u0003\u0004'))).rejects.toMatchObject({ message: 'stdin is a zip archive' });
  await expect(open(gzipSync('PK\u0003\u0004'))).rejects.toMatchObject({ message: 'stdin is a zip archive' });
});

test('what the source throws is thrown as it is', async () => {
  const stopped = new Error('stopped');
  async function* failing(): AsyncGenerator<Uint8Array> {
    yield gzipSync(TEXT).subarray(0, 500);
    throw stopped;
  }
  const content = openForward('stdin', failing());
  await expect(content.then((opened) => textOf(opened, 1 << 20))).rejects.toBe(stopped);
});
