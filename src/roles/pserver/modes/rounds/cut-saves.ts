/**
 * Sync mode: saves this pserver's part of a cut. The file contains the shards at one round, and is written while the
 * pserver applies later rounds.
 */
import type { ShardMoment } from '../../../../checkpoint/file/capture.ts';
import type { CheckpointFile } from '../../../../checkpoint/file/write-durable-file.ts';
import type { PassMetrics } from '../../../../core/pass-metrics.ts';
import type { RoundGradients } from '../../../../tensor/parameters.ts';
import type { DeltaParents } from '../../files/delta-parents.ts';
import type { SaveKind, SnapshotSource } from '../../files/snapshots.ts';
import type { OwnedShards } from '../../held/owned-shards.ts';
import { type RoundView, viewRound } from './round-view.ts';

export interface CutSave {
  readonly round: number;
  readonly kind: SaveKind;
  /** Shards in the file. Shards that leave before the turn of this save are left out. */
  readonly shards: () => ReadonlySet<number>;
  readonly file: Promise<CheckpointFile>;
}

export interface CutSavesOptions {
  readonly shards: OwnedShards;
  /** Calls `source` when the turn of this save comes, then writes and publishes the file. */
  readonly save: (kind: SaveKind, source: () => SnapshotSource) => Promise<CheckpointFile>;
  /** Undefined if the job saves no deltas. */
  readonly deltas?: Pick<DeltaParents, 'beginView' | 'endView'> | undefined;
}

export class CutSaves {
  readonly #options: CutSavesOptions;
  /** Future rounds at which to save, and what. */
  readonly #planned = new Map<number, SaveKind>();
  /** The newest save, running or done. */
  #newest: CutSave | undefined;
  /** Views of running saves. */
  readonly #views = new Set<RoundView>();

  constructor(options: CutSavesOptions) {
    this.#options = options;
  }

  /** The save of that round, if it is the newest save, is what is wanted and contains all shards that are owned now. */
  of(round: number, kind: SaveKind): CutSave | undefined {
    const newest = this.#newest;
    const saved = newest?.shards();
    const isWanted = kind !== 'base' || newest?.kind === 'base';
    const isOfRound =
      isWanted && newest?.round === round && this.#options.shards.numbers.every((shard) => saved?.has(shard));
    return isOfRound ? newest : undefined;
  }

  /** Saves the shards when they reach that round. */
  plan(round: number, kind: SaveKind): void {
    this.#planned.set(round, kind);
  }

  cancelPlan(round: number): void {
    this.#planned.delete(round);
  }

  /** To be called before a round with these gradients is applied. */
  beforeRound(gradients: RoundGradients): void {
    for (const view of this.#views) view.keep(gradients);
  }

  /** To be called when the shards are at that round. */
  reached(round: number, metrics: readonly PassMetrics[]): void {
    const kind = this.#planned.get(round);
    this.#planned.delete(round);
    if (kind !== undefined) this.begin(round, metrics, kind);
  }

  /**
   * Saves the current state of the shards, which are at that round. A unit may be handed over before the turn of this
   * save.
   */
  begin(round: number, metrics: readonly PassMetrics[], kind: SaveKind): CutSave {
    const { shards, save, deltas } = this.#options;
    const { numbers } = shards;
    const view = viewRound(shards.parameters, shards.job);
    const mark = deltas?.beginView();
    this.#views.add(view);
    const moments = new Map(numbers.map((shard) => [shard, shards.momentOf(shard)]));
    const momentOf = (shard: number): ShardMoment => moments.get(shard)!;
    let saved: ReadonlySet<number> = new Set(numbers);
    const source = (): SnapshotSource => {
      const owned = new Set(shards.numbers);
      saved = new Set(numbers.filter((shard) => owned.has(shard) && !view.hasLost(shard)));
      return { parameters: view, shards: [...saved], momentOf, mark, rounds: { round, metrics } };
    };
    const file = save(kind, source).finally(() => {
      this.#views.delete(view);
      view.close();
      deltas?.endView();
    });
    const started: CutSave = { round, kind, shards: () => saved, file };
    this.#newest = started;
    // The requests for this cut get the error. Forget the failed save, so that the master can ask for it again.
    file.catch(() => {
      if (this.#newest === started) this.#newest = undefined;
    });
    return started;
  }
}
