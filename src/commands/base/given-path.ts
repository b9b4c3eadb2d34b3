import { PaddletError } from '../../base/errors.ts';

/** An empty path would be the data folder: it is probably an unset variable of a shell. */
export function refuseEmpty(paths: readonly string[], argument: string): void {
  const at = paths.indexOf('');
  if (at < 0) return;
  const which = paths.length === 1 ? argument : `${argument} (number ${at + 1} of ${paths.length})`;
  throw new PaddletError('Usage', `${which} is empty`, {
    hint: 'give the path of a job file; a shell variable in the command may be unset',
  });
}
