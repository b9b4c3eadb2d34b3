/** A pserver that is held up for longer than its lease. */
import { expect } from 'vitest';
import { isPaddletError } from '../../src/base/errors.ts';
import { askPosition } from './ask-position.ts';
import type { JobStore } from './job-store.ts';
import { freeze } from './processes.ts';
import { expectMidRun } from './run.ts';

/** Holds the process up until its index is free for others; in that time a client asks it, on a connection it has. */
export async function holdUp(store: JobStore, pserver: { index: number; pid: number; address: string }): Promise<void> {
  const ask = await askPosition(store, pserver.address);
  expect(await ask()).toMatchObject({ type: 'position' });
  await freeze(pserver.pid, store.url);
  const answer = ask().catch((error: unknown) => error);
  await store.until((entries) => !entries.has(`/ps/${pserver.index}`));
  await expectMidRun(store);
  process.kill(pserver.pid, 'SIGCONT');
  const refused = await answer;
  expect(isPaddletError(refused, 'Suspended', 'Draining', 'ConnectionLost') ? 'refused' : refused).toBe('refused');
}
