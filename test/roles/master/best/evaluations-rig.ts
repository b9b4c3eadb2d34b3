/** Masters of a job that is evaluated while it trains, one after the other, with training and models made up. */
import { PaddletError } from '../../../../src/base/errors.ts';
import type { KeptFile } from '../../../../src/checkpoint/registry/kept-key.ts';
import type { JobRecord } from '../../../../src/cluster/job/job-record.ts';
import type { Metrics } from '../../../../src/cluster/job/job-result.ts';
import type { EvaluationState, Reached, TrainingLength } from '../../../../src/core/evaluation-points.ts';
import type { EvaluationPoint } from '../../../../src/core/history.ts';
import type { Job } from '../../../../src/job/schema.ts';
import { type Evaluations, openEvaluations } from '../../../../src/roles/master/best/evaluations.ts';
import type { ModelKeeper } from '../../../../src/roles/master/best/model-keeper.ts';
import type { Trained, Training } from '../../../../src/roles/master/training.ts';
import type { MemoryStoreData } from '../../../../src/store/memory-store.ts';
import { aJob, recordOf } from '../../../cluster/job/stored-job.ts';
import type { FakeClock } from '../../../store/support.ts';
import { aStore, Master, settled } from '../tasks/service-rig.ts';

export type Rule = NonNullable<Job['evaluation']>;
export const RECORDS_A_PASS = 100;
export const ROUNDS_A_PASS = 10;

interface RigOptions {
  readonly passes?: number;
  readonly rule?: Partial<Rule>;
  readonly isSync?: boolean;
}

/** What outlives a master: the store, the kept models, and what has happened. */
export class Rig {
  readonly clock: FakeClock;
  readonly data: MemoryStoreData;
  readonly rule: Rule;
  readonly length: TrainingLength;
  readonly record: JobRecord;
  readonly events: string[] = [];
  readonly points: EvaluationPoint[] = [];
  readonly kept = new Map<string, readonly KeptFile[]>();
  /** Of the next tries to keep a model, one each. */
  readonly keepFailures: Error[] = [];
  #saves = 0;
  #scores = new Map<string, PromiseWithResolvers<Metrics>>();

  constructor({ passes = 5, rule, isSync = false }: RigOptions = {}) {
    const { clock, data } = aStore();
    this.clock = clock;
    this.data = data;
    const every = rule?.everyRounds === undefined ? { everyPasses: 1 } : {};
    this.rule = { ...every, data: [], labels: [], metric: 'logloss', minDelta: 0, ...rule };
    this.record = recordOf(aJob({ passes, mode: isSync ? 'sync' : 'async' }));
    const firstOf = (pass: number): number => pass * ROUNDS_A_PASS;
    const passesAt = (round: number): number => Math.floor(round / ROUNDS_A_PASS);
    this.length = { passes, ...(isSync ? { rounds: { firstOf, passesAt } } : {}) };
  }

  /** A master that takes over. */
  async open(): Promise<Life> {
    const master = new Master(this.clock, this.data);
    const life = new Life(this, master);
    await life.open();
    return life;
  }

  stored(): EvaluationState | undefined {
    const entry = this.data.get('/paddlet/test/evaluation');
    return entry && (JSON.parse(entry.value) as EvaluationState);
  }

  /** Ends the scoring that is on its way. */
  async scored(name: string, logloss: number): Promise<void> {
    this.#take(name).resolve({ records: 7, logloss });
    await settled();
  }

  async notScored(name: string, error: Error): Promise<void> {
    this.#take(name).reject(error);
    await settled();
  }

  #take(name: string): PromiseWithResolvers<Metrics> {
    const scoring = this.#scores.get(name);
    if (scoring === undefined) throw new Error(`${name} is not being scored`);
    this.#scores.delete(name);
    return scoring;
  }

  readonly keeper: ModelKeeper = {
    keep: async (name, files) => {
      const failure = this.keepFailures.shift();
      if (failure !== undefined) throw failure;
      this.kept.set(name, files);
      this.events.push(`keeps ${name}`);
    },
    names: async () => [...this.kept.keys()],
    remove: async (name) => {
      this.kept.delete(name);
      this.events.push(`removes ${name}`);
    },
    score: (name) => {
      this.events.push(`scores ${name}`);
      const scoring = Promise.withResolvers<Metrics>();
      this.#scores.set(name, scoring);
      return scoring.promise;
    },
    pathOf: (name) => `/kept/${name}`,
  };

  /** A save of the pservers: files of its own. */
  save(): KeptFile[] {
    this.#saves += 1;
    this.events.push('saves');
    return [{ index: 0, uuid: `save-${this.#saves}` }];
  }
}

/** One master. */
export class Life {
  readonly rig: Rig;
  readonly master: Master;
  evaluations!: Evaluations;
  /** Where training halts or has halted. */
  at!: Reached;
  readonly #overtaken = new AbortController();

  constructor(rig: Rig, master: Master) {
    this.rig = rig;
    this.master = master;
  }

  async open(): Promise<void> {
    const { rig, master } = this;
    const { context, fence, stopSignal, ends } = master;
    const { record, keeper, rule } = rig;
    const stop = { stopSignal: stopSignal.signal, onFatal: (error: unknown) => void ends.push(error) };
    this.evaluations = await openEvaluations({ context, record, fence, keeper, rule, ...stop });
    this.at = this.evaluations.point(rig.length);
  }

  /** What evaluations need of it. */
  get training(): Training {
    return { ...this.#training, length: this.rig.length } as unknown as Training;
  }

  readonly #training = {
    applied: async () => this.at.passes * RECORDS_A_PASS,
    goOn: (to: Reached) => {
      const { pending } = this.rig.stored() ?? {};
      this.rig.events.push(`goes on to ${shown(to)} with ${pending?.name ?? 'nothing'} stored`);
      this.at = to;
    },
    evaluated: async (point: EvaluationPoint) => void this.rig.points.push(point),
  };

  /** Training has come to where it halts. */
  halts(): Promise<Reached | undefined> {
    const trained = {
      at: this.at,
      save: async () => this.rig.save(),
      unchanged: { key: RECOVERY, modRevision: this.rig.data.get(RECOVERY)?.modRevision ?? 0n },
    } as unknown as Trained;
    return this.evaluations.halted(trained, this.training, this.#overtaken.signal);
  }

  /** Of the halt that is on its way. */
  overtake(): void {
    this.#overtaken.abort();
  }

  /** It dies: nothing of it reaches the store any more. */
  die(): void {
    this.master.troubled.isAway = true;
    this.master.stopSignal.abort();
  }
}

const RECOVERY = '/paddlet/test/recovery';

/** A pserver is restored. */
export const restore = ({ data }: Rig): void => void data.txn({ if: [], then: [{ put: RECOVERY, value: 'one more' }] });

export const shown = ({ passes, rounds }: Reached): string =>
  rounds === undefined ? `pass ${passes}` : `round ${rounds}`;

export const missing = (): PaddletError => new PaddletError('CheckpointMissing', 'a file is gone');
