/** Browsers that look on: who is let in, what they get, and that they can ask for nothing. */
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { LIMITS } from '../../../src/base/limits.ts';
import { viewProofOf, viewTokenOf } from '../../../src/protocol/join/view-token.ts';
import type { RequestHandler, Viewer } from '../../../src/protocol/messages/channel.ts';
import { SUBPROTOCOL } from '../../../src/protocol/websocket/version.ts';
import { VIEW_SUBPROTOCOL } from '../../../src/protocol/websocket/viewers.ts';
import { TOKEN, testToken } from '../join.ts';
import { type Rig, realClock, rig } from '../rig.ts';
import { openViewer, proveTo, type TestViewer } from '../viewing.ts';

const handler: RequestHandler = () => {
  throw new Error('a viewer reached the handler');
};
const VIEW_TOKEN = viewTokenOf(TOKEN);

interface Shown extends Rig {
  readonly viewers: Viewer[];
  /** The next that is let in. */
  viewer(): Promise<Viewer>;
}

async function shown(more: Partial<Parameters<typeof rig>[0]> = {}): Promise<Shown> {
  const viewers: Viewer[] = [];
  let came = Promise.withResolvers<Viewer>();
  const onViewer = (viewer: Viewer): void => {
    viewers.push(viewer);
    came.resolve(viewer);
  };
  const role = await rig({ handler, onViewer, ...more });
  const viewer = (): Promise<Viewer> => {
    came = Promise.withResolvers();
    return came.promise;
  };
  return { ...role, viewers, viewer };
}

/** One that was let in, and what the role has of it. */
async function joined(role: Shown, path?: string): Promise<[TestViewer, Viewer]> {
  const viewer = await openViewer(role.address, path === undefined ? {} : { path });
  const came = role.viewer();
  await proveTo(viewer, VIEW_TOKEN, role.address);
  return [viewer, await came];
}

it('derives the token and the proof as docs/protocol.md says', () => {
  const nonce = new Uint8Array(32).fill(9);
  const token = createHmac('sha256', TOKEN).update('view').digest();
  expect(Buffer.from(viewTokenOf(TOKEN))).toEqual(token);
  const signed = Buffer.concat([Buffer.from('paddlet.view.v1 viewer'), nonce, Buffer.from('host:1')]);
  expect(Buffer.from(viewProofOf(token, nonce, 'host:1'))).toEqual(createHmac('sha256', token).update(signed).digest());
  // Test vector of docs/protocol.md.
  expect(token.toString('hex')).toBe('28ccad45de3970f11962022a30602f0cfcd3173a0c2a6a7539ad1c0c503f0db9');
  expect(Buffer.from(viewProofOf(token, nonce, 'host:1')).toString('hex')).toBe(
    'f246254ecb004c30bca6f42124392c535a4beb68974dff7c8be008e6c6204af0',
  );
});

it('sends texts to those that know the view token, with the path that they asked for', async () => {
  const role = await shown();
  const [viewer, seen] = await joined(role, '/view?job=a');
  expect(seen.path).toBe('/view?job=a');
  expect(await seen.send('{"type":"data"}')).toBe(true);
  expect(await viewer.next()).toEqual({ type: 'data' });
  viewer.ws.close();
  await new Promise<void>((resolve) => seen.onClosed(resolve));
  expect(await seen.send('{}')).toBe(false);
});

it.each([
  [
    'another view token',
    async (viewer: TestViewer, address: string) => proveTo(viewer, viewTokenOf(VIEW_TOKEN), address),
  ],
  ['the join token itself', async (viewer: TestViewer, address: string) => proveTo(viewer, TOKEN, address)],
  ['a proof for another address', async (viewer: TestViewer) => proveTo(viewer, VIEW_TOKEN, '127.0.0.1:1')],
])('refuses those that bring %s', async (_, prove) => {
  const role = await shown();
  const viewer = await openViewer(role.address);
  await prove(viewer, role.address);
  expect(await viewer.next()).toEqual({ type: 'refused', message: expect.stringContaining('view token') });
  expect(await viewer.closed).toEqual({ code: 1008, reason: 'JoinRefused' });
  expect(role.viewers).toEqual([]);
});

