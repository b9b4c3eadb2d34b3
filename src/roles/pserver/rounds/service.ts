/**
 * Sync mode: loads the shards of this pserver, takes them, serves them and saves them. When the timeline rises,
 * process, index and shards stay, and the shards go back to the cut: their state is loaded again.
 */
import { isPaddletError, PaddletError } from '../../../base/errors.ts';
import { failPoint } from '../../../base/fail-points.ts';
import type { CheckpointFile } from '../../../checkpoint/file/write-durable-file.ts';
import type { Cut } from '../../../checkpoint/registry/cut.ts';
import type { ShardsInfo } from '../../../cluster/info.ts';
import { roundPlanOf } from '../../../cluster/job/job-plan.ts';
import { lossOf } from '../../../cluster/ownership.ts';
import type { CutView } from '../../../cluster/placement/cut-view.ts';
import type { UnitBytes } from '../../../cluster/placement/pserver-record.ts';
import { createSignal } from '../../../cluster/waiting.ts';
import { shardsOfUnits } from '../../../core/units/units.ts';
import { createParameters } from '../../../tensor/wasm-parameters.ts';
import { sweepOrphans } from '../files/sweep.ts';
import { OwnedHeads } from '../owned-heads.ts';
import type { Serving } from '../serving.ts';
import type { ShardService } from '../shard-service.ts';
import { OwnedShards } from '../shards.ts';
import { formerUnits, type OrphanHead, takeUnits } from '../take-units.ts';
import { type LoadRoundsOptions, loadAtStart, loadCut } from './load.ts';
import { type TimelineOptions, TimelineState } from './timeline.ts';

export type RoundServiceOptions = Omit<TimelineOptions, 'batches'>;

export async function startRoundService(options: RoundServiceOptions): Promise<ShardService> {
  const { context, record, spec, index, fence, folder, cuts, stopSignal, lease } = options;
  const { cluster, training } = record.job;
  const { shards } = cluster;
  const { units } = record;
  const { seed } = training;
  const me = { index, token: fence.token.toString() };
  const heads = await firstUnits(options);
  const loading: LoadRoundsOptions = {
    ...{ context, fence, index, folder, waitSignal: stopSignal, onWaiting: options.onWaiting },
    expected: { jobId: record.id, parameters: spec, seed, shards },
    warmStart: record.warmStart,
    shards: shardsOfUnits(
      heads.map(({ unit }) => unit),
      { shards, units },
    ),
    makeParameters: () => createParameters({ spec, seed, shards }),
  };
  const { cut } = await cuts.changed.until(() => cuts.current(), stopSignal);
  const loaded = await loadAtStart(loading, formerUnits(heads), cut);
  failPoint('pserver.rounds-loaded');
  const { rest } = loaded;
  const rests = new Map(rest === undefined ? [] : heads.map(({ unit }) => [unit, rest]));
  const { partedAt: partings } = loaded;
  const by = { context, fence, me, rests, partings, grouping: { shards, units }, signal: lease.lost };
  const taken = await takeUnits(by, heads);
  if (taken.length < heads.length) throw takenByOthers();
  await sweepOrphans(options, loaded.files);
  const ownedHeads = new OwnedHeads({ context, fence, signal: lease.lost }, taken);
  const owned = new OwnedShards({ spec, shards, units, tasks: record.train.tasks }, ownedHeads, loaded);
  context.host.log.info(`serving ${owned.numbers.length} shards as index ${index}`, { from: loaded.source });
  const whole = { ...options, batches: roundPlanOf(record) };
  return new RoundService(whole, loading, new TimelineState(whole, loaded, owned));
}

/** Those that are due first; in sync mode no others come while the process runs. */
async function firstUnits({ orphans, onWaiting, stopSignal }: RoundServiceOptions): Promise<OrphanHead[]> {
  for (;;) {
    const due = orphans.due();
    if (due.length > 0) return due;
    onWaiting('units of shards to take: others have all');
    await orphans.changed(stopSignal);
  }
}

/** The next life of this process finds what is left. */
const takenByOthers = (): PaddletError =>
  new PaddletError('LeaseGone', 'another pserver has taken units of shards that this one was to take');

class RoundService implements ShardService {
  readonly #options: TimelineOptions;
  readonly #loading: Omit<LoadRoundsOptions, 'shards'>;
  readonly #changed = createSignal();
  readonly #stopped = new AbortController();
  /** Ends a wait for files of the cut: there is no memory to be saved. */
  readonly #frozen = new AbortController();
  /** The current timeline, or the last one while the shards go back to a cut. */
  #state: TimelineState;
  #isGoingBack = false;
  #waitingFor: string | undefined;
  #last: Promise<CheckpointFile> | undefined;
  /** Why the shards cannot be served again. */
  #broken: { readonly error: unknown } | undefined;

