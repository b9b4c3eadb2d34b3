import { describe, expect, it } from 'vitest';
import { LandingPool } from '../../../src/protocol/frames/landing-pool.ts';
import type { Landing } from '../../../src/protocol/messages/channel.ts';
import * as fc from '../../properties.ts';

const KiB = 1024;
const MiB = 1024 * KiB;

/** Cut from slabs. */
const SMALL = fc.integer({ min: 1, max: 16 * KiB });

/** By a connection. */
function inUse(pool: LandingPool): LandingPool {
  pool.enter();
  return pool;
}

describe('a pool of landings', () => {
  it('hands out memory of the size asked for, at multiples of 8, that is not in use', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.oneof(SMALL, fc.integer({ min: 1, max: 100_000 })), fc.boolean()), { maxLength: 100 }),
        (asked) => {
          const pool = inUse(new LandingPool(MiB));
          const live: { landing: Landing; mark: number }[] = [];
          asked.forEach(([byteLength, freesOne], i) => {
            const landing = pool.allocate(byteLength);
            expect(landing.bytes().length).toBe(byteLength);
            expect(landing.bytes().byteOffset % 8).toBe(0);
            landing.bytes().fill(i + 1);
            live.push({ landing, mark: i + 1 });
            if (freesOne) live.splice(i % live.length, 1)[0]!.landing.free();
          });
          for (const { landing, mark } of live) expect(landing.bytes().every((byte) => byte === mark)).toBe(true);
          expect(pool.keptBytes).toBeLessThanOrEqual(MiB);
        },
      ),
    );
  });

  it('uses the memory of small payloads again, when all that was cut with them is free', () => {
    const pool = inUse(new LandingPool(MiB));
    const buffers = new Set<ArrayBufferLike>();
    let before: Landing | undefined;
    for (let i = 0; i < 1000; i++) {
      const landing = pool.allocate(4 * KiB);
      buffers.add(landing.bytes().buffer);
      before?.free();
      before = landing;
    }
    expect(buffers.size).toBeLessThanOrEqual(2);
  });

  it('uses large blocks again, also for a payload a little smaller', () => {
    const pool = inUse(new LandingPool(64 * MiB));
    const first = pool.allocate(10 * MiB);
    const { buffer } = first.bytes();
    expect(pool.inUse).toBe(1);
    first.free();
    expect([pool.inUse, pool.keptBytes]).toEqual([0, 10 * MiB]);
    expect(pool.allocate(10 * MiB - 1000).bytes().buffer).toBe(buffer);
    expect(pool.keptBytes).toBe(0);
  });

  it('keeps no more than it may', () => {
    const pool = inUse(new LandingPool(3 * MiB));
    const landings = Array.from({ length: 5 }, () => pool.allocate(MiB));
    for (const landing of landings) landing.free();
    expect(pool.keptBytes).toBe(3 * MiB);
    const large = pool.allocate(8 * MiB);
    large.free();
    expect(pool.keptBytes).toBe(3 * MiB);
  });

  it('lets go of what was not needed between two trims, and only of that', () => {
    const pool = inUse(new LandingPool(64 * MiB));
    const three = [1, 2, 3].map(() => pool.allocate(MiB));
    for (const landing of three) landing.free();
    pool.trim();
    expect(pool.keptBytes).toBe(3 * MiB);
    pool.allocate(MiB).free();
    pool.trim();
    expect(pool.keptBytes).toBe(MiB);
    pool.trim();
    expect(pool.keptBytes).toBe(0);
  });

  it('trims by time, and keeps nothing once no connection uses it', () => {
    const pool = new LandingPool(64 * MiB);
    const leave = [pool.enter(), pool.enter()];
    const both = [pool.allocate(MiB), pool.allocate(MiB)];
    for (const landing of both) landing.free();
    pool.tick(10_000);
    pool.tick(19_999);
    expect(pool.keptBytes).toBe(2 * MiB);
    pool.allocate(MiB).free();
    pool.tick(20_000);
    expect(pool.keptBytes).toBe(MiB);
    leave[0]!();
    leave[0]!();
    expect(pool.keptBytes).toBe(MiB);
    const late = pool.allocate(2 * MiB);
    leave[1]!();
    expect(pool.keptBytes).toBe(0);
    late.free();
    expect([pool.keptBytes, pool.inUse]).toEqual([0, 0]);
  });
});
