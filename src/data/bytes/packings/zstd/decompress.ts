/** zstd files (RFC 8878): frames one after the other, and skippable ones among them, as `pzstd` writes. */
import { constants, createZstdDecompress } from 'node:zlib';
import { PaddletError } from '../../../../base/errors.ts';
import { LIMITS } from '../../../../base/limits.ts';
import { FileBlocks } from '../../file-blocks.ts';
import { inOrder } from '../../forward.ts';
import { inflateParts, OUTPUT_BYTES } from '../inflate-bytes.ts';
import { MAGIC_BYTES, type Packing } from '../packing.ts';

const FRAME = 0xfd2fb528;
/** Magic number of a skippable frame; its last four bits are arbitrary. */
const SKIPPABLE = 0x184d2a50;

const PARAMS = { [constants.ZSTD_d_windowLogMax]: LIMITS.zstdWindowLog };

export const zstdPacking: Packing = {
  begins: isFrame,
  async *unpack(packed, { path }) {
    const blocks = new FileBlocks(inOrder(packed));
    try {
      yield* inflateParts(blocks, {
        create: () => createZstdDecompress({ chunkSize: OUTPUT_BYTES, params: PARAMS }),
        // zlib ends with a frame.
        next: (ended, inflated) => nextFrame(path, blocks, ended, inflated),
        explain: async (cause, start, inflated) => explained(path, cause, start, inflated),
      });
    } finally {
      await packed.close();
    }
  },
};

function isFrame(bytes: Uint8Array): boolean {
  if (bytes.length < MAGIC_BYTES) return false;
  const magic = Buffer.from(bytes.buffer, bytes.byteOffset, MAGIC_BYTES).readUInt32LE();
  return magic === FRAME || magic >>> 4 === SKIPPABLE >>> 4;
}

/** Where one begins that follows; undefined at the end. Throws `DataInvalid`. */
async function nextFrame(path: string, blocks: FileBlocks, at: number, inflated: number): Promise<number | undefined> {
  let first = Buffer.alloc(0);
  for await (const block of blocks.from(at)) {
    first = Buffer.concat([first, block.subarray(0, MAGIC_BYTES)]);
    if (first.length >= MAGIC_BYTES) break;
  }
  if (first.length === 0) return undefined;
  if (isFrame(first)) return at;
  const sound = `the data before that byte is complete (${inflated} decompressed bytes)`;
  throw new PaddletError('DataInvalid', `${path}: bytes that are not zstd data follow at byte ${at}; ${sound}`, {
    hint: `if no data is missing, remove these bytes: head -c ${at} OLD > NEW`,
  });
}

/** The error for one of zlib; others are thrown as they are. */
function explained(path: string, cause: NodeJS.ErrnoException, start: number, inflated: number): Error {
  if (!/^(Z_|ZSTD_)/.test(cause.code ?? '')) return cause;
  const where = `in the part that begins at byte ${start}, after ${inflated} decompressed bytes`;
  if (cause.code === 'ZSTD_error_frameParameter_windowTooLarge') {
    const most = `${2 ** LIMITS.zstdWindowLog} bytes`;
    return new PaddletError(
      'DataInvalid',
      `${path}: expected a zstd window of at most ${most}, got a larger one (${where})`,
      {
        cause,
        hint: `compress the data again with zstd --long=${LIMITS.zstdWindowLog}, or a lower value`,
      },
    );
  }
  return new PaddletError('DataInvalid', `${path} is not a valid zstd file: ${cause.message} (${where})`, {
    cause,
    hint: 'run `zstd -t` on the file; if it reports an error, copy the file again from its source',
  });
}
