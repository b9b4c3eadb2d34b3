/** `paddlet token rotate`: another token, put over the one that was read, whatever becomes of the tries. */
import { describe, expect, test } from 'vitest';
import { parseJoinToken } from '../../../src/cluster/job/join-token.ts';
import { rotateToken } from '../../../src/commands/token/rotate-token.ts';
import { keysOf } from '../../../src/store/keys.ts';
import { MemoryStoreData } from '../../../src/store/memory-store.ts';
import { TroubledStore } from '../../roles/master/tasks/service-rig.ts';
import { FakeClock } from '../../store/support.ts';

const keys = keysOf('/paddlet/test');
const OLD = 'a'.repeat(64);
const LIMIT_MS = 10_000;

function setUp() {
  const clock = new FakeClock();
  const data = new MemoryStoreData({ clock });
  const troubled = new TroubledStore(data);
  const put = (key: string, value: string) => data.txn({ if: [], then: [{ put: key, value }] });
  put(keys.job, '{}');
  put(keys.token, OLD);
  const random = { uuid: () => crypto.randomUUID(), fraction: () => 0 };
  const rotate = () =>
    rotateToken({
      host: { clock, random },
      ...{ store: troubled.store, keys, signal: new AbortController().signal, limitMs: LIMIT_MS },
      retryStore: (call) => call(),
    });
  return { clock, data, troubled, put, rotate, token: () => data.get(keys.token)!.value };
}

describe('a rotation', () => {
  test('puts another token of the right form', async () => {
    const { rotate, token, data } = setUp();
    await rotate();
    expect(token()).not.toBe(OLD);
    expect(parseJoinToken(data.get(keys.token)!)).toHaveLength(32);
  });

  test.each(['unavailable', 'unknownLost'] as const)('is repeated when its first try was %s', async (trouble) => {
    const { rotate, token, troubled, clock } = setUp();
    troubled.next(trouble);
    const rotating = rotate();
    await clock.advance(5_000);
    await rotating;
    expect(token()).not.toBe(OLD);
  });

  test('that lands late does not replace the token of a later rotation', async () => {
    const { rotate, token, troubled, clock } = setUp();
    troubled.next('unknownLate');
    const rotating = rotate();
    await clock.advance(5_000);
    await rotating;
    const later = token();
    expect(troubled.landLate()).toEqual([false]);
    expect(token()).toBe(later);
  });

  test('begins again when another one came first', async () => {
    const { rotate, token, troubled, put } = setUp();
    troubled.hold();
    const rotating = rotate();
    put(keys.token, 'b'.repeat(64));
    troubled.releaseHold();
    await rotating;
    expect(['a', 'b'].map((digit) => digit.repeat(64))).not.toContain(token());
  });

  test('ends with what the store says when it does not answer in time', async () => {
    const { rotate, token, troubled, clock } = setUp();
    troubled.next(...Array.from({ length: 100 }, () => 'unavailable' as const));
    const failed = rotate().catch((error: unknown) => error);
    await clock.advance(2 * LIMIT_MS);
    expect(await failed).toMatchObject({ code: 'StoreUnavailable' });
    expect(token()).toBe(OLD);
  });
});
