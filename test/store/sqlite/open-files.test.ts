/** A process that may open no more files: it is told so, not sent to look at its disk. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { ROOT } from '../../source-files.ts';

/** Uses up all descriptors but `spare`, then opens the store twice: the first time it makes the file. */
const program = (path: string): string => `
  import { closeSync, openSync } from 'node:fs';
  import { openSqliteFile } from ${JSON.stringify(join(ROOT, 'src/store/sqlite/file.ts'))};
  import { createClock } from ${JSON.stringify(join(ROOT, 'src/host/clock.ts'))};
  const clock = createClock();
  (await openSqliteFile(${JSON.stringify(path)}, clock)).db.close();
  const taken = [];
  try { for (;;) taken.push(openSync('/dev/null')); } catch {}
  for (const spare of [0, 1, 2]) {
    try { await openSqliteFile(${JSON.stringify(path)}, clock, 'write'); }
    catch (error) { console.log(spare, error.code, error.message.split(': ').pop(), '|', error.hint); }
    closeSync(taken.pop());
  }`;

it('the error names the limit', () => {
  const folder = mkdtempSync(join(tmpdir(), 'paddlet-files-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const args = ['-c', 'ulimit -n 64; exec "$@"', 'sh', process.execPath, '--input-type=module', '-e'];
  const said = execFileSync('sh', [...args, program(join(folder, 'store.db'))], { encoding: 'utf8', env: {} });
  const text = 'StoreUnavailable too many open files | raise the limit (ulimit -n 4096)';
  expect(said.trim().split('\n')).toEqual([`0 ${text}`, `1 ${text}`, `2 ${text}`]);
});
