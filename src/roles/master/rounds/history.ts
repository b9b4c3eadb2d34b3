/**
 * Sync mode: points of the curves, as the pservers have them. They are a function of the job, so it does not matter
 * which master asks for them, or when.
 */
import {
  type EvaluationPoint,
  type History,
  historyText,
  withEvaluation,
  withRounds,
  withTables,
} from '../../../core/history.ts';
import { ROUNDS_SAMPLED } from '../../../core/pass-metrics.ts';
import type { RoundPlan } from '../../../core/rounds/plan.ts';
import { spacingOf } from '../../../core/spacing.ts';
import type { TablesPoint } from '../../../core/table-history.ts';
import { createSavePipeline } from '../tasks/save-pipeline.ts';
import { ignoreAfter, type TrainingOptions } from '../training.ts';
import { passAt } from './pass-report.ts';

export interface RoundHistory {
  /** The history as it is saved. */
  current(): History;
  /** All pservers have this version. */
  observe(version: number): void;
  /** Takes what there is, and saves it. */
  take(): Promise<void>;
  /** Adds an evaluation, and saves it. */
  evaluated(point: EvaluationPoint): Promise<void>;
  /** Adds figures of tables, and saves them. Two runs of the same job may have different figures. */
  sampled(point: TablesPoint): Promise<void>;
}

export function createRoundHistory(options: TrainingOptions, plan: RoundPlan, saved: History): RoundHistory {
  const { context, record, group, stopSignal, onFatal } = options;
  const { passes } = record.job.training;
  const pipeline = createSavePipeline(options);
  let history = saved;
  /** Round of the newest point, and passes that had ended, when the pservers were last asked. */
  let asked = { round: saved.train.at(-1)?.round ?? 0, ended: (saved.passes.at(-1)?.pass ?? -1) + 1 };
  let turn: Promise<void> = Promise.resolve();
  let isTaking = false;

  async function take(): Promise<void> {
    const ask = group.withPlacement('account', ({ pservers }) => group.ask(pservers[0]!, 'account', {}), stopSignal);
    const reply = await ask;
    reply.free();
    const metrics = reply.header.rounds?.metrics ?? [];
    const timeMs = Math.round(1000 * context.host.clock.wallSeconds());
    // They may be behind what was observed: pservers go back to a cut when one of them is lost.
    const next = withRounds(history, metrics, { timeMs, passAt: (version) => passAt(plan, version, passes) });
    if (next !== history) await save(next);
  }

  async function save(next: History): Promise<void> {
    await new Promise<void>((resolve) => {
      pipeline.save([{ kind: 'history', text: historyText(next) }], [resolve]);
    });
    history = next;
  }

  /** One at a time. */
  function inTurn(act: () => Promise<void>): Promise<void> {
    isTaking = true;
    const mine = turn.then(act);
    turn = mine;
    return mine.finally(() => {
      isTaking = turn !== mine;
    });
  }

  return {
    current: () => history,
    observe(version) {
      const round = version - (version % spacingOf(version, ROUNDS_SAMPLED));
      const ended = passAt(plan, version, passes);
      if (isTaking || (round <= asked.round && ended <= asked.ended)) return;
      asked = { round, ended };
      inTurn(take).catch(ignoreAfter(stopSignal, onFatal));
    },
    take: () => inTurn(take),
    evaluated: (point) => inTurn(() => save(withEvaluation(history, point))),
    sampled: (point) => inTurn(() => save(withTables(history, point))),
  };
}
