/** Unix sockets beside TCP: used where both ends are on one host, left alone where anything is not as it should be. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, lstatSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { RequestHandler } from '../../../src/protocol/messages/channel.ts';
import { createWebSocketNetwork } from '../../../src/protocol/websocket/network.ts';
import { claimUnixSocket, unixSocketOf } from '../../../src/protocol/websocket/unix-socket.ts';
import { testToken } from '../join.ts';
import { fixedRandom, info, MemoryLog, type RigOptions, realClock, rig } from '../rig.ts';
import { upgradeTo } from '../stranger.ts';

const LONG = { timeoutMs: 30_000 };

/** A role that says how each request came. */
async function role(options: Partial<RigOptions> = {}) {
  const handler: RequestHandler = (_request, session) => ({
    header: { type: 'info', info: { from: session.remoteAddress } },
  });
  const started = await rig({ unixSockets: true, ...options, handler });
  const path = (): string | undefined => unixSocketOf('127.0.0.1', started.server.port);
  const cameBy = async (channel = started.connect()): Promise<string> => {
    const reply = await channel.request(info, LONG);
    reply.free();
    return String(reply.header.info.from).startsWith('unix:') ? 'unix' : 'tcp';
  };
  return { ...started, path, cameBy };
}

// A folder for temporary files of each test's own.
beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), 'paddlet-unix-'));
  vi.stubEnv('TMPDIR', folder);
  onTestFinished(() => rmSync(folder, { recursive: true }));
});
afterEach(() => vi.unstubAllEnvs());

