/** Web pages of strangers: a role answers neither them nor anyone who calls it by a name that is not its own. */
import { once } from 'node:events';
import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { CallerRules, parseAllowedHost, parseOrigin } from '../../../src/protocol/websocket/callers.ts';
import { SUBPROTOCOL } from '../../../src/protocol/websocket/version.ts';
import { describeOnEveryPath, infoReply, type RigOptions, rig } from '../rig.ts';
import { everythingFrom, rawTcp } from '../stranger.ts';

type Headers = Readonly<Record<string, string>>;

async function role(options: Partial<RigOptions> = {}) {
  const http = async () => ({ status: 200, contentType: 'text/plain', body: 'a secret' });
  return rig({ handler: () => infoReply, http, ...options });
}

/** The status of a WebSocket handshake: 101, or that of the answer which refuses it. */
async function handshake(port: number, headers: Headers): Promise<number> {
  const ws = new WebSocket(`ws://127.0.0.1:${port}/`, SUBPROTOCOL, { headers });
  ws.on('error', () => {});
  const status = await Promise.race([
    once(ws, 'open').then(() => 101),
    once(ws, 'unexpected-response').then(([, response]) => response.statusCode as number),
  ]);
  ws.terminate();
  return status;
}

interface Got {
  readonly status: number;
  readonly text: string;
  readonly readableBy: string | undefined;
}

async function get(port: number, headers: Headers): Promise<Got> {
  const asked = request({ host: '127.0.0.1', port, path: '/metrics', headers, agent: false }).end();
  const [response] = await once(asked, 'response');
  response.setEncoding('utf8');
  const text = (await response.toArray()).join('');
  return { status: response.statusCode, text, readableBy: response.headers['access-control-allow-origin'] };
}

describeOnEveryPath('callers', () => {
  it('a page of another origin gets no connection and no answer', async () => {
    const { server } = await role();
    const { port } = server;
    const neighbor = `http://127.0.0.1:${port + 1}`;
    for (const origin of [
      'https://evil.example',
      'null',
      '',
      'http://localhost',
      neighbor,
      `https://127.0.0.1:${port}`,
    ]) {
      expect(await handshake(port, { origin }), origin).toBe(403);
      const { status, text, readableBy } = await get(port, { origin });
      expect([status, text.includes('secret'), readableBy], origin).toEqual([403, false, undefined]);
    }
  });

  it('a page of its own gets both', async () => {
    const { server } = await role();
    const { port } = server;
    for (const name of ['127.0.0.1', 'localhost']) {
      const own = { host: `${name}:${port}`, origin: `http://${name}:${port}` };
      expect(await handshake(port, own)).toBe(101);
      expect(await get(port, own)).toMatchObject({ status: 200, text: 'a secret' });
    }
  });

  it('a name that is not its own is refused, whatever the origin', async () => {
    const { server } = await role();
    const { port } = server;
    for (const name of ['evil.example', '192.0.2.7', '0.0.0.0', '[2001:db8::1]', '127.0.0.1.evil.example', '']) {
      const host = `${name}:${port}`;
      for (const headers of [{ host }, { host, origin: `http://${host}` }]) {
        expect(await handshake(port, headers), host).toBe(403);
        expect((await get(port, headers)).status, host).toBe(403);
      }
    }
  });

  it('the name that others are told is its own, and those that a flag allows', async () => {
    const allow = { hosts: ['board.example'], origins: ['https://board.example:8443'] };
    const { server } = await role({ advertise: 'Node-7', allow });
    const { port } = server;
    expect(await handshake(port, { host: `node-7:${port}` })).toBe(101);
    expect(await handshake(port, { host: 'board.example' })).toBe(101);
    expect(await handshake(port, { origin: 'https://board.example' })).toBe(403);
    const headers = { host: 'board.example', origin: 'https://board.example:8443' };
    expect(await handshake(port, headers)).toBe(101);
    expect(await get(port, headers)).toMatchObject({ status: 200, readableBy: headers.origin });
    expect((await get(port, {})).readableBy).toBeUndefined();
  });

  it('a connection for another port is not passed on: it was meant for another role', async () => {
    const { server } = await role();
    const { port } = server;
    expect(await handshake(port, { host: `127.0.0.1:${port + 1}` })).toBe(421);
    // Through a tunnel, probes have the port of its other end.
    expect((await get(port, { host: 'localhost:9000' })).status).toBe(200);
  });

  it('a request with no host, or two, is refused', async () => {
    const { server } = await role();
    for (const lines of ['', `Host: 127.0.0.1:${server.port}\r\nHost: evil.example\r\n`]) {
      const socket = await rawTcp(server.port);
      const all = everythingFrom(socket);
      socket.write(`GET /metrics HTTP/1.0\r\n${lines}\r\n`);
      const text = await all;
      expect(text).toMatch(/^HTTP\/1\.1 40[03] /);
      expect(text).not.toContain('secret');
    }
  });

  it('a flood of refusals is one warning', async () => {
    const { server, log } = await role();
    for (let i = 0; i < 20; i++) await get(server.port, { origin: 'https://evil.example' });
    expect(log.lines.filter((line) => /^warn request refused/.test(line))).toHaveLength(1);
    expect(log.lines.filter((line) => /^debug request refused/.test(line))).toHaveLength(19);
  });
});

describe('names of a role', () => {
  const plain = { origin: [], localAddress: '10.0.0.5', isUpgrade: false };
  const refusal = (host: string, own: string[], hosts: string[] = []) =>
    new CallerRules(own, { hosts, origins: [] }).refusalOf({ ...plain, host: [host] }, 8001)?.status;

  it('are loopback, what it listens on and advertises, and the address that the caller reached', () => {
    for (const host of ['localhost:8001', '127.9.9.9', '[::1]:8001', 'db1:8001', 'DB1', '10.0.0.5:8001']) {
      expect(refusal(host, ['0.0.0.0', 'db1']), host).toBeUndefined();
    }
    for (const host of [
      '10.0.0.6',
      'db2',
      'db1.evil.example',
      '0.0.0.0:8001',
      '',
      'db1:',
      'db1:x',
      'a b',
      '[::1',
      'u@db1',
    ]) {
      expect(refusal(host, ['0.0.0.0', 'db1']), host).toBe(403);
    }
    expect(refusal('[fd00::5]:8001', [], ['fd00::5'])).toBeUndefined();
  });

  it.each(['board.example', 'https://', 'https://board.example/path', 'file:///x', 'null', '*', 'https://a b'])(
    'an origin is refused on the command line when it is none: %s',
    (text) => expect(() => parseOrigin(text)).toThrowError(expect.objectContaining({ code: 'Usage' })),
  );

  it.each(['host:80', '', 'http://host', 'a/b', '*?'])(
    'a host is refused on the command line when it is none: %s',
    (text) => expect(() => parseAllowedHost(text)).toThrowError(expect.objectContaining({ code: 'Usage' })),
  );

  it('are read as they are written', () => {
    expect(parseOrigin('https://Board.example/')).toBe('https://board.example');
    expect(parseOrigin('http://10.0.0.5:3000')).toBe('http://10.0.0.5:3000');
    expect([parseAllowedHost('fd00::5'), parseAllowedHost('[fd00::5]'), parseAllowedHost('A.B')]).toEqual([
      'fd00::5',
      'fd00::5',
      'a.b',
    ]);
  });
});
