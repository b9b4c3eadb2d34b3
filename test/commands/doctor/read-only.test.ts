/** A container with a read-only root, where only a volume can be written to. It takes the right to mount. */
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { folderOfFile } from '../../folders.ts';
import { SmallDisk } from '../../store/small-disk.ts';
import { COMPILED, ENTRY } from '../run-command.ts';

/** $1: the volume; the rest is a command. The folders are all in which SQLite looks for a place for temporary files. */
const READ_ONLY = `set -e
for folder in /tmp /var/tmp; do mount --bind $folder $folder; mount -o remount,ro,bind $folder; done
mount --bind "$1" "$1"
mount -o remount,rw,bind "$1"
cd /tmp
shift
exec "$@"`;

const why = SmallDisk.whyNot();

test.skipIf(why !== undefined)(
  `the store of a job needs its own folder only${why === undefined ? '' : ` (${why})`}`,
  () => {
    const volume = folderOfFile('paddlet-volume-');
    const command = [process.execPath, ENTRY, 'doctor', '--dir', `${volume}/job`, '--json'];
    const env = { ...COMPILED, PATH: process.env.PATH };
    const { status, stdout } = spawnSync('unshare', ['-m', 'sh', '-c', READ_ONLY, 'sh', volume, ...command], { env });
    const { checks } = JSON.parse(String(stdout)) as { checks: object[] };
    expect(checks.at(-1)).toMatchObject({ name: 'store', status: 'ok' });
    expect(status).toBe(0);
  },
);
