/** Has the trainers evaluate the test file with the final model. A new master starts over: nothing of it is saved. */
import type { Metrics } from '../../cluster/job/job-result.ts';
import { inTurns, orAborted } from '../../cluster/waiting.ts';
import { evaluationTasks } from '../../core/tasks/address.ts';
import { createTaskQueue } from '../../core/tasks/queue.ts';
import { EvaluationResults } from './evaluation.ts';
import type { JobWork } from './job-work.ts';
import type { MasterState } from './state.ts';
import { queueConfig, taskFailure } from './tasks/open-service.ts';
import { createTaskService } from './tasks/service.ts';

/**
 * Undefined for a job without a test file. `restores`: see `Trained`. Throws `ModelNotFinite`, which is of the model
 * alone: what was trained can still be saved.
 */
export async function evaluate(work: JobWork, state: MasterState, restores: number): Promise<Metrics | undefined> {
  const { context, record, data, stopSignal, onFatal, model } = work;
  if (data.test === undefined) return undefined;
  work.info.enters('evaluating');
  const results = new EvaluationResults({
    task: model.task,
    tasks: data.test.tasks.length,
    topK: record.job.data.topK,
  });
  const ended = Promise.withResolvers<void>();
  const config = queueConfig(record, data.test, evaluationTasks(restores));
  const service = createTaskService({
    context,
    name: 'evaluation',
    queue: createTaskQueue({ ...config, passes: 1, maxDiscarded: 0 }, undefined, context.host.clock.monotonicMs()),
    pipeline: undefined,
    isHeld: work.lease.isHeld,
    onEnded: ended.resolve,
    onFailed: (discarded) => {
      const error = taskFailure(discarded, record);
      if (error.code === 'ModelNotFinite') ended.reject(error);
      else onFatal(error);
    },
    onDiscarded: () => {},
    onPassEnded: () => {},
  });
  service.tell({ type: 'roster', trainers: [...state.trainers.addresses.keys()] });
  state.evaluation = { service, dataset: data.test, results };
  state.changed.notify();
  await orAborted(ended.promise, stopSignal);
  return inTurns(context.host.clock, results.finish(), stopSignal);
}

/** Trainers that wait for a task of it are to ask again. */
export function endEvaluation(state: MasterState): void {
  state.evaluation?.service.release();
  state.evaluation?.service.close();
  state.evaluation = undefined;
  state.changed.notify();
}
