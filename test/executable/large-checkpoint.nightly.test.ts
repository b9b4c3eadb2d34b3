/** A checkpoint far larger than memory is read in bounded memory: 20 GB, most of it a hole in the file. */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { writeSparseCheckpoint } from '../checkpoint/sparse-checkpoint.ts';
import { ROOT } from '../source-files.ts';

const MOST_MEGABYTES = 300;
const folder = mkdtempSync(join(tmpdir(), 'paddlet-large-'));
afterAll(() => rmSync(folder, { recursive: true }));

const UUID = '00000000-0000-4000-8000-000000000001';

beforeAll(() => {
  mkdirSync(join(folder, '0'));
  const path = join(folder, '0', UUID);
  const bytes = writeSparseCheckpoint({
    path,
    rows: 1_230_000,
    width: 4096,
    shards: 512,
    uuid: UUID,
    withChecksums: true,
  });
  expect(bytes).toBeGreaterThan(20e9);
}, 600_000);

/** The most memory the process had, from Linux's own high-water mark, read when it has printed its result. */
function paddlet(...args: string[]): Promise<{ code: number | null; result: unknown; megabytes: number }> {
  const argv = ['--max-old-space-size=64', join(ROOT, 'bin/paddlet.ts'), ...args, '--json'];
  const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'inherit'], cwd: folder });
  let out = '';
  let megabytes = 0;
  const look = (): void => {
    try {
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
      megabytes = Math.max(megabytes, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
    } catch {
      // Gone already: the mark only rises, so the looks before it stand.
    }
  };
  const looking = setInterval(look, 100);
  child.stdout.on('data', (text) => {
    look();
    out += text;
  });
  return new Promise((done) => {
    child.on('close', (code) => {
      clearInterval(looking);
      done({ code, result: JSON.parse(out), megabytes });
    });
  });
}

test.each([['inspect'], ['verify']])(
  'checkpoint %s',
  async (command) => {
    const { code, result, megabytes } = await paddlet('checkpoint', command, folder);
    expect(code).toBe(0);
    expect(result).toMatchObject(
      command === 'verify' ? { ok: true, missing: [] } : { tables: [{ rows: 1_230_000, nans: 0, norm: 0 }] },
    );
    expect(megabytes).toBeGreaterThan(10);
    expect(megabytes).toBeLessThan(MOST_MEGABYTES);
  },
  1_200_000,
);
