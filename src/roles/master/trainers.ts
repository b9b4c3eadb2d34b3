/** The live trainers, as `/trainer/` shows them, and what each last reported. */
import type { Cancel } from '../../base/seams.ts';
import type { RoleContext } from '../../cluster/context.ts';
import type { ActivityInfo } from '../../cluster/info.ts';
import { follow } from '../../store/follow.ts';

export interface LiveTrainers {
  readonly addresses: ReadonlyMap<string, string>;
  readonly reports: ReadonlyMap<string, ActivityInfo>;
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

export function followTrainers(context: RoleContext, handlers: TrainerHandlers): LiveTrainers {
  const { keys } = context;
  const addresses = new Map<string, string>();
  const reports = new Map<string, ActivityInfo>();
  const idOf = (key: string): string => key.slice(keys.trainersPrefix.length);
  const cancel = follow(
    context.store,
    keys.trainersPrefix,
    {
      onSnapshot: (entries) => {
        const before = [...addresses.keys()];
        addresses.clear();
        for (const entry of entries) addresses.set(idOf(entry.key), entry.value);
        for (const id of before) if (!addresses.has(id)) left(id);
        handlers.onRoster([...addresses.keys()]);
      },
      onEvents: (events) => {
        for (const event of events) {
          const id = idOf(event.type === 'put' ? event.entry.key : event.key);
          if (event.type === 'put') {
            addresses.set(id, event.entry.value);
            context.host.log.info(`trainer ${id} at ${event.entry.value} joined`);
            handlers.onJoined(id);
          } else left(id);
        }
      },
      onEnd: handlers.onFatal,
    },
    context.host.clock,
  );
  function left(id: string): void {
    addresses.delete(id);
    reports.delete(id);
    context.host.log.info(`trainer ${id} left or died`);
    handlers.onGone(id);
  }
  return {
    addresses,
    reports,
    heard: (trainer, report) => {
      reports.set(trainer, report);
    },
    cancel,
  };
}
