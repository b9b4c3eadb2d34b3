import { test } from 'vitest';
import { expectPlainAfterKills } from './columns-job.ts';
import { openPlace } from './harness.ts';

test('a job with columns survives SIGKILL of its trainer, its pserver and its master', async () => {
  await expectPlainAfterKills(openPlace(), ['trainer', 'pserver', 'master'], 15);
});
