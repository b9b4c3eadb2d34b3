/** Logs what each pass that ends came to, from the sums that the pservers keep. */
import { passIn } from '../../../core/pass-metrics.ts';
import type { RoundPlan } from '../../../core/rounds/plan.ts';
import { ignoreAfter, type TrainingOptions } from '../training.ts';

export interface PassReport {
  /** Passes that have ended. */
  ended(): number;
  /** All pservers have this version. */
  observe(version: number): void;
}

/** The pass of a round; `passes` after the last. */
export const passAt = (plan: RoundPlan, round: number, passes: number): number => plan.placeOf(round)?.pass ?? passes;

export function createPassReport(options: TrainingOptions, plan: RoundPlan): PassReport {
  const { context, record, group, stopSignal, onFatal } = options;
  const { passes } = record.job.training;
  let ended: number | undefined;
  let reporting: Promise<void> = Promise.resolve();

  async function report(pass: number): Promise<void> {
    const ask = group.withPlacement('account', ({ pservers }) => group.ask(pservers[0]!, 'account', {}), stopSignal);
    const reply = await ask;
    reply.free();
    const sums = passIn(reply.header.rounds?.metrics ?? [], pass);
    const records = sums?.records;
    const loss = sums === undefined || sums.weight === 0 ? undefined : sums.loss / sums.weight;
    options.onPassEnded({ pass, loss, records, facts: records === undefined ? {} : { records } });
  }

  return {
    ended: () => ended ?? 0,
    observe(version) {
      const pass = passAt(plan, version, passes);
      if (ended === undefined) {
        if (version > 0) {
          context.host.log.info(`resuming in pass ${Math.min(pass + 1, passes)} of ${passes}`, { round: version });
        }
        ended = pass;
      }
      for (; ended < pass; ended++) {
        const one = ended;
        reporting = reporting.then(() => report(one));
      }
      reporting.catch(ignoreAfter(stopSignal, onFatal));
      options.onPassesEnded(ended);
    },
  };
}
