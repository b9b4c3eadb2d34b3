/** Async mode: the service that takes units of shards, serves them and saves them. */
import type { Cancel } from '../../../../base/seams.ts';
import type { CheckpointFile } from '../../../../checkpoint/file/write-durable-file.ts';
import { jobFields } from '../../../../cluster/client/job-fields.ts';
import { lookRulesOf } from '../../../../cluster/job/look-rules.ts';
import type { UnitBytes } from '../../../../cluster/placement/pserver-record.ts';
import type { RecoveryView } from '../../../../cluster/placement/recovery.ts';
import { rateShareAt } from '../../../../core/shard/schedule.ts';
import type { TableReport } from '../../../../protocol/messages/table-report.ts';
import { createParameters } from '../../../../tensor/wasm-parameters.ts';
import type { ShardsInfo } from '../../../../view/info.ts';
import { failWholeJob } from '../../fail-job.ts';
import { type Checkpointing, createCheckpointing } from '../../files/checkpointing.ts';
import { beforeUpdates } from '../../files/first-update.ts';
import { type SaveKind, Snapshots } from '../../files/snapshots.ts';
import { sweepOrphans } from '../../files/sweep.ts';
import { OwnedHeads } from '../../held/owned-heads.ts';
import { OwnedShards, type OwnedStats } from '../../held/owned-shards.ts';
import { NO_POSITIONS } from '../../held/positions.ts';
import { copiesOf, createReplicas } from '../../replicas/create-replicas.ts';
import type { PserverReplicas } from '../../replicas/pserver-replicas.ts';
import { untilOthersSaved } from '../../replicas/unsaved-copies.ts';
import { createServing, type Serving, servedJob } from '../../serving.ts';
import type { ShardService, ShardServiceOptions } from '../../shard-service.ts';
import { connectMove } from '../../transfer/move-connection.ts';
import { PserverMoves } from '../../transfer/moves.ts';
import type { Staleness } from './staleness.ts';
import { UnitTaker } from './unit-taker.ts';

export interface TaskServiceOptions extends ShardServiceOptions {
  readonly recoveries: RecoveryView;
}

/** Takes the units that are due and then starts to serve. More units may come later. */
export async function startTaskService(options: TaskServiceOptions): Promise<ShardService> {
  const { context, record, spec, fence, lease, orphans } = options;
  const { shards } = record.job.cluster;
  const { seed, pushEvery, pullEvery } = record.job.training;
  const { units } = record;
  const areCopied = record.job.cluster.replicas > 1;
  const heads = new OwnedHeads({ context, fence, signal: lease.lost, areCopied }, []);
  const recallsPulls = pushEvery === 1 && pullEvery === 1;
  const parameters = createParameters({ spec, seed, shards, recallsPulls });
  const job = { spec, shards, units, tasks: record.train.tasks, looks: lookRulesOf(record.job, spec) };
  const owned = new OwnedShards(job, heads, { parameters, ...NO_POSITIONS });
  const taker = new UnitTaker({ ...options, shards: owned, orphans });
  await taker.takeDue();
  await sweepOrphans(options, taker.taken.files);
  return new TaskService(options, owned, taker);
}

class TaskService implements ShardService {
  readonly serving: Serving;
  readonly #options: TaskServiceOptions;
  readonly #shards: OwnedShards;
  readonly #taker: UnitTaker;
  readonly #snapshots: Snapshots;
  readonly #checkpointing: Checkpointing;
  readonly #moves: PserverMoves;
  /** Undefined if each unit has only one copy. */
  readonly #replicas: PserverReplicas | undefined;
  /** Highest recovery number seen with a moved unit or with the heads of copied units; 0 before the first. */
  #movedRecovery = 0;
  /** Length of `taken.warm` at the last look, to notice units that came by the warm start. */
  #warmTables: number;
  /** Recovery number under which the last checkpoint of the job is taken; undefined before it and after `#resume`. */
  #concludedUnder: number | undefined;
  #endFollowing: Cancel = () => {};
  /** True after `freeze`: this process is about to end. */
  #isLeaving = false;

