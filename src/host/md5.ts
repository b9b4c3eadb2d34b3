/** MD5 of files. Large ones are read in a separate thread, so that a role keeps serving. */
import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import type { FileDigest } from '../base/seams.ts';

/** Below this a thread costs more than it saves. */
const THREAD_FROM_BYTES = 16 * 1024 * 1024;

/** Text, because the executable has no file to start a thread from. */
const CODE = `
const { createHash } = require('node:crypto');
const { closeSync, openSync, readSync } = require('node:fs');
const { parentPort, workerData } = require('node:worker_threads');
try {
  const file = openSync(workerData, 'r');
  const chunk = Buffer.allocUnsafeSlow(4 * 1024 * 1024);
  const hash = createHash('md5');
  let bytes = 0;
  for (let count = -1; count !== 0; bytes += count) {
    count = readSync(file, chunk, 0, chunk.length, bytes);
    hash.update(chunk.subarray(0, count));
  }
  closeSync(file);
  parentPort.postMessage({ md5: hash.digest('hex'), bytes });
} catch (error) {
  parentPort.postMessage({ failed: { code: error.code, message: error.message } });
}
`;

type Answer = FileDigest | { readonly failed: { readonly code?: string; readonly message: string } };

/** Errors are Node's own. */
export async function md5OfFile(path: string): Promise<FileDigest> {
  const { size } = await stat(path);
  if (size < THREAD_FROM_BYTES) {
    const content = await readFile(path);
    return { md5: createHash('md5').update(content).digest('hex'), bytes: content.length };
  }
  const answer = await askThread(path);
  if ('failed' in answer) throw Object.assign(new Error(answer.failed.message), { code: answer.failed.code });
  return answer;
}

async function askThread(path: string): Promise<Answer> {
  // Few processes need it, and it takes part of their start.
  const { Worker } = await import('node:worker_threads');
  const worker = new Worker(CODE, { eval: true, workerData: path });
  return new Promise<Answer>((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', (code) => reject(new Error(`the thread that reads ${path} ended with ${code}`)));
  }).finally(() => worker.terminate());
}
