/** Sync mode: the shards go back to a cut, under its timeline. Process, index and units stay. */
import { failPoint } from '../../../../base/fail-points.ts';
import type { Cut } from '../../../../checkpoint/registry/cut.ts';
import { createParameters } from '../../../../tensor/wasm-parameters.ts';
import type { LoadRoundsOptions } from './load.ts';
import { loadCut } from './load-cut.ts';
import { type TimelineOptions, TimelineState } from './timeline.ts';

export interface BackToCut extends TimelineOptions {
  readonly loading: Omit<LoadRoundsOptions, 'into'>;
}

/**
 * `old` is frozen, and saves nothing any more. Undefined when another cut is the one to go back to, under a higher
 * timeline.
 */
export async function backToCut(options: BackToCut, old: TimelineState, cut: Cut): Promise<TimelineState | undefined> {
  const { fence, spec, record, loading } = options;
  const { shards, replicas } = record.job.cluster;
  const { seed } = record.job.training;
  const into = createParameters({ spec, seed, shards, recallsPulls: replicas === 1 });
  const loaded = await loadCut({ ...loading, fence, into }, cut, old.shards.numbers);
  if (loaded === undefined) return undefined;
  failPoint('pserver.cut-loaded');
  // What has left in the meantime.
  const owned = new Set(old.shards.numbers);
  for (const shard of into.shards()) if (!owned.has(shard)) into.dropShard(shard);
  old.shards.restate({ parameters: into, ...loaded });
  return new TimelineState(options, cut.timeline, loaded, old.shards);
}
