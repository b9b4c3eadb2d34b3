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

/** Throws `DataInvalid`; what the caller throws passes through. */
export async function* inflateMembers(path: string, file: DiskFile): AsyncGenerator<Uint8Array> {
  const blocks = new FileBlocks(file);
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
      throw await unreadable(path, file, cause as NodeJS.ErrnoException, inflated);
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
