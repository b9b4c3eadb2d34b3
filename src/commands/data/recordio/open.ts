/** A file that a command of `data recordio` reads by ranges. */
import { resolve } from 'node:path';
import { PaddletError } from '../../../base/errors.ts';
import type { DiskFile, Host } from '../../../base/seams.ts';
import { refuseEmpty } from '../../base/given-path.ts';

/** Throws `Usage`, `DataMissing`, `DataInvalid`. */
export async function openRecordio(host: Host, path: string): Promise<DiskFile> {
  refuseEmpty([path], 'the argument FILE');
  const facts = await host.disk.inspect(resolve(path));
  if (facts === undefined) {
    const hint = 'relative paths start at the current folder';
    throw new PaddletError('DataMissing', `no such data file: ${path}`, { hint });
  }
  if (facts.kind === 'file') return await host.disk.open(resolve(path));
  throw new PaddletError('DataInvalid', `${path} is not a file`, {
    hint: 'give the path of a file: paddlet reads chunks at any position',
  });
}
