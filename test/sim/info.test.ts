/** What the roles say of themselves at any moment of their lives, faults included, is what the schemas describe. */
import { expect, test } from 'vitest';
import { parseRoleInfo } from '../../src/cluster/info.ts';
import { type Mode, runSchedule } from './schedule.ts';

/** Asks now and then: each role is asked by others all the time. */
const ONE_IN = 10;

const TIMEOUT_MS = 600_000;

async function heardFrom(mode: Mode, seeds: readonly number[]): Promise<Set<string>> {
  const heard = new Set<string>();
  let requests = 0;
  for (const seed of seeds) {
    const { violations } = await runSchedule({
      seed,
      mode,
      wrapHandler: (_server, handler) => async (request, session) => {
        if (requests++ % ONE_IN === 0) {
          const reply = await handler({ ...NO_SEGMENTS, header: { type: 'info' } }, session);
          if (reply.header.type !== 'info') throw new Error('every role answers');
          const info = parseRoleInfo(JSON.parse(JSON.stringify(reply.header.info)));
          heard.add(`${info.role} ${info.state}`);
        }
        return handler(request, session);
      },
    });
    expect(violations, `seed ${seed}`).toEqual([]);
  }
  return heard;
}

const NO_SEGMENTS = {
  segmentCount: 0,
  segment: (): never => {
    throw new Error('it has none');
  },
  free: () => {},
};

test.each(['async', 'sync'] as const)('in %s mode', { timeout: TIMEOUT_MS }, async (mode) => {
  const heard = await heardFrom(mode, [1, 2, 3]);
  expect([...heard]).toEqual(expect.arrayContaining(['master working', 'pserver working']));
});