describe('Unix sockets', () => {
  it.each(['direct', 'data', 'ws'] as const)(
    'are used on one host, and their files go (receive %s)',
    async (receive) => {
      const { cameBy, path, server } = await role({ receive });
      const file = path()!;
      expect(await cameBy()).toBe('unix');
      expect(lstatSync(dirname(file)).mode & 0o777).toBe(0o700);
      await server.close();
      expect(existsSync(file)).toBe(false);
    },
  );

  it.each(['direct', 'data', 'ws'] as const)(
    'a peer that dies in its handshake costs its connection only (receive %s)',
    async (receive) => {
      const { cameBy, path, server } = await role({ receive });
      for (let i = 0; i < 5; i++) {
        const peer = connect({ path: path()! });
        await once(peer, 'connect');
        // The role reads the request when the peer is gone, so its answer meets a broken pipe.
        peer.write(upgradeTo(server.port), () => peer.destroy());
        await once(peer, 'close');
      }
      expect(await cameBy()).toBe('unix');
    },
  );

  it('can be turned off on either side', async () => {
    const without = await role({ unixSockets: false });
    expect(without.path()).toBeUndefined();
    expect(await without.cameBy()).toBe('tcp');
    const { address, log, cameBy } = await role();
    const network = createWebSocketNetwork({
      clock: realClock,
      random: fixedRandom,
      joinToken: testToken,
      log,
      unixSockets: false,
    });
    const channel = network.connect(address);
    expect(await cameBy(channel)).toBe('tcp');
    channel.close();
  });

  it('are left out by a client whose messages the operating system is to hold', async () => {
    const { address, log, cameBy } = await role();
    const network = createWebSocketNetwork({ clock: realClock, random: fixedRandom, joinToken: testToken, log });
    const channels = [true, false].map((isBuffered) => network.connect(address, { isBuffered }));
    expect(await Promise.all(channels.map((channel) => cameBy(channel)))).toEqual(['tcp', 'unix']);
    for (const channel of channels) channel.close();
  });

  it('are not made for addresses that others can reach', async () => {
    const { server, cameBy } = await role({ listen: '0.0.0.0:0' });
    expect(unixSocketOf('127.0.0.1', server.port)).toBeUndefined();
    expect(claimUnixSocket('0.0.0.0', server.port)).toBeUndefined();
    expect(claimUnixSocket('192.0.2.1', server.port)).toBeUndefined();
    expect(await cameBy()).toBe('tcp');
  });

  it('that no process listens on any more cost nothing but a try', async () => {
    const { cameBy, path } = await role();
    const file = path()!;
    // A role that was killed leaves its file: here, one on the path where the role's own was.
    rmSync(file);
    const left = createServer().listen({ path: `${file}.other` });
    await once(left, 'listening');
    symlinkSync(`${file}.other`, file);
    expect(path()).toBeUndefined();
    expect(await cameBy()).toBe('tcp');
    left.close();
    rmSync(file);
  });

  it('left behind are replaced by the next role at the address', async () => {
    const first = await role();
    const file = first.path()!;
    const { address } = first;
    await first.server.close();
    writeFileSync(file, 'left behind');
    const second = await role({ listen: address });
    expect(second.path()).toBe(file);
    expect(await second.cameBy()).toBe('unix');
  });

  it('left behind long ago are removed by any role that starts, live ones are not', async () => {
    const live = await role();
    const folder = dirname(live.path()!);
    const [space] = basename(live.path()!).split('-');
    const dead = join(folder, `${space}-127.0.0.1-1`);
    const young = join(folder, `${space}-127.0.0.1-2`);
    // The child dies without closing: its files stay.
    const script = `const {createServer}=require('node:net');let n=0;for(const p of process.argv.slice(1))createServer().listen({path:p},()=>{if(++n===2)process.kill(process.pid,'SIGKILL')})`;
    spawnSync(process.execPath, ['-e', script, dead, young]);
    const longAgo = new Date(Date.now() - 3_600_000);
    for (const path of [dead, live.path()!]) utimesSync(path, longAgo, longAgo);
    await role();
    expect([dead, young, live.path()!].map((path) => existsSync(path))).toEqual([false, true, true]);
    expect(await live.cameBy()).toBe('unix');
  });

  it('of another role are told apart, and TCP is used', async () => {
    const { server, log, path } = await role();
    const other = await role();
    const file = other.path()!;
    rmSync(file);
    const relay = createServer((socket) => {
      socket.pipe(new (socket.constructor as new () => typeof socket)().connect({ path: path()! })).pipe(socket);
    }).listen({ path: file });
    await once(relay, 'listening');
    onTestFinished(() => void relay.close());
    expect(await other.cameBy()).toBe('tcp');
    expect(log.lines.some((line) => /bad frame/.test(line))).toBe(false);
    expect(other.log.lines.some((line) => /no Unix socket.*421/.test(line))).toBe(true);
    expect(server.port).not.toBe(other.server.port);
  });

  it('in a folder that others can use are neither made nor used', async () => {
    const { path, cameBy } = await role();
    const folder = dirname(path()!);
    chmodSync(folder, 0o755);
    expect(path()).toBeUndefined();
    expect(await cameBy()).toBe('tcp');
    const late = await role();
    expect(late.path()).toBeUndefined();
    chmodSync(folder, 0o700);
    expect(late.path()).toBeUndefined();
  });

  it('are not looked for in a folder that is a link', async () => {
    const real = mkdtempSync(join(process.env.TMPDIR!, 'real-'));
    symlinkSync(real, join(process.env.TMPDIR!, `paddlet-${process.getuid?.()}`));
    const { path, cameBy } = await role();
    expect(path()).toBeUndefined();
    expect(await cameBy()).toBe('tcp');
  });
});

describe('what networks are told by the environment', () => {
  it.each([
    ['PADDLET_RECEIVE', 'fast'],
    ['PADDLET_UNIX_SOCKETS', 'yes'],
  ])('is refused when it is nonsense: %s=%s', (variable, value) => {
    vi.stubEnv(variable, value);
    const options = { clock: realClock, random: fixedRandom, joinToken: testToken, log: new MemoryLog() };
    expect(() => createWebSocketNetwork(options)).toThrowError(expect.objectContaining({ code: 'Usage' }));
  });
});
