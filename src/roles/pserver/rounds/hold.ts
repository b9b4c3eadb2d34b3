/**
 * Sync mode: what a pserver holds once its shards are taken, and how it goes back to the cut when the timeline rises: the
 * process, its index and its shards stay, the parameters are loaded anew.
 */
import { isPaddletError, type PaddletError } from '../../../base/errors.ts';
import { failPoint } from '../../../base/fail-points.ts';
import type { CheckpointFile, ShardMoment } from '../../../checkpoint/file/capture.ts';
import { type Cut, filesOfCut } from '../../../checkpoint/registry/cut.ts';
import type { Generation } from '../../../checkpoint/registry/entry.ts';
import { failJob } from '../../../cluster/job/job-watch.ts';
import { lossOf } from '../../../cluster/ownership.ts';
import type { CutView } from '../../../cluster/placement/cut-view.ts';
import { createSignal } from '../../../cluster/waiting.ts';
import { createRoundGate } from '../../../core/rounds/gate.ts';
import { createShardLedgers } from '../../../core/shard/ledgers.ts';
import { blockShards } from '../../../tensor/blocks.ts';
import { createIdRouter } from '../../../tensor/id-router.ts';
import { createParameters } from '../../../tensor/wasm-parameters.ts';
import { createSnapshots, type Snapshots } from '../files/snapshots.ts';
import { formerOwners, readPlannedHeads, type TakenShards, takeShards } from '../own-shards.ts';
import { createScanner } from '../scan.ts';
import type { Serving } from '../serve.ts';
import { type Holding, type HoldOptions, opener, sweep } from '../tasks/hold.ts';
import { createStaleness } from '../tasks/staleness.ts';
import { type LoadedRounds, type LoadRoundsOptions, loadAtStart, loadCut } from './load.ts';
import { createRounds, type Rounds } from './rounds.ts';

export interface HoldRoundsOptions extends Omit<HoldOptions, 'recoveries'> {
  readonly cuts: CutView;
  /** The job is over, the index is lost, or the cut cannot be followed. */
  readonly over: AbortSignal;
}

/** One timeline's worth of it. */
interface Stand {
  readonly timeline: number;
  readonly serving: Serving;
  readonly rounds: Rounds;
  readonly snapshots: Snapshots;
  /** Saves one after the other. */
  readonly save: (clean: boolean) => Promise<CheckpointFile>;
  /** Resolves when no save is under way. */
  readonly saved: () => Promise<void>;
  readonly freeze: () => void;
}

export async function holdRounds(options: HoldRoundsOptions): Promise<Holding> {
  const { context, record, spec, index, fence, cuts, onEnd } = options;
  const { cluster, training, optimizer } = record.job;
  const { shards, pservers } = cluster;
  const me = { index, token: fence.token.toString() };
  const heads = await readPlannedHeads(context, { index, pservers, shards });
  const held = heads.map(({ shard }) => shard);
  const loading: LoadRoundsOptions = {
    context,
    fence,
    index,
    folder: options.folder,
    expected: { jobId: record.id, parameters: spec, optimizer, seed: training.seed, shards },
    warmStart: record.warmStart,
    shards: held,
    makeParameters: () => createParameters({ spec, optimizer, seed: training.seed, shards }),
  };
  const seen = await cuts.changed.until(() => cuts.current(), options.over);
  const loaded = await loadAtStart(loading, formerOwners(heads, me), seen.cut);
  failPoint('pserver.rounds-loaded');
  const taken = await takeShards(context, fence, me, heads);
  await sweep(options, loaded.files);
  context.host.log.info(`serving ${held.length} shards as index ${index}`, { from: loaded.source });

  const changed = createSignal();
  const released = new AbortController();
  let frozen = false;
  let stand: Stand | undefined = makeStand(options, { loaded, taken, held });
  let last: Promise<CheckpointFile> | undefined;
  /** Why the shards will not stand again. */
  let broken: { readonly error: unknown } | undefined;

  /** Follows the timeline for as long as the shards are held. */
  async function followTimeline(): Promise<never> {
    for (;;) {
      const before = stand!.timeline;
      const cut = await cuts.changed.until(() => risen(cuts, before), released.signal);
      context.host.log.warn(`timeline ${cut.timeline}: back to round ${cut.round}`, {
        from: stand!.rounds.gate.version(),
      });
      const old = stand!;
      old.freeze();
      stand = undefined;
      await old.saved();
      stand = makeStand(options, { loaded: await loadCut(loading, cut), taken, held });
      if (frozen) stand.freeze();
      context.host.log.info(`serving again from round ${stand.rounds.gate.version()}`, { timeline: stand.timeline });
      changed.notify();
    }
  }
  followTimeline().catch((error: unknown) => {
    if (released.signal.aborted && isPaddletError(error, 'Interrupted')) return;
    broken = { error };
    changed.notify();
    onEnd(error);
  });

  /** The shards as they stand, once they do. `LeaseGone` when the index is lost before; the error that keeps them from it. */
  async function standing(): Promise<Stand> {
    const { lease } = options;
    const look = (): Stand | undefined => {
      if (broken !== undefined) throw broken.error;
      return stand;
    };
    try {
      return stand ?? (await changed.until(look, lease.lost));
    } catch (error) {
      throw lease.lost.aborted && isPaddletError(error, 'Interrupted') ? lossOf(lease) : error;
    }
  }
  return {
    get serving() {
      return stand?.serving;
    },
    snapshots: {
      async part() {
        const now = await standing();
        await now.saved();
        return now.snapshots.part();
      },
    },
    checkpointing: {
      last() {
        last ??= standing()
          .then((now) => {
            now.snapshots.hurry();
            return now.save(true);
          })
          .catch((error: unknown) => {
            last = undefined;
            throw error;
          });
        return last;
      },
      async stop() {
        released.abort();
        stand?.snapshots.end();
        await Promise.allSettled(last === undefined ? [] : [last]);
        await stand?.saved();
      },
    },
    freeze() {
      frozen = true;
      stand?.freeze();
    },
    stats: () => ({ rows: 0, bytes: 0, reservedBytes: 0, ...stand?.serving.parameters.stats(), shards: held.length }),
    info: () => ({
      index,
      ...stand?.serving.parameters.stats(),
      shards: held.length,
      placement: taken.stamp,
      held: options.lease.isHeld(),
      ...(stand === undefined ? { waitingFor: 'the cut to be loaded' } : infoOf(stand)),
    }),
  };
}

