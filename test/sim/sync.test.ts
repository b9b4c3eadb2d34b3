import { expect, test } from 'vitest';
import { runKinds } from './kinds.ts';

/** From here on everything happens in them: what is rare does not happen in every hundred. */
const FIRST_SEED = 0;

test('sync jobs under faults, simulated: all end with the digest of a plain loop', async () => {
  expect(await runKinds('sync', FIRST_SEED)).toEqual({ violations: [], missing: [] });
}, 600_000);
