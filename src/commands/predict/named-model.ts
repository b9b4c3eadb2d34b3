/** What a word on the command line names: a job, by its name or its folder, or the files of a checkpoint. */
import { existsSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { PaddletError } from '../../base/errors.ts';
import { defaultChroot } from '../../store/keys.ts';
import { HOME, type WhereFlags } from '../base/find-store.ts';

export type NamedModel<T extends WhereFlags> =
  | { readonly kind: 'job'; readonly flags: T }
  | { readonly kind: 'checkpoint'; readonly path: string };

/** Throws `Usage` when a flag names a job, too, `JobUnknown` when there is nothing of that name. */
export function namedModel<T extends WhereFlags>(name: string | undefined, flags: T): NamedModel<T> {
  if (name === undefined) return { kind: 'job', flags };
  const other = (['dir', 'chroot'] as const).find((flag) => flags[flag] !== undefined);
  if (other !== undefined) {
    throw new PaddletError('Usage', `${name} and --${other} exclude each other`, { hint: 'name the model once' });
  }
  const folder = [name, join(HOME, name)].find((path) => existsSync(join(path, 'store.db')));
  if (folder !== undefined) return { kind: 'job', flags: { ...flags, dir: folder } };
  const found = statSync(name, { throwIfNoEntry: false });
  const isInStore = flags.store !== undefined && !name.includes('/') && found?.isFile() !== true;
  if (isInStore) return { kind: 'job', flags: { ...flags, chroot: defaultChroot(name) } };
  if (found !== undefined) return { kind: 'checkpoint', path: resolve(name) };
  throw new PaddletError('JobUnknown', `there is no job ${name} in ${HOME}, and no checkpoint of that path`, {
    hint: 'name a job, its folder, a checkpoint folder or a merged model; --store says which store a job is in',
  });
}