  constructor(options: TaskServiceOptions, shards: OwnedShards, taker: UnitTaker) {
    this.#options = options;
    this.#shards = shards;
    this.#taker = taker;
    this.#warmTables = taker.taken.warm.length;
    const { context, record, spec, lease, metrics, onFatal } = options;
    const isFrozen = (): boolean => this.#concludedUnder !== undefined || this.#isLeaving;
    const { training, cluster, checkpoint } = record.job;
    const recovery = (): number => this.#recovery();
    this.#snapshots = new Snapshots({ ...options, shards, recovery, isFolderKnown: taker.taken.files.length > 0 });
    this.#checkpointing = createCheckpointing({
      ...context.host,
      when: checkpoint,
      snapshots: this.#snapshots,
      start: this.#progress(),
      // After this save, the job no longer needs the files of the other job.
      savesAtOnce: taker.taken.warm.length > 0,
      isEmpty: () => shards.numbers.length === 0,
      onFatal,
    });
    if (cluster.replicas > 1) this.#replicas = this.#createReplicas();
    this.#moves = this.#startMoves(isFrozen);
    this.#replicas?.start();
    this.serving = createServing({
      ...{ host: context.host, job: servedJob(record, spec), shards, metrics, recovery },
      checkMaster: options.master.check,
      onContradiction: (error) => failWholeJob(options, error),
      staleness: { rule: training.staleness, patienceMs: cluster.leaseTtlMs },
      rateShare: () => rateShareAt(training.schedule, shards.ledgers.passesDone(record.train.records)),
      isHeld: () => lease.isHeld(),
      isFrozen,
      beforeUpdate: beforeUpdates({ heads: shards.heads, isFrozen, onFatal }),
      checkpoint: (kind) => this.#checkpoint(kind),
      rounds: undefined,
      moves: this.#moves,
      ...(this.#replicas === undefined ? {} : { replicas: this.#replicas }),
      onApplied: () => {
        const { passes, batches } = this.#progress();
        this.#checkpointing.progressed(passes, batches);
      },
    });
    this.#followRecoveries();
    taker.start(
      () => this.#gained(),
      (unit) => this.#moves.isComing(unit),
      this.#replicas,
    );
  }

  #createReplicas(): PserverReplicas {
    return createReplicas({
      ...{ ...this.#options, owned: this.#shards, onRecovery: (number) => this.#noteRecovery(number) },
      withoutSaves: () => this.#checkpointing.hold(),
      onLed: () => this.#gained(),
      onChanged: () => {
        this.#moves.recheck();
        this.#taker.recheck();
      },
      onCopyEnded: (copy, outcome) => this.#moves.copyEnded(copy, outcome),
    });
  }

  #startMoves(isFrozen: () => boolean): PserverMoves {
    const { context, record, index, fence, onFatal } = this.#options;
    const { cluster } = record.job;
    const job = jobFields(record);
    const replicas = this.#replicas;
    return new PserverMoves({
      ...{ ...this.#options, owned: this.#shards, isFrozen, leaseTtlMs: cluster.leaseTtlMs },
      me: { index, token: fence.token.toString() },
      connect: ({ target: { token, ...target }, ...link }) =>
        connectMove({ context, job, target: { ...target, token: token.toString() }, ...link, onFatal }),
      withoutSaves: () => this.#checkpointing.hold(),
      isTaking: (unit) => this.#taker.isTaking(unit),
      onGained: () => this.#gained(),
      onGivenUp: () => this.#taker.recheck(),
      onRecovery: (number) => this.#noteRecovery(number),
      ...(replicas === undefined ? {} : copiesOf(replicas, cluster.replicas)),
    });
  }

  #noteRecovery(number: number): void {
    this.#movedRecovery = Math.max(this.#movedRecovery, number);
    this.#resumeIfRestored();
  }

  #followRecoveries(): void {
    this.#endFollowing = this.#options.recoveries.changed.onNext(() => {
      this.#followRecoveries();
      this.#resumeIfRestored();
    });
  }

  /**
   * If a pserver was restored after the last checkpoint, trainers replay its lost updates. Then the master has another
   * last checkpoint taken.
   */
  #resumeIfRestored(): void {
    if (this.#concludedUnder !== undefined && this.#recovery() > this.#concludedUnder) this.#resume();
  }

  #resume(): void {
    this.#concludedUnder = undefined;
    this.#checkpointing.resume();
    this.#moves.recheck();
  }

  /**
   * A leaving pserver takes no units. It finishes or gives up its current attempts before it reports that it has left.
   */
  async leave(signal: AbortSignal): Promise<boolean> {
    const holding = this.#taker.hold();
    let hasLeft = false;
    try {
      await holding;
      hasLeft = await this.#moves.leave(signal);
    } finally {
      if (!hasLeft) this.#taker.release();
    }
    return hasLeft;
  }

  freeze(): void {
    this.serving.staleness.close();
    this.#isLeaving = true;
  }

  /**
   * Writes the file first and then names it in the heads as the last state, so a failed save leaves the heads
   * unchanged.
   */
  async saveLast(patienceMs: number): Promise<void> {
    const { context, lease } = this.#options;
    const { clock, log } = context.host;
    const patience = { clock, log, untilMs: clock.monotonicMs() + patienceMs, signal: lease.lost };
    await this.#moves.stop();
    await this.#taker.stop();
    for (;;) {
      if (this.#replicas !== undefined) await this.#replicas.quiet();
      if (this.#shards.numbers.length > 0) await this.#saveLast();
      if (this.#replicas === undefined) return;
      // While the file was being written, another pserver may have died, and this one may now lead its units.
      const isComplete = this.#shards.heads
        .units()
        .every((unit) => this.#shards.heads.of(unit)?.head.rest !== undefined);
      if (isComplete) await untilOthersSaved(this.#replicas, patience);
      if (isComplete && !this.#replicas.isTakingOver()) break;
      this.#checkpointing.resume();
    }
    this.#replicas.close();
  }

  async #saveLast(): Promise<CheckpointFile> {
    const file = await this.#checkpointing.last();
    const saved = new Set(file.positions.map(({ shard }) => shard));
    // A unit that arrived while the file was being written is not in it.
    const units = this.#shards.heads
      .units()
      .filter((unit) => this.#shards.shardsOf(unit).every((one) => saved.has(one)));
    await this.#shards.heads.rest({ index: this.#options.index, uuid: file.uuid }, units);
    return file;
  }

  /**
   * The last checkpoint does not contain units that came after it, and such units may need repair. So updates are
   * accepted again, and another last checkpoint follows. A leaving pserver still receives a unit if the head already
   * names this pserver.
   */
  #gained(): void {
    if (this.#taker.taken.warm.length > this.#warmTables)
      this.#checkpointing.saveAtOnce('units came by the warm start');
    this.#warmTables = this.#taker.taken.warm.length;
    if (this.#concludedUnder !== undefined) this.#resume();
  }

  async saveParting(): Promise<void> {
    const last = (await this.#replicas?.lastCopies.complete()) ?? [];
    const copies = new Map(last.flatMap(({ moments }) => moments.map((moment) => [moment.shard, moment])));
    const shards = [...this.#shards.numbers, ...copies.keys()].sort((a, b) => a - b);
    if (shards.length > 0) await this.#snapshots.saveParting([{ shards, copies }]);
  }

  async stopSaving(): Promise<void> {
    this.#endFollowing();
    this.#moves.close();
    this.#replicas?.close();
    await this.#taker.stop();
    await this.#checkpointing.stop();
  }

  stats(): OwnedStats {
    return this.#shards.stats();
  }

  tables(): TableReport[] {
    return this.#shards.tables();
  }

  unitBytes(): UnitBytes[] {
    return this.#shards.unitBytes();
  }

  info(): ShardsInfo {
    const { index, lease, metrics } = this.#options;
    const shards = this.#shards;
    const { warm } = this.#taker.taken;
    return {
      state: 'working',
      mode: 'async',
      index,
      ...shards.stats(),
      ...shards.reportedTables(),
      placement: shards.stamp,
      updates: shards.version,
      recovery: this.#recovery(),
      repairing: shards.ledgers.groups() > 1,
      held: lease.isHeld(),
      account: shards.ledgers.account(),
      rateShare: this.serving.rateShare(),
      duplicatePushes: metrics.duplicatePushes(),
      spentMs: metrics.spentMs(),
      staleness: shownStaleness(this.serving.staleness),
      ...(warm.length === 0 ? {} : { warmStart: warm }),
    };
  }

  #recovery(): number {
    const { recoveries } = this.#options;
    return Math.max(this.#taker.taken.raised, this.#movedRecovery, recoveries.current()?.number ?? 0);
  }

  #progress(): { readonly passes: number; readonly batches: number } {
    const shards = this.#shards;
    return {
      passes: shards.ledgers.watermark(),
      batches: shards.version * this.#options.record.job.training.pushEvery,
    };
  }

  #checkpoint(kind: SaveKind): Promise<CheckpointFile | undefined> {
    if (kind !== 'last') return this.#checkpointing.request(kind);
    this.#concludedUnder = this.#recovery();
    this.#moves.keepAll('the last checkpoint is being taken');
    return this.#replicas === undefined ? this.#saveLast() : this.#replicas.quiet().then(() => this.#saveLast());
  }
}

function shownStaleness(staleness: Pick<Staleness, 'counts' | 'heldUp'>) {
  const { counted, sum, max, refused } = staleness.counts();
  const heldUp = staleness.heldUp();
  const mean = counted === 0 ? 0 : Math.round((100 * sum) / counted) / 100;
  return { mean, max, refused, ...(heldUp === undefined ? {} : { heldUp }) };
}
