/** The live trainers, as `/trainer/` shows them, and what each last reported. */
import { isPaddletError } from '../../base/errors.ts';
import type { Cancel } from '../../base/seams.ts';
import type { RoleContext } from '../../cluster/context.ts';
import type { JobRecord } from '../../cluster/job/job-record.ts';
import { parseTrainerEntry } from '../../cluster/trainer-entry.ts';
import { follow } from '../../store/follow.ts';
import type { KeyValue } from '../../store/store.ts';
import type { ActivityInfo } from '../../view/info.ts';

export interface LiveTrainers {
  readonly addresses: ReadonlyMap<string, string>;
  readonly reports: ReadonlyMap<string, ActivityInfo>;
  /** Since when no live trainer has reported more records than before. */
  quietMs(): number;
  /** Kept for a live trainer only. */
  heard(trainer: string, report: ActivityInfo): void;
  readonly cancel: Cancel;
}

export interface TrainerHandlers {
  /** All live trainers, at first and after watching was interrupted. */
  onRoster(trainers: readonly string[]): void;
  onJoined(trainer: string): void;
  onGone(trainer: string): void;
  onFatal(error: Error): void;
}

export function followTrainers(
  context: RoleContext,
  record: Pick<JobRecord, 'id'>,
  handlers: TrainerHandlers,
): LiveTrainers {
  const { keys, host } = context;
  const addresses = new Map<string, string>();
  const reports = new Map<string, ActivityInfo>();
  let movedMs = host.clock.monotonicMs();
  const idOf = (key: string): string => key.slice(keys.trainersPrefix.length);
  const cancel = follow(
    context.store,
    keys.trainersPrefix,
    {
      onSnapshot: (entries) => {
        const before = [...addresses.keys()];
        addresses.clear();
        for (const entry of entries) {
          const address = addressOf(entry);
          if (address !== undefined) addresses.set(idOf(entry.key), address);
        }
        for (const id of before) if (!addresses.has(id)) left(id);
        handlers.onRoster([...addresses.keys()]);
      },
      onEvents: (events) => {
        for (const event of events) {
          const id = idOf(event.type === 'put' ? event.entry.key : event.key);
          const address = event.type === 'put' ? addressOf(event.entry) : undefined;
          if (address === undefined) {
            if (addresses.has(id)) left(id);
            continue;
          }
          addresses.set(id, address);
          host.log.info(`trainer ${id} at ${address} joined`);
          handlers.onJoined(id);
        }
      },
      onEnd: handlers.onFatal,
    },
    host.clock,
  );
  /** Undefined for one of another job, which gets no task and takes no place, and for what cannot be read. */
  function addressOf(entry: KeyValue): string | undefined {
    try {
      const { address, job } = parseTrainerEntry(entry);
      if (job === record.id) return address;
      host.log.warn(`trainer ${idOf(entry.key)} at ${address} belongs to another job (${job}): not counted`);
    } catch (error) {
      if (!isPaddletError(error, 'StoreValueInvalid')) throw error;
      host.log.warn(`${error.message}: this trainer is not counted`);
    }
    return undefined;
  }
  function left(id: string): void {
    addresses.delete(id);
    reports.delete(id);
    host.log.info(`trainer ${id} left or died`);
    handlers.onGone(id);
  }
  return {
    addresses,
    reports,
    quietMs: () => host.clock.monotonicMs() - movedMs,
    heard: (trainer, report) => {
      // Ignores other names: nothing would show that such a trainer has left.
      if (!addresses.has(trainer)) return;
      if (report.records > (reports.get(trainer)?.records ?? 0)) movedMs = host.clock.monotonicMs();
      reports.set(trainer, report);
    },
    cancel,
  };
}
