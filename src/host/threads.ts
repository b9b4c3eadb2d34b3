/** Threads of this program: each runs its entry point with a word in place of a command. */
import { getAsset, isSea } from 'node:sea';
import { Worker } from 'node:worker_threads';
import type { Thread } from '../base/seams.ts';
import type { ThreadWord } from './thread-words.ts';

/** The main script, in an executable: it has no file to start a thread from. */
const START = 'start';

export function startThread(word: ThreadWord, workerData: unknown): Thread {
  const options = { argv: [word], workerData };
  const entry = new URL('../../bin/paddlet.ts', import.meta.url);
  const worker = isSea() ? new Worker(getAsset(START, 'utf8'), { ...options, eval: true }) : new Worker(entry, options);
  return {
    send: (message, moved = []) => worker.postMessage(message, moved),
    onMessage: (run) => void worker.on('message', run),
    onEnd(run) {
      worker.on('error', run);
      worker.on('exit', (code) => run(new Error(`a thread has ended with ${code}`)));
    },
    close: async () => {
      await worker.terminate();
    },
  };
}
