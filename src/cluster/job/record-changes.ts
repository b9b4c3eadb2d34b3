/**
 * A role keeps the job as it read it. When that is no longer the job in the store, the role ends, to be started again:
 * one that waited would work in another job under an old record, or not at all.
 */
import * as z from 'zod';
import { PaddletError } from '../../base/errors.ts';
import type { Cancel } from '../../base/seams.ts';
import { parseStoreValue } from '../../core/tasks/state.ts';
import { follow } from '../../store/follow.ts';
import { followKey } from '../../store/follow-key.ts';
import type { KeyValue } from '../../store/store.ts';
import type { StoreContext } from '../context.ts';
import { retryStore } from '../ownership.ts';
import { type JobRecord, parsePasses } from './job-record.ts';

export interface RecordHandlers {
  /** Once: the record is no longer the job's. */
  onChanged(error: PaddletError): void;
  /** The store can no longer be followed. */
  onEnd(error: Error): void;
}

/** Follows the id of the job and its number of passes; the number of pservers is the placement's concern. */
export function followRecord(context: StoreContext, record: JobRecord, handlers: RecordHandlers): Cancel {
  const { store, keys, host } = context;
  let hasChanged = false;
  const judge = (error: PaddletError | undefined): void => {
    if (error === undefined || hasChanged) return;
    hasChanged = true;
    handlers.onChanged(error);
  };
  const cancelJob = follow(
    store,
    keys.job,
    {
      onSnapshot: (entries) =>
        judge(
          otherJob(
            record,
            entries.find(({ key }) => key === keys.job),
          ),
        ),
      onEvents: (events) => {
        for (const event of events) {
          if (event.type === 'put' && event.entry.key === keys.job) judge(otherJob(record, event.entry));
          if (event.type === 'delete' && event.key === keys.job) judge(otherJob(record, undefined));
        }
      },
      onEnd: handlers.onEnd,
    },
    host.clock,
  );
  const onValue = (entry: KeyValue | undefined): void => judge(entry && otherPasses(record, entry));
  const cancelPasses = followKey(store, keys.passesDesired, { onValue, onEnd: handlers.onEnd }, host.clock);
  return () => {
    cancelJob();
    cancelPasses();
  };
}

/**
 * For a pserver that has claimed its index, from which on none of this can change. Throws `JobChanged`.
 */
export async function checkRecord(context: StoreContext, record: JobRecord): Promise<void> {
  const { store, keys } = context;
  const gets = [keys.job, keys.passesDesired].map((get) => ({ get }));
  const { results } = await retryStore(context, () => store.txn({ if: [], then: gets }));
  const [job, passes] = results;
  const change = otherJob(record, job) ?? (passes && otherPasses(record, passes));
  if (change !== undefined) throw change;
}

/** Only the id, since another version may have published the job. */
const idSchema = z.object({ id: z.string() });

function otherJob(record: JobRecord, entry: KeyValue | undefined): PaddletError | undefined {
  if (entry === undefined) return changed(`job ${record.job.name} (${record.id}) was removed from the store`);
  const { id } = parseStoreValue(idSchema, entry.key, entry.value);
  return id === record.id ? undefined : changed(`job ${record.job.name} was started over: ${record.id} → ${id}`);
}

function otherPasses(record: JobRecord, entry: KeyValue): PaddletError | undefined {
  const { name, training } = record.job;
  const passes = parsePasses(entry);
  if (passes === training.passes) return undefined;
  return changed(`job ${name} now has ${passes} passes; it had ${training.passes} when this process started`);
}

const changed = (message: string): PaddletError =>
  new PaddletError('JobChanged', message, { hint: 'start this process again, so that it reads the changed job' });
