/**
 * Sync mode on a pserver: keeps the lanes of the round in work, applies them when the last one is there, lets pulls of a
 * version wait for it, and has cuts saved (DESIGN §6). What is taken when is decided by `src/core/rounds/gate.ts`.
 *
 * A lane is checked whole when it arrives, so that applying a round fails only for want of memory or when sums overflow:
 * both would fail again everywhere, and end the job.
 */
import { isPaddletError, PaddletError } from '../../../base/errors.ts';
import { failPoint } from '../../../base/fail-points.ts';
import type { Cancel, Clock } from '../../../base/seams.ts';
import type { CheckpointFile, ShardMoment } from '../../../checkpoint/file/capture.ts';
import { asSuspended } from '../../../cluster/as-suspended.ts';
import { createSignal } from '../../../cluster/waiting.ts';
import { addPassMetrics, type PassMetrics } from '../../../core/pass-metrics.ts';
import type { RoundGate } from '../../../core/rounds/gate.ts';
import type { PushPosition } from '../../../core/shard/ledger.ts';
import type { ShardLedgers } from '../../../core/shard/ledgers.ts';
import type { MetricSums } from '../../../model/model.ts';
import type { Outgoing, Received, Session } from '../../../protocol/messages/channel.ts';
import type { ReplyHeader, RequestHeader } from '../../../protocol/messages/messages.ts';
import type { IdRouter } from '../../../tensor/id-router.ts';
import { foldLanes, type LaneGradients, type RoundGradients } from '../../../tensor/lane-fold.ts';
import { type Parameters, SHARD_ACTION } from '../../../tensor/parameters.ts';
import type { ParameterSpec } from '../../../tensor/spec.ts';
import { checkHeld } from '../check-held.ts';
import type { SnapshotSource } from '../files/snapshots.ts';
import { gradientParts, readValues, type ValueSource } from '../request-parts.ts';
import { type FrozenShards, freezeShards } from './frozen-shards.ts';
import { keepPreImage } from './pre-image.ts';

type Request<T extends RequestHeader['type']> = Received<Extract<RequestHeader, { type: T }>>;
type Reply = Outgoing<ReplyHeader>;

export interface RoundsOptions {
  readonly clock: Clock;
  readonly gate: RoundGate;
  readonly lanes: number;
  readonly spec: ParameterSpec;
  readonly parameters: Parameters;
  readonly router: IdRouter;
  readonly ledger: ShardLedgers;
  /** The shards held here, and how many the job has. */
  readonly held: readonly number[];
  readonly shards: number;
  /** Blocks of each dense parameter that are here, ascending. */
  readonly blocks: readonly Uint32Array[];
  /** Of the pass in work and the one before, as they were loaded. */
  readonly metrics: readonly PassMetrics[];
  readonly momentOf: (shard: number) => ShardMoment;
  readonly isHeld: () => boolean;
  readonly isFrozen: () => boolean;
  /** Writes and publishes; called at the instant in which the shards are at the cut's round. */
  readonly save: (source: SnapshotSource) => Promise<CheckpointFile>;
  /** The job cannot go on. */
  readonly fail: (error: PaddletError) => void;
}

export interface Rounds {
  readonly gate: RoundGate;
  pull(request: Request<'pullVersion'>, session: Session): Promise<Reply>;
  pushLane(request: Request<'pushLane'>): Reply;
  standing(request: Request<'rounds'>, session: Session): Promise<Reply>;
  cut(request: Request<'cut'>, session: Session): Promise<Reply>;
  metrics(): readonly PassMetrics[];
  /** Records of lanes that arrived since the start, and of those that were duplicates. */
  observed(): { readonly received: number; readonly duplicate: number };
  /** Those who wait are to try elsewhere. */
  close(): void;
}

interface Lane extends LaneGradients {
  readonly position: PushPosition | undefined;
  readonly metrics: MetricSums;
}

/** A cut that is being saved, or the last one that was. */
interface Cutting {
  readonly round: number;
  readonly done: Promise<CheckpointFile>;
}

