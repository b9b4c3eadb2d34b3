/** Which job a word on the command line names: by the name of its folder or in the store, or by the folder's path. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { PaddletError } from '../../base/errors.ts';
import { defaultChroot } from '../../store/keys.ts';
import { HOME, type WhereFlags } from '../base/find-store.ts';

/** Throws `Usage` when a flag names another one, `JobUnknown` when there is none. */
export function namedJob<T extends WhereFlags>(name: string | undefined, flags: T): T {
  if (name === undefined) return flags;
  const other = (['dir', 'chroot'] as const).find((flag) => flags[flag] !== undefined);
  if (other !== undefined) {
    throw new PaddletError('Usage', `JOB and --${other} exclude each other`, { hint: 'name the job once' });
  }
  if (flags.store !== undefined && !name.includes('/')) return { ...flags, chroot: defaultChroot(name) };
  const folder = [name, join(HOME, name)].find((path) => existsSync(join(path, 'store.db')));
  if (folder !== undefined) return { ...flags, dir: folder };
  throw new PaddletError('JobUnknown', `no job ${name}: neither ${name} nor ${join(HOME, name)} has a store.db`, {
    hint: 'name a job of ./.paddlet, the folder of a job, or with --store a job in that store',
  });
}
