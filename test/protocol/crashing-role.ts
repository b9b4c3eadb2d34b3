/** A process whose request handler has a bug; prints its port. */
import { createWebSocketNetwork } from '../../src/protocol/websocket/network.ts';
import { testToken } from './join.ts';

const silent = () => {};
const network = createWebSocketNetwork({
  clock: {
    monotonicMs: () => performance.now(),
    wallSeconds: () => Date.now() / 1000,
    after: (delayMs, fire) => {
      const timer = setTimeout(fire, delayMs);
      return () => clearTimeout(timer);
    },
  },
  joinToken: testToken,
  random: { uuid: () => crypto.randomUUID(), fraction: () => 0 },
  log: { debug: silent, info: silent, warn: silent, error: silent },
});
const server = await network.listen({
  listen: '127.0.0.1:0',
  http: async () => undefined,
  handler: () => {
    throw new TypeError('the bug of this test');
  },
});
process.stdout.write(`${server.port}\n`);
