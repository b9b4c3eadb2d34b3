/**
 * Points of the history about tables with admission, eviction or a bound. The master asks the pservers when a pass has
 * ended, so the figures are of a moment shortly after.
 */
import { summedTables } from '../../protocol/messages/table-report.ts';
import { takeAccounts } from './result.ts';
import { ignoreAfter, type Training, type TrainingOptions } from './training.ts';

type Work = Pick<TrainingOptions, 'context' | 'record' | 'group' | 'stopSignal' | 'onFatal'>;

export class TableSamples {
  readonly #work: Work;
  readonly #training: () => Training | undefined;
  /** Passes that had ended when the pservers were last asked. */
  #asked = 0;
  /** The sample in work. */
  #current: Promise<void> | undefined;

  constructor(work: Work, training: () => Training | undefined) {
    this.#work = work;
    this.#training = training;
  }

  /** The last pass has no sample: the result has the figures of the end. */
  passesEnded(passes: number): void {
    const { record, stopSignal, onFatal } = this.#work;
    const { tables, training } = record.job;
    const hasRules = Object.values(tables).some(
      ({ admission, eviction, maxBytes }) => (admission ?? eviction ?? maxBytes) !== undefined,
    );
    if (!hasRules || this.#current !== undefined || passes <= this.#asked || passes >= training.passes) return;
    this.#asked = passes;
    this.#current = this.#sample(passes)
      .catch(ignoreAfter(stopSignal, onFatal))
      .finally(() => {
        this.#current = undefined;
      });
  }

  /** Resolves when no sample is in work. The result is published with the history: nothing may be saved after it. */
  async settled(): Promise<void> {
    await this.#current;
  }

  async #sample(passes: number): Promise<void> {
    const { context, group, stopSignal } = this.#work;
    const accounts = await takeAccounts(group, stopSignal);
    const training = this.#training();
    // The figures would be those of a later pass.
    if (training?.passesEnded() !== passes) return;
    // A master before this one has taken the sample. The figures of now would be those of the middle of a pass.
    if (training.history().tables?.some((point) => point.passes === passes) === true) return;
    const tables = summedTables(accounts.map((account) => account.tables ?? []));
    if (tables.length === 0) return;
    await training.sampled({ timeMs: Math.round(1000 * context.host.clock.wallSeconds()), passes, tables });
  }
}
