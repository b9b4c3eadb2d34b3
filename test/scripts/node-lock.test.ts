/** The Node that the set-up installs before all other packages. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const LOCK = join(ROOT, 'package-lock.json');
const lockFor = (arch: string) =>
  spawnSync(process.execPath, [join(ROOT, 'scripts/setup/node-lock.cjs'), LOCK, arch], { encoding: 'utf8' });

interface Package {
  readonly optionalDependencies: Readonly<Record<string, string>>;
}

test.each(['x64', 'arm64'])('is the one of package.json, with a hash, on %s', (arch) => {
  const name = `node-linux-${arch}`;
  const { optionalDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Package;
  const { packages } = JSON.parse(lockFor(arch).stdout) as { packages: Record<string, object> };
  expect(packages).toEqual({
    '': { name: `paddlet-node-${arch}`, dependencies: { [name]: optionalDependencies[name] } },
    [`node_modules/${name}`]: {
      version: optionalDependencies[name],
      integrity: expect.stringMatching(/^sha512-[A-Za-z0-9+/]{86}==$/),
    },
  });
  // The version that this test runs on.
  expect(`v${optionalDependencies[name]}`).toBe(process.version);
});

test('an architecture without a package is refused', () => {
  const { status, stdout, stderr } = lockFor('s390x');
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr).toContain('has no node-linux-s390x: paddlet runs on Linux with x64 or arm64');
});
