/** Where predictions go: stdout, or a file that appears when it is whole. */
import { dirname } from 'node:path';
import { PaddletError } from '../../base/errors.ts';
import type { Host } from '../../base/seams.ts';

export interface Destination {
  /** Resolves when it has taken the bytes; false if the reader closed the pipe, or if writing failed. */
  write(bytes: Uint8Array): Promise<boolean>;
  /** All is written. */
  finish(): Promise<void>;
  /** Nothing stays of a file. */
  discard(): Promise<void>;
}

/** `main` reports an output that has failed. */
export const standardOutput = (): Destination => ({
  write: (bytes) => new Promise((resolve) => process.stdout.write(bytes, (error) => resolve(error == null))),
  finish: async () => {},
  discard: async () => {},
});

/** Throws `Usage` when there is such a file, unless it is to be replaced. */
export async function outputFile(
  { disk, random }: Pick<Host, 'disk' | 'random'>,
  path: string,
  replace: boolean,
): Promise<Destination> {
  const found = await disk.inspect(path);
  if (found !== undefined && found.kind !== 'file') {
    throw new PaddletError('Usage', `${path} is not a file`, { hint: 'leave out --output to write to a pipe' });
  }
  if (found !== undefined && !replace) {
    throw new PaddletError('Usage', `${path}: exists already`, { hint: 'another --output, or --replace' });
  }
  const partial = `${path}.${random.uuid()}.part`;
  const file = await disk.create(partial);
  let at = 0;
  return {
    async write(bytes) {
      await file.write(bytes, at);
      at += bytes.length;
      return true;
    },
    async finish() {
      await file.sync();
      await file.close();
      await disk.rename(partial, path);
      await disk.syncFolder(dirname(path));
    },
    async discard() {
      await file.close();
      await disk.remove(partial);
    },
  };
}