export function createRounds(options: RoundsOptions): Rounds {
  const { gate, parameters, ledger, spec, router } = options;
  const changed = createSignal();
  const closed = new AbortController();
  const lanes: (Lane | undefined)[] = Array.from({ length: options.lanes }, () => undefined);
  const actions = new Uint8Array(options.shards).fill(SHARD_ACTION.absent);
  for (const shard of options.held) actions[shard] = SHARD_ACTION.apply;
  let previous: ValueSource | undefined;
  let metrics = options.metrics;
  let received = 0;
  let duplicate = 0;
  /** Rounds at which to save. */
  const wanted = new Set<number>();
  let newest: Cutting | undefined;
  /** Views of saves that are under way. */
  const frozen = new Set<FrozenShards>();

  function take(request: Request<'pushLane'>): void {
    const { header } = request;
    if (header.records === 0 && request.segmentCount > 0) throw badLane(header.lane, 'gradients of no record');
    const arrived = gradientParts(request);
    if (header.records > 0) checkBlocks(options, header.lane, arrived.dense);
    parameters.check(arrived.sparse, arrived.dense, actions);
    // Looked at anew: checking may have moved the memory that they lie in.
    const parts = gradientParts(request);
    const copied = (bytes: Uint8Array): Uint8Array => new Uint8Array(bytes);
    lanes[header.lane] = {
      records: header.records,
      metrics: header.metrics,
      position: header.batch,
      dense: parts.dense.map((part) => ({
        ...part,
        blocks: part.blocks.slice(),
        gradients: copied(part.gradients),
      })),
      sparse: parts.sparse.map((part) => ({ ...part, ids: copied(part.ids), gradients: copied(part.gradients) })),
    };
  }

  /** All of it or nothing: `push` checks and reserves before it changes anything. */
  function applyRound(): void {
    const round = lanes.map((lane) => lane!);
    const gradients = foldLanes(spec, router, round);
    for (const view of frozen) view.keep(gradients);
    previous = keepPreImage({ spec, parameters, router }, gradients);
    if (hasAny(gradients)) parameters.push(gradients.sparse, gradients.dense, actions);
    failPoint('round.applied');
    for (const { position, metrics: sums } of round) {
      if (position === undefined) continue;
      ledger.advance(position);
      metrics = addPassMetrics(metrics, position.pass, sums);
    }
    lanes.fill(undefined);
    gate.advance();
    if (wanted.delete(gate.version())) beginCut(gate.version());
    changed.notify();
  }

  function beginCut(round: number): Cutting {
    const view = freezeShards(parameters);
    frozen.add(view);
    const moments = new Map(options.held.map((shard) => [shard, options.momentOf(shard)]));
    const source = { parameters: view, momentOf: (shard: number) => moments.get(shard)!, rounds: { round, metrics } };
    const done = options.save(source).finally(() => {
      frozen.delete(view);
    });
    const cutting = { round, done };
    newest = cutting;
    // Whoever asked hears of it; a save that failed may be asked for again.
    done.catch(() => {
      if (newest === cutting) newest = undefined;
    });
    return cutting;
  }

  const cuttingOf = (round: number): Cutting | undefined => (newest?.round === round ? newest : undefined);

  /** Waits until `look` finds something, so many milliseconds at most: then undefined. */
  async function within<T>(look: () => T | undefined, maxWaitMs: number, session: Session): Promise<T | undefined> {
    const now = look();
    if (now !== undefined || maxWaitMs === 0) return now;
    const late = new AbortController();
    const cancels: Cancel[] = [
      options.clock.after(maxWaitMs, () => late.abort()),
      session.onClosed(() => late.abort()),
    ];
    try {
      return await changed.until(look, AbortSignal.any([late.signal, closed.signal]));
    } catch (error) {
      if (!isPaddletError(error, 'Interrupted')) throw error;
      if (closed.signal.aborted) throw draining();
      return undefined;
    } finally {
      for (const cancel of cancels) cancel();
    }
  }

  const sourceOf = (wantedVersion: { timeline: number; version: number }): ValueSource | undefined => {
    const verdict = gate.judgePull(wantedVersion);
    switch (verdict) {
      case 'current':
        return parameters;
      case 'previous':
        return previous;
      case 'wait':
        return undefined;
      case 'gone':
        throw new PaddletError('VersionGone', `version ${wantedVersion.version} is past: ${gate.version()} here`, {
          details: { version: gate.version() },
        });
      case 'otherTimeline':
        throw staleTimeline(gate, wantedVersion.timeline);
    }
  };

  return {
    gate,
    async pull(request, session) {
      const { header } = request;
      const source = await within(() => sourceOf(header), header.maxWaitMs, session);
      checkHeld(options);
      if (source === undefined) throw pending(gate, header.version);
      // The version may have moved on between the wake-up and now.
      const now = sourceOf(header) ?? source;
      return { header: { type: 'pullVersion' }, segments: readValues(spec, now, request) };
    },
    pushLane(request) {
      const { header } = request;
      if (header.lane >= lanes.length) throw badLane(header.lane, `the job has ${lanes.length} lanes`);
      const verdict = gate.judgeLane(header);
      if (verdict === 'otherTimeline') throw staleTimeline(gate, header.timeline);
      if (verdict === 'ahead') {
        throw new PaddletError('RoundAhead', `round ${header.round} has not begun here: ${gate.version()} is in work`, {
          details: { version: gate.version() },
        });
      }
      received += header.records;
      if (verdict === 'duplicate') {
        duplicate += header.records;
        return { header: { type: 'pushLane', outcome: 'duplicate', version: gate.version() } };
      }
      if (options.isFrozen()) throw draining();
      checkBatch(ledger, request);
      take(request);
      failPoint('lane.taken');
      // Everybody has this version now: nobody pulls the one before any more.
      previous = undefined;
      if (gate.took(header.lane)) applyOrFail();
      return { header: { type: 'pushLane', outcome: 'taken', version: gate.version() } };
    },
    async standing({ header }, session) {
      const { above } = header;
      const isAbove = (): true | undefined => (above === undefined || gate.version() > above ? true : undefined);
      await within(isAbove, header.maxWaitMs, session);
      checkHeld(options);
      return {
        header: {
          type: 'rounds',
          timeline: gate.timeline,
          version: gate.version(),
          oldest: gate.oldest(),
          missing: gate.missing(),
        },
      };
    },
    async cut({ header }, session) {
      const { round, timeline } = header;
      const known = cuttingOf(round);
      if (timeline !== gate.timeline || (known === undefined && round < gate.version())) return declined(gate);
      if (options.isFrozen()) throw draining();
      if (known === undefined && round > gate.version()) {
        wanted.add(round);
        // However long it takes to get there: whoever asks gives up by itself, and asks again.
        await within(() => cuttingOf(round), CUT_WAIT_MS, session);
      }
      const cutting = cuttingOf(round) ?? (round === gate.version() ? beginCut(round) : undefined);
      if (cutting === undefined) {
        wanted.delete(round);
        return declined(gate);
      }
      const { uuid, md5, bytes } = await cutting.done.catch(asSuspended);
      return { header: { type: 'cut', outcome: 'saved', version: gate.version(), saved: { uuid, md5, bytes } } };
    },
    metrics: () => metrics,
    observed: () => ({ received, duplicate }),
    close: () => closed.abort(),
  };

  function applyOrFail(): void {
    try {
      applyRound();
    } catch (error) {
      if (isPaddletError(error)) options.fail(error);
      throw error;
    }
  }
}