const risen = (cuts: CutView, above: number): Cut | undefined => {
  const now = cuts.current()?.cut;
  return now !== undefined && now.timeline > above ? now : undefined;
};

function infoOf({ rounds, serving, timeline }: Stand): Record<string, unknown> {
  const { gate } = rounds;
  return {
    timeline,
    round: gate.version(),
    missing: gate.missing(),
    account: serving.ledger.account(),
    duplicatePushes: serving.metrics.duplicatePushes(),
  };
}

interface Parts {
  readonly loaded: LoadedRounds;
  readonly taken: TakenShards;
  readonly held: readonly number[];
}

function makeStand(options: HoldRoundsOptions, { loaded, taken, held }: Parts): Stand {
  const { context, record, spec, lease, metrics, cuts } = options;
  const { training, cluster } = record.job;
  const { parameters, timeline } = loaded;
  const { lanes } = training;
  const ledger = createShardLedgers(record.train.tasks, held, loaded.ledgers);
  const gate = createRoundGate({ timeline, version: loaded.rounds.round, lanes });
  let frozen = false;
  const momentOf = (shard: number): ShardMoment => {
    return { shard, epoch: taken.epochs.get(shard) ?? 0, seq: gate.version(), ledger: ledger.encode(shard) };
  };
  const snapshots = createSnapshots({
    ...options,
    parameters,
    momentOf,
    recovery: () => 0,
    sync: {
      timeline,
      rounds: () => ({ round: gate.version(), metrics: rounds.metrics() }),
      isProtected: (generation) => isOfCutOrAfter(generation, cuts.current()?.cut),
    },
  });
  let saving: Promise<unknown> = Promise.resolve();
  const inTurn = (save: () => Promise<CheckpointFile>): Promise<CheckpointFile> => {
    const mine = saving.then(save);
    saving = Promise.allSettled([mine]);
    return mine;
  };
  const fail = (error: PaddletError): void => {
    failJob(context, options.fence, `pserver ${options.index}`, error).then(() => options.onEnd(error), options.onEnd);
  };
  const rounds = createRounds({
    clock: context.host.clock,
    gate,
    lanes,
    spec,
    parameters,
    router: createIdRouter({ shards: cluster.shards }),
    ledger,
    held,
    shards: cluster.shards,
    blocks: spec.dense.map((dense) => {
      const mine = new Set(held);
      return Uint32Array.from(
        [...blockShards(dense, cluster.shards)].flatMap((s, block) => (mine.has(s) ? [block] : [])),
      );
    }),
    metrics: loaded.rounds.metrics,
    momentOf,
    isHeld: () => lease.isHeld(),
    isFrozen: () => frozen,
    save: (source) => inTurn(() => snapshots.save(false, source)),
    fail,
  });
  const staleness = createStaleness({
    ...context.host,
    rule: undefined,
    patienceMs: cluster.leaseTtlMs,
    version: gate.version,
    metrics,
  });
  const save = (clean: boolean): Promise<CheckpointFile> => inTurn(() => snapshots.save(clean));
  const serving: Serving = {
    jobId: record.id,
    batchPlanId: record.batchPlanId,
    spec,
    shards: cluster.shards,
    held,
    tasks: record.train.tasks,
    passes: training.passes,
    parameters,
    ledger,
    stamp: taken.stamp,
    recovery: () => 0,
    metrics,
    staleness,
    isHeld: () => lease.isHeld(),
    isFrozen: () => frozen,
    // Also the last one freezes nothing: after the last round no lanes come, unless all go back to a cut.
    checkpoint: () => save(false),
    scanner: createScanner(parameters),
    open: opener(options, loaded),
    rounds,
    applied: () => {},
  };
  return {
    timeline,
    serving,
    rounds,
    snapshots,
    save,
    saved: async () => void (await saving),
    freeze() {
      frozen = true;
      rounds.close();
    },
  };
}

/** Files that a cut may be made of, or is: they stay until a newer cut is complete, whatever `keep` says. */
function isOfCutOrAfter({ uuid, round }: Generation, cut: Cut | undefined): boolean {
  if (cut === undefined) return true;
  return filesOfCut(cut).has(uuid) || (round ?? 0) >= cut.round;
}
