/** Follows the keys that end a role: the job's result, a request to stop the job, and the job itself. */
import * as z from 'zod';
import { isErrorCode, PaddletError } from '../../base/errors.ts';
import type { Cancel } from '../../base/seams.ts';
import { parseStoreValue } from '../../core/tasks/state.ts';
import { type Fence, fencedTxn } from '../../store/fence.ts';
import { follow } from '../../store/follow.ts';
import type { KeyValue } from '../../store/store.ts';
import type { RoleContext } from '../context.ts';
import { retryStore } from '../ownership.ts';
import { interrupted } from '../waiting.ts';
import type { JobRecord } from './job-record.ts';
import { type JobResult, jobResultSchema } from './job-result.ts';
import { followRecord } from './record-changes.ts';

const failureSchema = z.strictObject({
  failed: z.strictObject({ code: z.string(), message: z.string(), hint: z.string().optional(), by: z.string() }),
});

/** The value of `/result`. */
export type JobEnd = { readonly result: JobResult } | { readonly failure: PaddletError };

export function parseJobEnd(key: string, value: string): JobEnd {
  const parsed = parseStoreValue(z.union([failureSchema, jobResultSchema]), key, value);
  if (!('failed' in parsed)) return { result: parsed };
  const { code, message, hint } = parsed.failed;
  return {
    failure: new PaddletError(isErrorCode(code) ? code : 'JobFailed', message, hint === undefined ? {} : { hint }),
  };
}

export interface JobWatch {
  /**
   * Aborts when the job has ended, was asked to stop, or this process was; with the error as reason when the store
   * cannot be followed, or the job is no longer the one that was read (`JobChanged`).
   */
  readonly stopSignal: AbortSignal;
  /** The same without the stop of this process: aborts even after that, when it is about the job. */
  readonly jobSignal: AbortSignal;
  /** Resolves when it is known whether the job has ended; rejects when interrupted. */
  readonly known: Promise<void>;
  /** How the job ended, once it has. */
  end(): JobEnd | undefined;
  /** True when the whole job was asked to stop. */
  stopRequested(): boolean;
  cancel: Cancel;
}

/** The `modRevision` of `/stop`; 0n when the key is missing. */
export async function readStopRevision(context: RoleContext): Promise<bigint> {
  const entry = await retryStore(context, () => context.store.get(context.keys.stop));
  return entry?.modRevision ?? 0n;
}

export interface JobWatchOptions {
  /**
   * An old `/stop` does not stop a job that was started again: only one that is put after this revision, or without
   * that after the watch started.
   */
  readonly oldStop?: bigint;
  /** A result of up to this revision is that of a job which this process is to continue. */
  readonly oldResult?: bigint;
  /** The job as this process has read it, if it has. */
  readonly record?: JobRecord;
}

export function watchJob(context: RoleContext, { oldStop, oldResult = 0n, record }: JobWatchOptions = {}): JobWatch {
  const { keys } = context;
  let old = oldStop;
  const ofProcess = new AbortController();
  const ofJob = new AbortController();
  const stopSignal = AbortSignal.any([ofProcess.signal, ofJob.signal]);
  let end: JobEnd | undefined;
  let isStopRequested = false;
  const known = Promise.withResolvers<void>();
  // A caller that does not await it learns of the interruption elsewhere.
  known.promise.catch(() => {});
  stopSignal.addEventListener('abort', () => known.reject(interrupted()), { once: true });
  const onStop = (): void => ofProcess.abort();
  if (context.stop.aborted) onStop();
  context.stop.addEventListener('abort', onStop, { once: true });
  const onFatal = (error: Error): void => ofJob.abort(error);

  const observeResult = ({ key, value, modRevision }: KeyValue): void => {
    if (key !== keys.result || modRevision <= oldResult) return;
    end = parseJobEnd(key, value);
    ofJob.abort();
  };
  const observeStop = (entry: KeyValue | undefined): void => {
    if (entry === undefined || entry.key !== keys.stop || entry.modRevision <= old! || isStopRequested) return;
    isStopRequested = true;
    context.host.log.info('the job was asked to stop');
    ofJob.abort();
  };
  const cancels = [
    ...(record === undefined ? [] : [followRecord(context, record, { onChanged: onFatal, onEnd: onFatal })]),
    follow(
      context.store,
      keys.result,
      {
        onSnapshot: (entries) => {
          for (const entry of entries) observeResult(entry);
          known.resolve();
        },
        onEvents: (events) => {
          for (const event of events) {
            if (event.type === 'put') observeResult(event.entry);
          }
        },
        onEnd: onFatal,
      },
      context.host.clock,
    ),
    follow(
      context.store,
      keys.stop,
      {
        onSnapshot: (entries) => {
          const found = entries.find(({ key }) => key === keys.stop);
          old ??= found?.modRevision ?? 0n;
          observeStop(found);
        },
        onEvents: (events) => {
          for (const event of events) if (event.type === 'put') observeStop(event.entry);
        },
        onEnd: onFatal,
      },
      context.host.clock,
    ),
  ];
  return {
    known: known.promise,
    stopSignal,
    jobSignal: ofJob.signal,
    end: () => end,
    stopRequested: () => isStopRequested,
    cancel: () => {
      context.stop.removeEventListener('abort', onStop);
      for (const cancel of cancels) cancel();
    },
  };
}

/** Ends the job as failed for all roles; the first reason wins. */
export async function failJob(context: RoleContext, fence: Fence, by: string, error: PaddletError): Promise<void> {
  const failed = { code: error.code, message: error.message, ...(error.hint && { hint: error.hint }), by };
  await retryStore(context, () =>
    fencedTxn(context.store, fence, {
      if: [{ key: context.keys.result, createRevision: 0n }],
      then: [{ put: context.keys.result, value: JSON.stringify({ failed }) }],
    }),
  );
}