it('takes a proof for one connection alone', async () => {
  const role = await shown();
  const first = await openViewer(role.address);
  const challenge = await first.next();
  if (challenge.type !== 'challenge') throw new Error(challenge.type);
  const proof = Buffer.from(viewProofOf(VIEW_TOKEN, Buffer.from(challenge.nonce, 'hex'), role.address));
  const second = await openViewer(role.address);
  await second.next();
  second.ws.send(JSON.stringify({ type: 'proof', proof: proof.toString('hex') }));
  expect(await second.next()).toMatchObject({ type: 'refused' });
});

it.each([
  ['no JSON', 'hello'],
  ['another text', '{"type":"stop"}'],
  ['a proof with more', JSON.stringify({ type: 'proof', proof: '0'.repeat(64), job: 'a' })],
  ['a proof that is short', JSON.stringify({ type: 'proof', proof: '00' })],
])('ends a connection that brings %s instead of a proof', async (_, text) => {
  const role = await shown();
  const viewer = await openViewer(role.address);
  await viewer.next();
  viewer.ws.send(text);
  expect(await viewer.next()).toMatchObject({ type: 'refused' });
  expect(await viewer.closed).toEqual({ code: 1008, reason: 'BadFrame' });
  expect(role.viewers).toEqual([]);
});

it('ends a connection that sends anything after its proof, and hands nothing on', async () => {
  const role = await shown();
  const [viewer, seen] = await joined(role);
  viewer.ws.send(JSON.stringify({ type: 'info' }));
  expect(await viewer.closed).toEqual({ code: 1008, reason: 'BadFrame' });
  expect(await seen.send('{}')).toBe(false);
  const [binary] = await joined(role);
  binary.ws.send(new Uint8Array(16));
  expect(await binary.closed).toEqual({ code: 1008, reason: 'BadFrame' });
  const large = await openViewer(role.address);
  large.ws.send('x'.repeat(LIMITS.viewerTextBytes + 1));
  expect((await large.closed).code).toBe(1009);
});

it('refuses pages of other origins, and roles without a page refuse all', async () => {
  const role = await shown();
  await expect(openViewer(role.address, { origin: 'http://evil.example' })).rejects.toThrow('403');
  await expect(openViewer(role.address, { origin: `http://${role.address}` })).resolves.toBeDefined();
  const plain = await rig({ handler });
  await expect(openViewer(plain.address)).rejects.toThrow('400');
});

it('takes one that offers the subprotocol of roles, too, for a viewer', async () => {
  const role = await shown();
  const ws = new WebSocket(`ws://${role.address}/view`, [SUBPROTOCOL, VIEW_SUBPROTOCOL]);
  const text = new Promise<string>((resolve) => ws.once('message', (data) => resolve(String(data))));
  expect(JSON.parse(await text)).toMatchObject({ type: 'challenge' });
  expect(ws.protocol).toBe(VIEW_SUBPROTOCOL);
  ws.terminate();
});

it('cuts those that had a token which was changed', async () => {
  let token: Uint8Array = TOKEN;
  const role = await shown({ joinToken: { current: async () => token, refresh: async () => token } });
  const [viewer, seen] = await joined(role);
  expect(await seen.send('{"type":"data"}')).toBe(true);
  await viewer.next();
  token = new Uint8Array(LIMITS.joinTokenBytes).fill(8);
  expect(await seen.send('{"type":"data"}')).toBe(false);
  expect(await viewer.next()).toEqual({ type: 'refused', message: expect.stringContaining('was changed') });
  expect(await viewer.closed).toEqual({ code: 1008, reason: 'JoinRefused' });
  const late = await openViewer(role.address);
  await proveTo(late, VIEW_TOKEN, role.address);
  expect(await late.next()).toMatchObject({ type: 'refused' });
});

it('lets in so many', async () => {
  const role = await shown({ joinToken: testToken });
  const [first] = await joined(role);
  for (let at = 1; at < LIMITS.viewers; at++) await joined(role);
  const more = await openViewer(role.address);
  await proveTo(more, VIEW_TOKEN, role.address);
  expect(await more.next()).toEqual({ type: 'refused', message: expect.stringContaining(String(LIMITS.viewers)) });
  expect(role.viewers).toHaveLength(LIMITS.viewers);
  // One that leaves makes room.
  const gone = new Promise<void>((resolve) => role.viewers[0]!.onClosed(resolve));
  first!.ws.close();
  await gone;
  await joined(role);
  expect(role.viewers).toHaveLength(LIMITS.viewers + 1);
});

