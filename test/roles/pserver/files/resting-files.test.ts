import { expect, it } from 'vitest';
import type { RoleContext } from '../../../../src/cluster/context.ts';
import { type Head, takenBy } from '../../../../src/cluster/placement/heads.ts';
import { restingFiles } from '../../../../src/roles/pserver/files/resting-files.ts';
import { keysOf } from '../../../../src/store/keys.ts';
import { MemoryStore, MemoryStoreData } from '../../../../src/store/memory-store.ts';
import { FakeClock, put } from '../../../store/support.ts';

const keys = keysOf('/paddlet/small');
const uuidOf = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;

it('are those of all units, of any leader and in the files of any pserver', async () => {
  const store = new MemoryStore(new MemoryStoreData({ clock: new FakeClock() }));
  const heads: Head[] = [
    takenBy({ index: 0, token: '5' }, undefined, { index: 0, uuid: uuidOf(1) }),
    takenBy({ index: 1, token: '6' }, undefined, { index: 0, uuid: uuidOf(2) }),
    takenBy({ index: 1, token: '6' }, undefined),
  ];
  for (const [unit, head] of heads.entries()) await put(store, keys.head(unit), JSON.stringify(head));
  const context = { store, keys } as unknown as RoleContext;
  expect(await restingFiles(context)).toEqual(new Set([uuidOf(1), uuidOf(2)]));
});
