/**
 * Inflates gzip files: members one after the other, each perhaps followed by zeros (RFC 1952 has members only; zeros
 * come from tapes and preallocated files). zlib ends at such zeros, and says nothing of what follows them.
 */
import { createGunzip } from 'node:zlib';
import { PaddletError } from '../../../../base/errors.ts';
import { FileBlocks } from '../../file-blocks.ts';
import { inOrder } from '../../forward.ts';
import { inflateParts, OUTPUT_BYTES } from '../inflate-bytes.ts';
import type { PackedSource, Packing } from '../packing.ts';
import { brokenGzip } from './members.ts';

export const gzipPacking: Packing = {
  /** RFC 1952 §2.3.1: ID1 = 31, ID2 = 139, CM = 8 (deflate). No text or idx file begins so. */
  begins: ([id1, id2, method]) => id1 === 31 && id2 === 139 && method === 8,
  async *unpack(packed, source) {
    try {
      const blocks = new FileBlocks(inOrder(packed));
      yield* inflateParts(blocks, {
        create: () => createGunzip({ chunkSize: OUTPUT_BYTES }),
        // zlib continues from one member to the next by itself, and stops at the first zero between two members.
        next: (ended) => blocks.afterZeros(ended),
        explain: (cause, _, inflated) => unreadable(source, cause, inflated),
      });
    } finally {
      await packed.close();
    }
  },
};

async function unreadable(
  { path, file }: PackedSource,
  cause: NodeJS.ErrnoException,
  inflated: number,
): Promise<Error> {
  const isBroken = cause.code?.startsWith('Z_') === true;
  if (file !== undefined) {
    if (isBroken) return await brokenGzip(path, file, cause);
    return new PaddletError('DataInvalid', `${path} cannot be read: ${cause.message} (after ${inflated} bytes)`, {
      cause,
    });
  }
  // What is read only once, in order: no look back says which member is broken.
  if (!isBroken) return cause;
  const where = inflated === 0 ? '' : ` (after ${inflated} decompressed bytes)`;
  return new PaddletError('DataInvalid', `${path} is not a valid gzip file: ${cause.message}${where}`, {
    cause,
    hint: 'check the file with gzip -t, and fetch it again',
  });
}
