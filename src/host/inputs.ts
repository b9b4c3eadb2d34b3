/** What a command is given to read, once and in order: a file, a pipe, or stdin. */
import { createReadStream } from 'node:fs';

const BLOCK_BYTES = 1 << 18;

/** Without a path, reads stdin. Reading ends with the signal's reason when the signal aborts, also while it waits. */
export function inputBlocks(path: string | undefined, signal: AbortSignal): AsyncIterable<Uint8Array> {
  const stream = path === undefined ? process.stdin : createReadStream(path, { highWaterMark: BLOCK_BYTES });
  const end = (): void => void stream.destroy(signal.reason);
  if (signal.aborted) end();
  else signal.addEventListener('abort', end, { once: true });
  return stream;
}
