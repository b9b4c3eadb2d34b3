/**
 * Async mode: what the schedule makes of the learning rate is a function of what the shards have applied, also right
 * after a pserver was restored and after units have moved.
 */
import { expect, test } from 'vitest';
import { rateShareAt } from '../../src/core/shard/schedule.ts';
import type { RequestHandler, Session } from '../../src/protocol/messages/channel.ts';
import { type PserverInfo, parseRoleInfo } from '../../src/view/info.ts';
import type { SimulatedProcess } from './process.ts';
import { Scenario } from './scenario.ts';

const SCHEDULE = { type: 'cosine', passes: 3, final: 0.1 } as const;
const ASKED = { header: { type: 'info' }, segmentCount: 0, segment: () => new Uint8Array(0), free: () => {} } as const;
const SESSION: Session = { remoteAddress: '', peer: undefined, onClosed: () => () => {} };

type Serving = Extract<PserverInfo, { state: 'working' }>;

test('of a pserver that was restored, and of units that have moved', async () => {
  const asked: Promise<void>[] = [];
  const wrong: string[] = [];
  let newest = 1;
  /** By process, in the order of their starts: the first answer in which something was applied. */
  const firsts = new Map<SimulatedProcess, Serving>();
  const check = async (process: SimulatedProcess, handler: RequestHandler): Promise<void> => {
    const { header } = await handler(ASKED, SESSION);
    if (header.type !== 'info') throw new Error('it answers');
    const info = parseRoleInfo(header.info);
    if (info.role !== 'pserver' || info.state !== 'working') return;
    const { applied, discarded } = info.account;
    const share = rateShareAt(SCHEDULE, (applied + discarded) / job.cluster.workload.records.length);
    if (Math.abs(info.rateShare - share) > 1e-12) wrong.push(`${info.rateShare} after ${applied} records`);
    newest = info.rateShare;
    if (applied > 0 && !firsts.has(process)) firsts.set(process, info);
  };
  const job = new Scenario({
    mode: 'async',
    // With others, pserver 0 may come back before its units have moved.
    seed: 4,
    checkpoint: { intervalMs: 1_000 },
    training: { schedule: SCHEDULE },
    wrapHandler: (process, handler) => (request, session) => {
      asked.push(check(process, handler));
      return handler(request, session);
    },
  });
  await job.until('progress', () => firsts.size === 2 && newest < 0.9);
  const [before] = job.published(1);
  await job.until('a file of it', () => job.published(1)[0] !== before);
  job.named('pserver 1').kill(false);
  await job.until('it is restored', () => firsts.size === 3);
  job.named('pserver 0').terminate();
  const { records } = await job.result();
  await Promise.all(asked);
  // So the records of the ledgers say how far shards have come.
  expect(records).toMatchObject({ bad: 0, lost: 0 });
  expect(wrong).toEqual([]);
  const shares = [...firsts.values()].map(({ rateShare }) => rateShare);
  expect(shares.length).toBe(4);
  expect(job.recovery).toBe(1);
  expect(job.told(/is led by this pserver now/)).toBeGreaterThan(0);
  // Those that came later did not begin at the whole rate.
  for (const share of shares.slice(2)) expect(share).toBeLessThan(0.9);
});
