/**
 * Inflates gzip files: members one after the other, each perhaps followed by zeros (RFC 1952 has members only; zeros
 * come from tapes and preallocated files). zlib ends at such zeros, and says nothing of what follows them.
 */
import { Readable } from 'node:stream';
import { constants, createGunzip, gunzipSync } from 'node:zlib';
import { PaddletError } from '../base/errors.ts';
import type { DiskFile } from '../base/seams.ts';
import { FileBlocks } from './file-blocks.ts';
import { brokenGzip } from './gzip-members.ts';

const OUTPUT_BYTES = 1 << 20;

/** Throws `DataInvalid`; what the caller throws passes through. */
export async function* inflateMembers(path: string, file: DiskFile): AsyncGenerator<Uint8Array> {
  const blocks = new FileBlocks(file);
  let start: number | undefined = 0;
  let inflated = 0;
  while (start !== undefined) {
    const gunzip = createGunzip({ chunkSize: OUTPUT_BYTES });
    const input = Readable.from(blocks.from(start), { objectMode: true, highWaterMark: 1 });
    input.on('error', (error) => gunzip.destroy(error));
    input.pipe(gunzip);
    try {
      for await (const block of gunzip as AsyncIterable<Uint8Array>) {
        inflated += block.length;
        yield block;
      }
    } catch (cause) {
      throw await unreadable(path, file, cause as NodeJS.ErrnoException, inflated);
    } finally {
      input.destroy();
    }
    // Up to the first zero after a member, or to the end of the file.
    start = await blocks.afterZeros(start + gunzip.bytesWritten);
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
 * Of the first bytes of a file: at most 1032 times as long, the highest ratio of deflate. What is not `isWhole` may end
 * anywhere.
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
