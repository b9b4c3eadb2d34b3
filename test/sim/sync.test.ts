import { expect, test } from 'vitest';
import { runKinds } from './kinds.ts';

test('sync jobs under faults, simulated: all end with the digest of a plain loop', async () => {
  expect(await runKinds('sync')).toEqual({ violations: [], missing: [] });
});
