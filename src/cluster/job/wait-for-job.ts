/** A role that is started before its job waits for it: any start order works (docs/design.md §2). */
import { follow } from '../../store/follow.ts';
import type { RoleContext } from '../context.ts';
import { retryStore } from '../ownership.ts';
import { createSignal, logWaiting } from '../waiting.ts';
import { type JobRecord, readJobRecord } from './job-record.ts';

export async function waitForJob(context: RoleContext): Promise<JobRecord> {
  const { keys, store } = context;
  const { clock, log } = context.host;
  const changed = createSignal();
  let found: true | undefined;
  let ended: Error | undefined;
  let loaded = false;
  const observe = (entry: { key: string; value: string } | undefined): void => {
    loaded = true;
    if (entry?.key === keys.job) found = true;
    changed.notify();
  };
  const cancel = follow(
    store,
    keys.job,
    {
      onSnapshot: (entries) => observe(entries.find(({ key }) => key === keys.job)),
      onEvents: (events) => {
        for (const event of events) if (event.type === 'put') observe(event.entry);
      },
      onEnd: (error) => {
        ended = error;
        changed.notify();
      },
      onWaiting: () => changed.notify(),
    },
    clock,
  );
  const quiet = logWaiting(clock, log, () =>
    loaded ? `a job: no master has published one at ${keys.job}` : `the store ${store.url}`,
  );
  try {
    for (;;) {
      await changed.until(() => {
        if (ended !== undefined) throw ended;
        return found;
      }, context.stop);
      found = undefined;
      const record = await retryStore(context, () => readJobRecord(store, keys));
      // Undefined: it was removed since (`run --fresh`).
      if (record === undefined) continue;
      context.identify?.({ job: record.job.name });
      return record;
    }
  } finally {
    quiet();
    cancel();
  }
}
