/** A role that serves the page, and tells what the test pushes: the door is the real one. */
import { servePage as pageOf } from '../../src/commands/page/serve-page.ts';
import type { PageData, PageMessage } from '../../src/page/page-data.ts';
import { viewTokenOf } from '../../src/protocol/join/view-token.ts';
import type { Viewer } from '../../src/protocol/messages/channel.ts';
import { createWebSocketNetwork } from '../../src/protocol/websocket/network.ts';
import { TOKEN as JOIN_TOKEN, testToken } from '../protocol/join.ts';
import { fixedRandom, MemoryLog, realClock } from '../protocol/rig.ts';

export const TOKEN = Buffer.from(viewTokenOf(JOIN_TOKEN)).toString('hex');

export interface PageServer {
  /** Without the token. */
  readonly url: string;
  readonly port: number;
  /** Of each request but those for `/` and the WebSocket. */
  readonly strayRequests: readonly string[];
  push(data: PageData): void;
  close(): Promise<void>;
}

export async function servePage(first: PageData, port = 0): Promise<PageServer> {
  let data = first;
  const strayRequests: string[] = [];
  const viewers = new Set<Viewer>();
  const tell = (viewer: Viewer): void => void viewer.send(JSON.stringify({ type: 'data', data } satisfies PageMessage));
  const page = pageOf(
    (_job, viewer) => {
      viewers.add(viewer);
      viewer.onClosed(() => viewers.delete(viewer));
      tell(viewer);
    },
    async () => {},
  );
  const log = new MemoryLog();
  const network = createWebSocketNetwork({ clock: realClock, random: fixedRandom, joinToken: testToken, log });
  const server = await network.listen({
    listen: `127.0.0.1:${port}`,
    handler: () => {
      throw new Error('a page reached the handler');
    },
    http: async (path) => {
      if (path !== '/') strayRequests.push(path);
      return page.http(path);
    },
    onViewer: page.onViewer,
  });
  return {
    url: `http://127.0.0.1:${server.port}/`,
    port: server.port,
    strayRequests,
    push(next) {
      data = next;
      for (const viewer of viewers) tell(viewer);
    },
    close: () => server.close(),
  };
}