it('leaves out texts while earlier ones are on their way', async () => {
  const role = await shown();
  const [viewer, seen] = await joined(role);
  viewer.ws.pause();
  // More than sockets hold.
  const large = JSON.stringify({ text: 'x'.repeat(32 * 1024 * 1024) });
  expect(await seen.send(large)).toBe(true);
  expect(await seen.send('{"type":"data"}')).toBe(false);
  viewer.ws.resume();
  await viewer.next();
  await expect.poll(() => seen.send('{"type":"data"}')).toBe(true);
});

it('cuts one that is not heard of any more', async () => {
  let skippedMs = 0;
  const clock = { ...realClock, monotonicMs: () => realClock.monotonicMs() + skippedMs };
  const role = await shown({ clock });
  const [alive, seenAlive] = await joined(role);
  expect(await seenAlive.send('{"type":"data"}')).toBe(true);
  await alive.next();
  const [silent, seen] = await joined(role);
  silent.ws.pause();
  const gone = new Promise<void>((resolve) => seen.onClosed(resolve));
  skippedMs = LIMITS.viewerPatienceMs + 1;
  expect(await seen.send('{"type":"data"}')).toBe(false);
  await gone;
});

it('ends with the role, after what was sent last', async () => {
  const role = await shown();
  const [viewer, seen] = await joined(role);
  await seen.send('{"type":"data"}');
  const closing = role.server.close();
  expect(await viewer.next()).toEqual({ type: 'data' });
  expect(await viewer.closed).toEqual({ code: 1001, reason: 'closing' });
  await closing;
});

it('takes viewers at /view alone', async () => {
  const role = await shown();
  for (const path of ['/', '/views', '/view/', '/view/a', '/x?/view']) {
    await expect(openViewer(role.address, { path }), path).rejects.toThrow('404');
  }
  await joined(role, '/view');
});

it('refuses processes at the handshake where only viewers connect', async () => {
  const role = await shown({ takesViewersOnly: true });
  const process = new WebSocket(`ws://${role.address}/`, SUBPROTOCOL);
  onTestFinished(() => process.terminate());
  await expect(once(process, 'open')).rejects.toThrow('400');
  await joined(role);
});

it.each([
  ['a fragment that no other follows', [0x01, 0x81, 0, 0, 0, 0, 0x7b]],
  ['a fragment of bytes', [0x02, 0x81, 0, 0, 0, 0, 0x7b]],
  ['the first byte of a frame', [0x81]],
  ['an answer to a ping, and then a continuation', [0x8a, 0x81, 0, 0, 0, 0, 1, 0x80]],
])('ends a connection that sends %s after its proof', async (_, bytes) => {
  const role = await shown();
  const [viewer] = await joined(role);
  socketOf(viewer).write(Uint8Array.from(bytes));
  expect(await viewer.next()).toMatchObject({ type: 'refused' });
  expect(await viewer.closed).toEqual({ code: 1008, reason: 'BadFrame' });
});

it('takes a proof in fragments, and answers to pings of any length', async () => {
  const role = await shown();
  const viewer = await openViewer(role.address);
  const challenge = await viewer.next();
  if (challenge.type !== 'challenge') throw new Error(challenge.type);
  const proof = Buffer.from(viewProofOf(VIEW_TOKEN, Buffer.from(challenge.nonce, 'hex'), role.address));
  const text = JSON.stringify({ type: 'proof', proof: proof.toString('hex') });
  const came = role.viewer();
  viewer.ws.send(text.slice(0, 9), { fin: false });
  viewer.ws.pong(Buffer.alloc(125, 1));
  viewer.ws.send(text.slice(9));
  const seen = await came;
  for (const length of [0, 1, 125]) viewer.ws.pong(Buffer.alloc(length, 1));
  expect(await seen.send('{"type":"data"}')).toBe(true);
  expect(await viewer.next()).toEqual({ type: 'data' });
});

const socketOf = ({ ws }: TestViewer): Socket => (ws as unknown as { readonly _socket: Socket })._socket;
