/** Whatever arrives on a role's port, the role lives on and the job ends exact. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { LIMITS } from '../../src/base/limits.ts';
import * as fc from '../properties.ts';
import { upgradeTo } from '../protocol/stranger.ts';
import { openPlace, resultOf } from './harness.ts';
import { expectWhole, plantedJob, UNHURRIED_JOB } from './planted-job.ts';
import { expectMidRun, JOB_FOLDER, liveProcesses, ROLES, startRun } from './run.ts';

const GIGABYTE = 2 ** 30;

interface Bytes {
  readonly upgrade: boolean;
  readonly bytes: Uint8Array;
}

/** Sends bytes, after a handshake or without, and hangs up, or is hung up on; what came back. */
async function send(address: string, { upgrade, bytes }: Bytes): Promise<string> {
  const [host = '', port] = address.split(':');
  const socket = connect(Number(port), host);
  const back: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => back.push(chunk));
  // A reset is an answer too.
  socket.on('error', () => {});
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await Promise.race([once(socket, 'connect'), closed]);
  socket.end(upgrade ? Buffer.concat([Buffer.from(upgradeTo(Number(port))), bytes]) : bytes);
  await closed;
  return Buffer.concat(back).toString('latin1');
}

/** A binary message of a client that says it has so many bytes, and the first of them. */
function announced(length: bigint, payload: Uint8Array): Bytes {
  const head = Buffer.alloc(14);
  head.set([0x82, 0x80 | 127]);
  head.writeBigUInt64BE(length, 2);
  // A mask of zeros changes nothing.
  return { upgrade: true, bytes: Buffer.concat([head, payload]) };
}

/** A frame (docs/protocol.md) whose length fields are these. */
function frame(lengths: { header: number; segments: number; frame: number; segment: number }): Buffer {
  const bytes = Buffer.alloc(64);
  bytes.write('PDLT');
  bytes.set([1, 1], 4);
  bytes.writeUInt32LE(7, 8);
  bytes.writeUInt32LE(lengths.header, 12);
  bytes.writeUInt32LE(lengths.segments, 16);
  bytes.writeUInt32LE(lengths.frame, 20);
  bytes.writeUInt32LE(lengths.segment, 24);
  return bytes;
}

const HUGE = 3 * GIGABYTE;
const HONEST = 64n;
const LIES: readonly { name: string; bytes: Bytes }[] = [
  {
    name: 'a message of 3 GB',
    bytes: announced(BigInt(HUGE), frame({ header: 8, segments: 0, frame: 64, segment: 0 })),
  },
  { name: 'a frame of 3 GB', bytes: announced(HONEST, frame({ header: 8, segments: 1, frame: HUGE, segment: 8 })) },
  { name: 'a header of 3 GB', bytes: announced(HONEST, frame({ header: HUGE, segments: 0, frame: 64, segment: 0 })) },
  { name: 'a segment of 3 GB', bytes: announced(HONEST, frame({ header: 8, segments: 1, frame: 64, segment: HUGE })) },
  { name: '3 G segments', bytes: announced(HONEST, frame({ header: 8, segments: HUGE, frame: 64, segment: 8 })) },
];

const garbage = fc.oneof(
  fc.record({ upgrade: fc.boolean(), bytes: fc.uint8Array({ minLength: 1, maxLength: 2000 }) }),
  fc
    .uint8Array({ minLength: 40, maxLength: 40 })
    .map((bytes) =>
      announced(
        HONEST,
        Buffer.concat([frame({ header: 8, segments: 0, frame: 64, segment: 0 }).subarray(0, 24), bytes]),
      ),
    ),
);

test('random bytes and lengths of 3 GB on the port of every role, in mid-run: all live on and the job ends exact', async () => {
  expect(HUGE).toBeGreaterThan(LIMITS.frameBytes);
  const place = openPlace();
  const { running, store } = await startRun(place, await plantedJob(place, UNHURRIED_JOB), 'trainer.dealt:delay=40');
  await store.passesOver(1, running);
  const before = await liveProcesses(place, ROLES);
  expect(before.map(({ role }) => role).sort()).toEqual(['master', 'pserver', 'pserver', 'trainer', 'trainer']);
  await Promise.all(
    before.map(async ({ address }) => {
      for (const { name, bytes } of LIES) {
        const answer = await send(address, bytes);
        expect(answer, name).toContain('101 Switching Protocols');
      }
      await fc.assert(
        fc.asyncProperty(garbage, async (bytes) => void (await send(address, bytes))),
        { numRuns: 30 },
      );
    }),
  );
  const token = (await store.get('/token'))!.value;
  const shown = place.alive().map((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
  const described = JSON.stringify(await place.json('status', '--dir', JOB_FOLDER));
  const job = (await store.get('/job'))!.value;
  const health = await Promise.all(before.map(async ({ address }) => (await fetch(`http://${address}/readyz`)).text()));
  expect(before.length).toBe(health.length);
  expect([...shown, described, job, ...health].filter((text) => text.includes(token))).toEqual([]);
  await expectMidRun(store);
  const after = await liveProcesses(place, ROLES);
  const named = ({ role, pid, address }: (typeof after)[number]): string => `${role} ${pid} ${address}`;
  expect(after.map(named)).toEqual(before.map(named));

  await expectWhole(place, await resultOf(running), place.path(JOB_FOLDER, 'checkpoints'));
  expect(running.err).not.toContain('restarting it');
  expect(place.logs()).not.toContain(token);
});
