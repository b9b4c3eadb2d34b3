/** What the trainer reports to the master about a task that it has not finished. */
import { isPaddletError, type PaddletError } from '../../../base/errors.ts';
import { jobFields } from '../../../cluster/client/job-fields.ts';
import { interrupted } from '../../../cluster/waiting.ts';
import { isDataFault } from '../../../core/tasks/failure.ts';
import { failureTexts } from '../failure-texts.ts';
import { addressOf, type HeldTask } from './dealt-task.ts';
import type { TaskLoopOptions } from './loop-options.ts';

/** Throws what is not a failure of the task: a bug, and that the trainer is to end. */
export async function reportFailure(options: TaskLoopOptions, task: HeldTask, error: unknown): Promise<void> {
  const { stopSignal, context, master } = options;
  const { log } = context.host;
  if (!isPaddletError(error)) throw error;
  // The trainer ends: the error of the task no longer matters.
  if (stopSignal.aborted) throw interrupted();
  const which = `task ${task.dealt.task} of pass ${task.dealt.pass + 1}`;
  if (task.stopping.signal.aborted) {
    log.info(`${which}: dropped, because another attempt finished first or the master abandoned this attempt`);
    await master.tell(returned(options, task));
    return;
  }
  if (error.code === 'AttemptNotLive' || error.code === 'PassBefore') {
    log.info(`${which}: ${error.message}; dropped`);
    return;
  }
  log.error(`${which} failed: ${error.code}: ${error.message}`);
  await tellFailed(options, task, error);
}

async function tellFailed(options: TaskLoopOptions, task: HeldTask, error: PaddletError): Promise<void> {
  const { master, record, id, stopSignal } = options;
  const header = {
    type: 'failTask' as const,
    ...jobFields(record),
    trainer: id,
    ...addressOf(task.dealt),
    code: error.code,
    ...failureTexts(error),
    data: isDataFault(error.code),
    read: readOf(task),
  };
  try {
    (await master.request({ header }, { signal: stopSignal })).free();
  } catch (refused) {
    // The attempt has ended: the master does not need the report.
    if (!isPaddletError(refused, 'AttemptNotLive', 'PassBefore')) throw refused;
  }
}

/** It goes to another trainer. */
export function returned({ record, id }: TaskLoopOptions, task: HeldTask) {
  const address = addressOf(task.dealt);
  return {
    header: { type: 'returnTask' as const, ...jobFields(record), trainer: id, ...address, read: readOf(task) },
  };
}

/** Records of it that this trainer has trained on so far. */
const readOf = ({ progress }: HeldTask): number => progress?.read ?? 0;
