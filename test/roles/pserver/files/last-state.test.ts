/** Where the last state of units is looked for, and what makes it exact. */
import { describe, expect, it } from 'vitest';
import type { RoleContext } from '../../../../src/cluster/context.ts';
import { type FormerState, lastState } from '../../../../src/roles/pserver/files/last-state.ts';
import { keysOf } from '../../../../src/store/keys.ts';
import { MemoryStore, MemoryStoreData } from '../../../../src/store/memory-store.ts';
import { FakeClock, SILENT } from '../../../store/support.ts';

const keys = keysOf('/paddlet/small');
const uuidOf = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
const fileOf = (number: number) => ({ uuid: uuidOf(number), md5: '0'.repeat(32), timestamp: number, clean: true });
const PRIMARY = { index: 1, token: '7' };
const ALONE = { primary: PRIMARY, inSync: [PRIMARY] };

const SHARDS = [0, 1, 2, 3];

async function lookFor(
  former: FormerState,
  values: Readonly<Record<string, object>>,
  unusable: ReadonlySet<string> = new Set(),
) {
  const clock = new FakeClock();
  const store = new MemoryStore(new MemoryStoreData({ clock }));
  for (const [key, value] of Object.entries(values)) {
    await store.txn({ if: [], then: [{ put: key, value: JSON.stringify(value) }] });
  }
  const context = { store, keys, host: { clock, log: SILENT }, stop: new AbortController().signal };
  const { generations, ...found } = await lastState(context as unknown as RoleContext, former, SHARDS, unusable);
  return { ...found, uuids: generations.map(({ uuid }) => uuid) };
}

const ENTRY = { [keys.checkpoint(1)]: { ...fileOf(3), keep: 1, generations: [fileOf(2)] } };

it('is not exact when the heads name no file, however clean the newest one is', async () => {
  const found = await lookFor({ ...ALONE }, ENTRY);
  expect(found).toMatchObject({ index: 1, exact: false, uuids: [uuidOf(3), uuidOf(2)] });
});

it('is the file that the heads name, before newer ones', async () => {
  const found = await lookFor({ ...ALONE, rest: { index: 1, uuid: uuidOf(2) } }, ENTRY);
  expect(found).toMatchObject({ index: 1, exact: true, uuids: [uuidOf(2), uuidOf(3)] });
});

it('may be a file of another pserver than the primary', async () => {
  const entry = { [keys.checkpoint(4)]: fileOf(9) };
  const found = await lookFor({ ...ALONE, rest: { index: 4, uuid: uuidOf(9) } }, { ...ENTRY, ...entry });
  expect(found).toMatchObject({ index: 4, exact: true, uuids: [uuidOf(9)] });
});

it('is not exact when no entry has the file that the heads name', async () => {
  const found = await lookFor({ ...ALONE, rest: { index: 1, uuid: uuidOf(8) } }, ENTRY);
  expect(found).toMatchObject({ exact: false, uuids: [uuidOf(3), uuidOf(2)] });
});

it('is the parting snapshot of the primary, which may have applied more than what it had found', async () => {
  const rest = { index: 1, uuid: uuidOf(3) };
  const found = await lookFor({ ...ALONE, rest }, { ...ENTRY, [keys.parting(7n)]: fileOf(5) });
  expect(found).toMatchObject({ exact: true, parting: { uuid: uuidOf(5) }, uuids: [uuidOf(5), uuidOf(3), uuidOf(2)] });
});

const partedWith = (shards: string) => ({ ...fileOf(5), shards: [{ epoch: 1, seq: [0, 0], shards }] });

