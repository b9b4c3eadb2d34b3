/**
 * Inflates gzip files: members one after the other, each perhaps followed by zeros (RFC 1952 has members only; zeros
 * come from tapes and preallocated files). zlib ends at such zeros, and says nothing of what follows them.
 */
import { constants, createGunzip, gunzipSync } from 'node:zlib';
import { PaddletError } from '../base/errors.ts';
import type { DiskFile } from '../base/seams.ts';
import { FileBlocks } from './file-blocks.ts';
import { brokenGzip } from './gzip-members.ts';
import { inflateBytes } from './inflate-bytes.ts';

const OUTPUT_BYTES = 1 << 18;

/** RFC 1952 §2.3.1: ID1 = 31, ID2 = 139, CM = 8 (deflate). No text or idx file begins so. */
export const beginsAsGzip = ([id1, id2, method]: Uint8Array): boolean => id1 === 31 && id2 === 139 && method === 8;

/** Throws `DataInvalid`; what the caller throws passes through. */
export const inflateMembers = (path: string, file: DiskFile): AsyncGenerator<Uint8Array> =>
  inflateBlocks(new FileBlocks(file), (cause, inflated) => unreadable(path, file, cause, inflated));

/** The same of what is read only once, in order: no look back says which member is broken. */
export const inflateForward = (path: string, file: Pick<DiskFile, 'read'>): AsyncGenerator<Uint8Array> =>
  inflateBlocks(new FileBlocks(file), async (cause, inflated) => {
    if (!cause.code?.startsWith('Z_')) return cause;
    const where = inflated === 0 ? '' : ` (after ${inflated} bytes inflated)`;
    return new PaddletError('DataInvalid', `${path} is not a valid gzip file: ${cause.message}${where}`, {
      cause,
      hint: 'check it with gzip -t, and fetch it again',
    });
  });

/** `explain`: the error for one that zlib or the reading of the blocks threw, after so many bytes. */
async function* inflateBlocks(
  blocks: FileBlocks,
  explain: (cause: NodeJS.ErrnoException, inflated: number) => Promise<Error>,
): AsyncGenerator<Uint8Array> {
  let start: number | undefined = 0;
  let inflated = 0;
  while (start !== undefined) {
    // zlib goes on from one member to the next by itself, and stops at the first zero between two.
    const bytes = inflateBytes(createGunzip({ chunkSize: OUTPUT_BYTES }), blocks.from(start));
    try {
      let next = await bytes.next();
      while (next.done !== true) {
        inflated += next.value.length;
        yield next.value;
        next = await bytes.next();
      }
      start = await blocks.afterZeros(start + next.value);
    } catch (cause) {
      throw await explain(cause as NodeJS.ErrnoException, inflated);
    } finally {
      await bytes.return(0);
    }
  }
}

async function unreadable(
  path: string,
  file: DiskFile,
  cause: NodeJS.ErrnoException,
  inflated: number,
): Promise<PaddletError> {
  if (cause.code?.startsWith('Z_')) return await brokenGzip(path, file, cause);
  return new PaddletError('DataInvalid', `${path} cannot be read: ${cause.message} (after ${inflated} bytes)`, {
    cause,
  });
}

/**
 * Inflates the first bytes of a file, to at most 1032 times as many (the highest ratio of deflate). If they are not the
 * whole file, what is returned may end anywhere.
 */
export async function inflatedHead(
  path: string,
  file: DiskFile,
  raw: Uint8Array,
  isWhole: boolean,
): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  try {
    for (let start = 0; start < raw.length; ) {
      const options = isWhole ? {} : { finishFlush: constants.Z_SYNC_FLUSH };
      const { buffer, engine } = gunzipSync(raw.subarray(start), { ...options, info: true }) as unknown as Inflated;
      parts.push(buffer);
      start += engine.bytesWritten;
      while (raw[start] === 0) start++;
    }
  } catch (cause) {
    throw await brokenGzip(path, file, cause as Error);
  }
  return Buffer.concat(parts);
}

/** What zlib returns with `info`, which its types do not know. */
interface Inflated {
  readonly buffer: Uint8Array;
  /** `bytesWritten`: bytes of the input that it took. */
  readonly engine: { readonly bytesWritten: number };
}
