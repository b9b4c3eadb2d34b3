/**
 * Sync mode: units that arrived from other pservers in the state before all pservers went back to a cut. This pserver
 * leads them, and loads them from the cut.
 */
import type { CutView } from '../../../../cluster/placement/cut-view.ts';
import type { Fence } from '../../../../store/fence.ts';
import type { OwnedHead } from '../../held/owned-heads.ts';
import type { LoadRoundsOptions } from './load.ts';
import { loadCut } from './load-cut.ts';
import { untilAbove } from './seen-cut.ts';
import type { TimelineState } from './timeline.ts';

export interface OutdatedUnitsOptions {
  readonly fence: Fence;
  readonly cuts: CutView;
  readonly loading: Omit<LoadRoundsOptions, 'into' | 'waitSignal'>;
}

/** The copies of the outdated units, where units have copies. */
export interface OutdatedCopies {
  /** Resolves when no other process has a copy of these units, because such a copy is outdated as well. */
  alone(units: readonly number[]): Promise<void>;
  headOf(unit: number): OwnedHead | undefined;
}

export class OutdatedUnits {
  readonly #options: OutdatedUnitsOptions;
  readonly #units = new Map<number, OwnedHead>();

  constructor(options: OutdatedUnitsOptions) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#units.size === 0;
  }

  has(unit: number): boolean {
    return this.#units.has(unit);
  }

  put(led: OwnedHead): void {
    this.#units.set(led.unit, led);
  }

  /**
   * Loads the units from the cut, because no pserver has led them on this timeline. If the cut cannot be used, waits
   * until all pservers go back to another one.
   */
  async load(state: TimelineState, waitSignal: AbortSignal, copies?: OutdatedCopies): Promise<void> {
    const { cuts, fence, loading } = this.#options;
    const { cut } = cuts.current()!;
    const units = [...this.#units.keys()];
    await copies?.alone(units);
    const shards = units.flatMap((unit) => state.shards.shardsOf(unit));
    const loaded = await loadCut({ ...loading, fence, into: state.shards.parameters, waitSignal }, cut, shards);
    if (loaded === undefined) {
      await untilAbove(cuts, cut.timeline, waitSignal);
      return;
    }
    state.add(
      units.map((unit) => copies?.headOf(unit) ?? this.#units.get(unit)!),
      loaded,
    );
    for (const unit of units) this.#units.delete(unit);
  }
}