it('is the parting snapshot of only those shards that it has: the primary never held the others', async () => {
  const entry = { [keys.checkpoint(4)]: fileOf(9) };
  const former = { ...ALONE, rest: { index: 4, uuid: uuidOf(9) } };
  const some = await lookFor(former, { ...ENTRY, ...entry, [keys.parting(7n)]: partedWith('0,2') });
  expect(some).toMatchObject({ shards: [0, 2], index: 1, exact: true, parting: { uuid: uuidOf(5) } });
  const none = await lookFor(former, { ...ENTRY, ...entry, [keys.parting(7n)]: partedWith('8') });
  expect(none).toMatchObject({ shards: SHARDS, index: 4, exact: true, parting: undefined, uuids: [uuidOf(9)] });
  expect(none.partedAt.get(PRIMARY.token)).toBeGreaterThan(0n);
});

it('is nothing when there is no file', async () => {
  expect(await lookFor({ ...ALONE }, {})).toMatchObject({ exact: false, uuids: [] });
});

const furtherOf = (number: number, epoch: number, seq: number, shards = '0-3') => ({
  ...{ ...fileOf(number), index: number },
  shards: [{ epoch, seq: [seq, seq], shards }],
});

describe('of units with copies', () => {
  const [SECOND, THIRD] = [
    { index: 2, token: '8' },
    { index: 3, token: '9' },
  ] as const;
  const COPIED = { primary: PRIMARY, inSync: [PRIMARY, SECOND, THIRD] };

  it('is what another process that was in sync has written down, when the primary has written nothing', async () => {
    const found = await lookFor(COPIED, { ...ENTRY, [keys.parting(8n)]: furtherOf(2, 4, 90) });
    expect(found).toMatchObject({ exact: true, index: 2, parting: { uuid: uuidOf(2) } });
    expect(found.partedAt.get('8')).toBeGreaterThan(0n);
    expect([found.partedAt.get('7'), found.partedAt.get('9')]).toEqual([0n, 0n]);
  });

  it('is the one that is the furthest, by epoch and position; of equal ones that of the primary', async () => {
    const all = { [keys.parting(7n)]: furtherOf(1, 4, 90), [keys.parting(8n)]: furtherOf(2, 4, 91) };
    expect(await lookFor(COPIED, all)).toMatchObject({ index: 2 });
    expect(await lookFor(COPIED, { ...all, [keys.parting(9n)]: furtherOf(3, 5, 2) })).toMatchObject({ index: 3 });
    const equal = { [keys.parting(7n)]: furtherOf(1, 4, 90), [keys.parting(8n)]: furtherOf(2, 4, 90) };
    expect(await lookFor(COPIED, equal)).toMatchObject({ index: 1 });
  });

  it('is for each shard in the file that has it', async () => {
    const all = { [keys.parting(7n)]: furtherOf(1, 4, 90, '1,3'), [keys.parting(8n)]: furtherOf(2, 4, 90, '0,2') };
    expect(await lookFor(COPIED, all)).toMatchObject({ exact: true, shards: [1, 3], index: 1 });
  });

  it('is nothing that a process has written which was not in sync any more', async () => {
    const found = await lookFor({ ...COPIED, inSync: [PRIMARY, THIRD] }, { [keys.parting(8n)]: furtherOf(2, 4, 90) });
    expect(found).toMatchObject({ exact: false, parting: undefined });
  });

  it('is the file of a clean stop, whatever a copy has written', async () => {
    const rest = { index: 1, uuid: uuidOf(2) };
    const found = await lookFor({ ...COPIED, rest }, { ...ENTRY, [keys.parting(8n)]: furtherOf(2, 4, 90) });
    expect(found).toMatchObject({ exact: true, index: 1, parting: undefined, uuids: [uuidOf(2), uuidOf(3)] });
  });

  it('is another file when one is of no use', async () => {
    const all = { [keys.parting(7n)]: furtherOf(1, 4, 90), [keys.parting(8n)]: furtherOf(2, 4, 90) };
    const found = await lookFor(COPIED, all, new Set([uuidOf(1)]));
    expect(found).toMatchObject({ exact: true, index: 2, parting: { uuid: uuidOf(2) } });
  });
});
