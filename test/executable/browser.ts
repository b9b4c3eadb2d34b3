/** A real browser that opens one page, and what the page found out. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { Place } from './harness.ts';

const PROGRAMS = ['chromium', 'chromium-browser', 'google-chrome'];

/** The path of the browser of this machine: PADDLET_TEST_CHROMIUM, else Chromium on the PATH. */
export function findBrowser(): string | undefined {
  const named = process.env.PADDLET_TEST_CHROMIUM;
  const programs = named === undefined || named === '' ? PROGRAMS : [named];
  for (const program of programs) {
    const shell = ['-c', '"$0" --version >&2 && command -v "$0"', program];
    const { status, stdout } = spawnSync('sh', shell, { encoding: 'utf8' });
    if (status === 0) return stdout.trim();
  }
  return undefined;
}

/** Offline. `--no-sandbox`: its own sandbox does not start as root. */
export const BROWSER_FLAGS: readonly string[] = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** With nothing of the user's. */
const flags = (profile: string): string[] => ['--headless', ...BROWSER_FLAGS, `--user-data-dir=${profile}`];

export interface Page {
  readonly origin: string;
  /** Opens the page in a browser; resolves with what it reports. */
  report(place: Place, browser: string, more?: readonly string[]): Promise<unknown>;
}

/**
 * A page on an origin of its own. `script` is the body of an async function; what it returns is reported. It can use
 * `targets`.
 */
export async function servePage(script: string, targets: () => unknown): Promise<Page> {
  const reported = Promise.withResolvers<unknown>();
  const html = (): string => `<!doctype html><title>stranger</title><body><script>
const targets = ${JSON.stringify(targets())};
(async () => { ${script} })()
  .catch((error) => ({ bug: String(error) }))
  .then((found) => fetch('/report', { method: 'POST', body: JSON.stringify(found) }));
</script>`;
  const server = createServer((request, response) => {
    if (request.method !== 'POST') {
      response.writeHead(200, { 'content-type': 'text/html' }).end(html());
      return;
    }
    void textOf(request).then((text) => {
      response.end();
      reported.resolve(JSON.parse(text));
    }, reported.reject);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    async report(place, browser, more = []) {
      const running = place.startCommand('browser', [browser, ...flags(place.path('profile')), ...more, `${origin}/`]);
      const ended = running.ended.then(({ code, err }) => Promise.reject(new Error(`browser ended (${code}): ${err}`)));
      const found = await Promise.race([reported.promise, ended]);
      running.kill('SIGKILL');
      await running.ended;
      return found;
    },
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  request.setEncoding('utf8');
  return (await request.toArray()).join('');
}
