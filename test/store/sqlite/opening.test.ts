/** Roles that are started together open, and one of them makes, the same new file. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { expect, it, onTestFinished } from 'vitest';
import type { Opening } from './opening-thread.ts';

const THREADS = 6;
/** Of 1,200 openings of 200 files, 46 were once refused as another program’s: a half-made one was seen. */
const FILES = 60;

it('a new file that many open at the same moment is everybody’s', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'paddlet-opening-'));
  const threads = Array.from({ length: THREADS }, () => new Worker(new URL('./opening-thread.ts', import.meta.url)));
  onTestFinished(async () => {
    await Promise.all(threads.map((thread) => thread.terminate()));
    rmSync(folder, { recursive: true });
  });
  for (let file = 0; file < FILES; file++) {
    const opening: Opening = {
      path: join(folder, `${file}.db`),
      gate: new SharedArrayBuffer(4),
      threads: THREADS,
    };
    const answers = threads.map((thread) => once(thread, 'message'));
    for (const thread of threads) thread.postMessage(opening);
    expect((await Promise.all(answers)).flat()).toEqual(threads.map(() => ''));
  }
});
