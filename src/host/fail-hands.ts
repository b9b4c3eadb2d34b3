/** How an armed fail point acts on this process. */
import type { FailHands } from '../base/fail-points.ts';

export const failHands: FailHands = {
  kill: () => void process.kill(process.pid, 'SIGKILL'),
  stop(forMs) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, forMs);
  },
  say: (message) => void process.stderr.write(`${message}\n`),
};