/** A cut that is announced and not reached by then is announced anew. */
const CUT_WAIT_MS = 60_000;

const hasAny = ({ dense, sparse }: RoundGradients): boolean => dense.length + sparse.length > 0;

const draining = (): PaddletError => new PaddletError('Draining', 'this pserver is leaving and takes no more lanes');

const badLane = (lane: number, why: string): PaddletError => new PaddletError('BadMessage', `lane ${lane}: ${why}`);

const staleTimeline = (gate: RoundGate, timeline: number): PaddletError =>
  new PaddletError('StaleTimeline', `the timeline is ${gate.timeline} here, not ${timeline}`, {
    details: { timeline: gate.timeline },
  });

function pending(gate: RoundGate, version: number): PaddletError {
  const missing = gate.missing();
  return new PaddletError(
    'VersionPending',
    `version ${version} is not there yet: round ${gate.version()} waits for lanes ${missing.join(', ')}`,
    { details: { version: gate.version(), missing } },
  );
}

const declined = (gate: RoundGate): Reply => ({
  header: { type: 'cut', outcome: 'declined', version: gate.version() },
});

/** The ledger must be able to take it when the round is applied. */
function checkBatch(ledger: ShardLedgers, { header }: Request<'pushLane'>): void {
  const { batch, lane, records } = header;
  if (batch === undefined) {
    if (records > 0) throw badLane(lane, 'records of no mini-batch');
    return;
  }
  if (ledger.judge(batch).outcome !== 'apply') {
    throw badLane(lane, `push ${batch.push} of task ${batch.task} in pass ${batch.pass} is not the next one`);
  }
}

/** Every lane has all blocks that are here, or folding could not tell which of them a lane left out. */
function checkBlocks(
  { blocks, spec }: RoundsOptions,
  lane: number,
  parts: readonly { readonly parameter: number; readonly blocks: Uint32Array }[],
): void {
  blocks.forEach((expected, parameter) => {
    const there = parts.filter((part) => part.parameter === parameter);
    const count = there.reduce((sum, part) => sum + part.blocks.length, 0);
    if (there.length > 1 || count !== expected.length) {
      throw badLane(
        lane,
        `${count} blocks of ${spec.dense[parameter]!.name} in ${there.length} parts, not ${expected.length}`,
      );
    }
  });
}