  constructor(options: TimelineOptions, loading: LoadRoundsOptions, state: TimelineState) {
    this.#options = options;
    this.#loading = loading;
    this.#state = state;
    this.#followTimeline().catch((error: unknown) => {
      const isInterrupted = isPaddletError(error, 'Interrupted');
      if (this.#stopped.signal.aborted && isInterrupted) return;
      this.#broken = { error };
      this.#changed.notify();
      if (!this.#frozen.signal.aborted || !isInterrupted) options.onFatal(error);
    });
  }

  get serving(): Serving | undefined {
    return this.#current?.serving;
  }

  freeze(): void {
    this.#frozen.abort();
    this.#current?.freeze();
  }

  saveLast(): Promise<unknown> {
    this.#last ??= this.#settled()
      .then((state) => {
        state.snapshots.endRateLimit();
        return state.saveLast();
      })
      .catch((error: unknown) => {
        this.#last = undefined;
        throw error;
      });
    return this.#last;
  }

  async saveParting(): Promise<unknown> {
    const state = await this.#settled();
    await state.saved();
    return state.snapshots.saveParting();
  }

  async stopSaving(): Promise<void> {
    this.#stopped.abort();
    this.#current?.snapshots.abandon();
    await Promise.allSettled(this.#last === undefined ? [] : [this.#last]);
    await this.#current?.saved();
  }

  stats(): ReturnType<OwnedShards['stats']> {
    const { shards } = this.#state;
    const stats = shards.stats();
    return this.#isGoingBack ? { ...stats, rows: 0, bytes: 0, reservedBytes: 0 } : stats;
  }

  unitBytes(): UnitBytes[] {
    return this.#state.shards.unitBytes();
  }

  info(): ShardsInfo {
    const { index, lease } = this.#options;
    if (this.#isGoingBack) return { state: 'waiting', index, waitingFor: this.#waitingFor ?? 'the cut to be loaded' };
    const { shards } = this.#state;
    return {
      state: 'working',
      mode: 'sync',
      index,
      ...shards.stats(),
      placement: shards.stamp,
      held: lease.isHeld(),
      ...this.#state.info(),
    };
  }

  /** Undefined while the shards go back to a cut. */
  get #current(): TimelineState | undefined {
    return this.#isGoingBack ? undefined : this.#state;
  }

  /** Follows the timeline for as long as the shards are owned. */
  async #followTimeline(): Promise<never> {
    const { cuts, context } = this.#options;
    const { log } = context.host;
    for (;;) {
      const old = this.#state;
      const cut = await cuts.changed.until(() => cutAbove(cuts, old.timeline), this.#stopped.signal);
      log.warn(`timeline ${cut.timeline}: going back to round ${cut.round}`, { from: old.rounds.gates.version() });
      old.freeze();
      this.#isGoingBack = true;
      await old.saved();
      const loading: LoadRoundsOptions = {
        ...this.#loading,
        shards: old.shards.numbers,
        waitSignal: AbortSignal.any([this.#frozen.signal, this.#stopped.signal]),
        onWaiting: (what) => {
          this.#waitingFor = what;
        },
      };
      const loaded = await loadCut(loading, cut);
      const state = new TimelineState(this.#options, loaded, old.shards.inState(loaded));
      if (this.#frozen.signal.aborted) state.freeze();
      this.#state = state;
      this.#isGoingBack = false;
      log.info(`serving again from round ${state.rounds.gates.version()}`, { timeline: state.timeline });
      this.#changed.notify();
    }
  }

  /**
   * The state, once the shards are at a cut. Throws `LeaseGone` when the index is lost before, or what `#broken` says.
   */
  async #settled(): Promise<TimelineState> {
    const { lease } = this.#options;
    const look = (): TimelineState | undefined => {
      if (this.#broken !== undefined) throw this.#broken.error;
      return this.#current;
    };
    try {
      return this.#current ?? (await this.#changed.until(look, lease.lost));
    } catch (error) {
      throw lease.lost.aborted && isPaddletError(error, 'Interrupted') ? lossOf(lease) : error;
    }
  }
}

function cutAbove(cuts: CutView, timeline: number): Cut | undefined {
  const cut = cuts.current()?.cut;
  return cut !== undefined && cut.timeline > timeline ? cut : undefined;
}
