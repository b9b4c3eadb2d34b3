/** Takes a file out of what it is packed in: a new packing is an object in `LAYERS`. */
import { ForwardBytes } from '../forward.ts';
import { LOOK_BYTES, refusePacked } from '../packed.ts';
import { gzipPacking } from './gzip/inflate.ts';
import { MAGIC_BYTES, type PackedSource, type Packing } from './packing.ts';
import { recordioPacking } from './recordio/unpack.ts';
import { zstdPacking } from './zstd/decompress.ts';

/** From the outside in: a file may have one packing of each layer. */
const LAYERS: readonly (readonly Packing[])[] = [[gzipPacking, zstdPacking], [recordioPacking]];

/** `first`: the first bytes of a file. */
export const isPacked = (first: Uint8Array): boolean =>
  LAYERS.some((packings) => packings.some(({ begins }) => begins(first.subarray(0, MAGIC_BYTES))));

/** The content of what these blocks are, in any packing or none. What is wrong in it, its readers throw. */
export async function unpacked(blocks: AsyncIterable<Uint8Array>, source: PackedSource): Promise<ForwardBytes> {
  let content = new ForwardBytes(blocks);
  let { file } = source;
  for (const packings of LAYERS) {
    const first = await content.peek(MAGIC_BYTES);
    const packing = packings.find(({ begins }) => begins(first));
    if (packing === undefined) continue;
    content = new ForwardBytes(packing.unpack(content, { ...source, file }));
    file = undefined;
  }
  return content;
}

/** The same of what is read once. Throws `DataInvalid` for what is packed in another way. */
export async function openForward(path: string, blocks: AsyncIterable<Uint8Array>): Promise<ForwardBytes> {
  const content = await unpacked(blocks, { path });
  refusePacked(path, await content.peek(LOOK_BYTES));
  return content;
}
