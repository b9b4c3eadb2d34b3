import { test } from 'vitest';
import { DEEP, expectPlainAfterKills } from './columns-job.ts';
import { openPlace } from './harness.ts';

test.each([
  ['fm', undefined],
  ['deepfm', DEEP],
] as const)('%s of columns survives SIGKILL of its trainer, its pserver and its master', async (_, model) => {
  await expectPlainAfterKills(openPlace(), ['trainer', 'pserver', 'master'], 15, model);
});
