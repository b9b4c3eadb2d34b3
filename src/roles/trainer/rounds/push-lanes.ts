/** Computes lanes of a round from pulled values, and starts to push each to every pserver. */

import { pause } from '../../../base/backoff.ts';
import { isPaddletError, type PaddletError } from '../../../base/errors.ts';
import type { Clock } from '../../../base/seams.ts';
import type { PulledList } from '../../../cluster/client/joined-pull.ts';
import type { LaneDelivery } from '../../../cluster/client/lane-sender.ts';
import type { VersionClient } from '../../../cluster/client/version-client.ts';
import type { Model } from '../../../model/model.ts';
import type { Activity } from '../activity.ts';
import type { GradientCheck } from '../compute/gradient-check.ts';
import type { KeptLanes } from './kept-lanes.ts';
import { computeLane, type LaneBatches } from './lane-batches.ts';

/** After computing for this long the loop yields, so that computed lanes are sent and other events are handled. */
const YIELD_AFTER_MS = 20;

/** Batches of a round, with the values of its version that were pulled for them. */
export interface PulledBatches {
  readonly timeline: number;
  readonly batches: LaneBatches;
  readonly pulled: readonly PulledList[];
}

export interface PushLanesOptions {
  readonly clock: Clock;
  readonly model: Model;
  readonly activity: Activity;
  readonly gradientCheck: GradientCheck;
  readonly client: Pick<VersionClient, 'begin' | 'isPast'>;
  readonly kept: KeptLanes;
  readonly onComputed: (lane: number, delivery: LaneDelivery) => void;
  readonly onFailed: (lane: number, error: PaddletError) => Promise<void>;
}

/** True when it ended early, as every pserver is past the round: other trainers have computed the other lanes. */
export async function pushLanes(
  { clock, model, activity, client, gradientCheck, kept, onComputed, onFailed }: PushLanesOptions,
  { timeline, batches, pulled }: PulledBatches,
  lanes: readonly number[],
): Promise<boolean> {
  let yieldedAtMs = clock.monotonicMs();
  for (const lane of lanes) {
    activity.enter('compute');
    if (clock.monotonicMs() - yieldedAtMs > YIELD_AFTER_MS) {
      await pause(clock, 0);
      yieldedAtMs = clock.monotonicMs();
      if (client.isPast({ timeline, version: batches.round })) return true;
    }
    try {
      const push = computeLane(model, batches, lane, { timeline, pulled, gradientCheck, kept });
      activity.enter('push');
      const delivery = client.begin(push);
      kept.add(delivery);
      onComputed(lane, delivery);
      activity.trained(push.records, push.metrics);
    } catch (error) {
      if (!isPaddletError(error)) throw error;
      await onFailed(lane, error);
    }
  }
  return false;
}
