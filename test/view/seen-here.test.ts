/** Dead, suspended or starting: what this machine knows of a job whose store is a file. */
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { lockFolder } from '../../src/host/folder-lock.ts';
import type { JobStatus, LiveProcess } from '../../src/view/describe-job.ts';
import { seenHere } from '../../src/view/seen-here.ts';
import { FakeClock } from '../store/support.ts';

/** Its limit for an answer never passes: the ports are of this machine, and either accept or refuse. */
const CLOCK = new FakeClock();

const silent = (address: string): LiveProcess => {
  return { role: 'pserver', id: '0', address, lease: 'a', answer: { kind: 'none' } };
};
const statusOf = (...processes: LiveProcess[]): JobStatus =>
  ({ processes, health: { status: 'UNKNOWN', waitingFor: [], nodes: [] } }) as unknown as JobStatus;

/** The address of a port that accepts and never answers, as that of a suspended process; and how to close it. */
async function openPort(): Promise<{ address: string; close: () => Promise<void> }> {
  const server = createServer(() => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = (): Promise<void> => new Promise((resolve) => server.close(() => resolve()));
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

test('processes are dead when nothing listens at their addresses; a silent port may be a suspended one', async () => {
  const one = await openPort();
  const other = await openPort();
  await other.close();
  const [silentOne, dead] = [silent(one.address), silent(other.address)];
  expect(await seenHere('sqlite:/s', undefined, statusOf(dead), CLOCK)).toEqual({ kind: 'dead' });
  expect(await seenHere('sqlite:/s', undefined, statusOf(silentOne, dead), CLOCK)).toBeUndefined();
  expect(await seenHere('etcd://h', undefined, statusOf(dead), CLOCK)).toBeUndefined();
  expect(await seenHere('sqlite:/s', undefined, statusOf(), CLOCK)).toBeUndefined();
  await one.close();
});

test('a run that has the lock of the folder is seen whatever its processes do', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'paddlet-seen-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  expect(await seenHere('sqlite:/s', folder, statusOf(), CLOCK)).toBeUndefined();
  const lock = lockFolder(folder)!;
  expect(await seenHere('sqlite:/s', folder, statusOf(), CLOCK)).toEqual({ kind: 'run', pid: undefined });
  lock.describe({ pid: 7, started: 'then', job: 'a', logFrom: 0 });
  expect(await seenHere('sqlite:/s', folder, statusOf(silent('127.0.0.1:2')), CLOCK)).toEqual({ kind: 'run', pid: 7 });
  lock.release();
});
