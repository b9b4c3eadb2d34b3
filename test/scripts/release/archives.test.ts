import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { makeArchive, writeChecksums } from '../../../scripts/release/archives.ts';

function openFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'paddlet-archive-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** An archive of made files whose modes and times come from `mode` and `seconds`. */
async function archiveOf(mode: number, seconds: number): Promise<{ folder: string; archive: string }> {
  const folder = openFolder();
  const files = Object.fromEntries(
    ['paddlet', 'README.md'].map((name) => {
      const path = join(folder, `source-${name}`);
      writeFileSync(path, `content of ${name}\n`, { mode });
      utimesSync(path, seconds, seconds);
      return [name, path];
    }),
  );
  return { folder, archive: await makeArchive({ name: 'paddlet-1.2.3-linux-x64', files, date: '2026-03-01', folder }) };
}

test('the same content and date give the same bytes', async () => {
  const one = await archiveOf(0o600, 1_000_000_000);
  const other = await archiveOf(0o644, 1_500_000_000);
  expect(readFileSync(one.archive).equals(readFileSync(other.archive))).toBe(true);
});

test('files are sorted, belong to root and can be run where they should be', async () => {
  const { archive } = await archiveOf(0o600, 1_000_000_000);
  const listing = execFileSync('tar', ['--full-time', '--utc', '-tvzf', archive], { encoding: 'utf8' });
  const rows = listing
    .trim()
    .split('\n')
    .map((line) => line.replaceAll(/\s+/g, ' ').split(' '));
  expect(rows.map(([mode, owner, , date, time, name]) => [mode, owner, `${date} ${time}`, name])).toEqual([
    ['drwxr-xr-x', '0/0', '2026-03-01 00:00:00', 'paddlet-1.2.3-linux-x64/'],
    ['-rw-r--r--', '0/0', '2026-03-01 00:00:00', 'paddlet-1.2.3-linux-x64/README.md'],
    ['-rw-r--r--', '0/0', '2026-03-01 00:00:00', 'paddlet-1.2.3-linux-x64/SHA256SUMS'],
    ['-rwxr-xr-x', '0/0', '2026-03-01 00:00:00', 'paddlet-1.2.3-linux-x64/paddlet'],
  ]);
});

test('sha256sum accepts the checksums, inside and beside the archive', async () => {
  const { folder, archive } = await archiveOf(0o644, 1_000_000_000);
  await writeChecksums([archive]);
  const check = (cwd: string): string => execFileSync('sha256sum', ['-c', 'SHA256SUMS'], { cwd, encoding: 'utf8' });
  expect(check(folder)).toBe('paddlet-1.2.3-linux-x64.tar.gz: OK\n');
  execFileSync('tar', ['-xzf', archive, '-C', folder]);
  expect(check(join(folder, 'paddlet-1.2.3-linux-x64'))).toBe('paddlet: OK\n');
});
