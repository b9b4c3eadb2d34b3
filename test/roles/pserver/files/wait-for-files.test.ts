/** A file that was seen and then not found: whether it is waited for. */
import { beforeEach, expect, it } from 'vitest';
import { checkpointPath } from '../../../../src/checkpoint/file/paths.ts';
import { isAwayForNow } from '../../../../src/roles/pserver/files/wait-for-files.ts';
import { uuidOf } from '../../../checkpoint/fixture.ts';
import { createSimulatedDisk, type SimulatedDisk } from '../../../simulated-disk.ts';

const PLACE = { folder: '/data/checkpoints', index: 1 };
const NEWEST = 2;
const OLDER = 1;

let disk: SimulatedDisk;

beforeEach(() => {
  disk = createSimulatedDisk();
});

it.each([
  { what: 'it alone is gone', published: [NEWEST, OLDER], seen: [OLDER], isAway: false },
  { what: 'all of its pserver are gone', published: [NEWEST, OLDER], seen: [], isAway: true },
  { what: 'it is back', published: [NEWEST, OLDER], seen: [NEWEST, OLDER], isAway: true },
  { what: 'it is back, and an older one is gone', published: [NEWEST, OLDER], seen: [NEWEST], isAway: true },
  { what: 'it is gone, and was the only one', published: [NEWEST], seen: [], isAway: true },
])('where $what: $isAway', async ({ published, seen, isAway }) => {
  for (const number of seen) disk.place(checkpointPath(PLACE, uuidOf(number)), Uint8Array.of(1));
  expect(await isAwayForNow(disk.storage, PLACE, published.map(uuidOf))).toBe(isAway);
});
