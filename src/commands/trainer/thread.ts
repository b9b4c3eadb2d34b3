/** A thread of `paddlet trainer`: reads tasks, with the clock and the disk of this machine. */
import type { MessagePort } from 'node:worker_threads';
import { serveReads } from '../../data/readers/reader-thread.ts';
import type { ReaderThreadData } from '../../data/readers/thread-messages.ts';
import { createClock } from '../../host/clock.ts';
import { createDisk } from '../../host/disk.ts';
import { createRandom } from '../../host/random.ts';

export function readTasks(port: MessagePort, data: ReaderThreadData): void {
  const host = { clock: createClock(), disk: createDisk(), random: createRandom() };
  serveReads(
    {
      post: (message, moved = []) => port.postMessage(message, [...moved]),
      onMessage: (run) => void port.on('message', run),
    },
    data,
    host,
  );
}
