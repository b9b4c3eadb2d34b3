/**
 * Sync mode on a pserver: keeps the lanes of the current round, applies them when the last one has arrived, lets pulls
 * of a version wait for it, and has cuts saved (DESIGN §6). `src/core/rounds/gate.ts` decides what is accepted when.
 *
 * A lane is checked whole when it arrives. So applying a round fails only for want of memory or when sums overflow;
 * both would fail again on every try, and fail the job.
 */
import { isPaddletError, PaddletError } from '../../../base/errors.ts';
import { failPoint } from '../../../base/fail-points.ts';
import type { Clock } from '../../../base/seams.ts';
import type { CheckpointFile } from '../../../checkpoint/file/write-durable-file.ts';
import { asSuspended } from '../../../cluster/as-suspended.ts';
import { createSignal } from '../../../cluster/waiting.ts';
import { addPassMetrics, type PassMetrics } from '../../../core/pass-metrics.ts';
import type { RoundGate } from '../../../core/rounds/gate.ts';
import type { Session } from '../../../protocol/messages/channel.ts';
import type { IdRouter } from '../../../tensor/id-router.ts';
import { foldLanes, type RoundGradients } from '../../../tensor/lane-fold.ts';
import type { ParameterSpec } from '../../../tensor/spec.ts';
import { checkHeld } from '../checks.ts';
import type { SnapshotSource } from '../files/snapshots.ts';
import { readValues, type ValueSource } from '../request-parts.ts';
import type { Reply, Request } from '../requests.ts';
import type { OwnedShards } from '../shards.ts';
import { CutSaves } from './cut-saves.ts';
import { checkLane, checkSameLane, type LaneCountsOf } from './lane-counts.ts';
import { RoundLanes } from './lanes.ts';
import { longPoll } from './long-poll.ts';
import { keepPreImage } from './pre-image.ts';

export interface RoundsOptions {
  readonly clock: Clock;
  readonly gate: RoundGate;
  readonly lanes: number;
  readonly spec: ParameterSpec;
  readonly router: IdRouter;
  readonly shards: OwnedShards;
  /** What lanes may say of their records. */
  readonly counts: Omit<LaneCountsOf, 'ledgers'>;
  /** Of the current pass and the one before, as they were loaded. */
  readonly metrics: readonly PassMetrics[];
  readonly isHeld: () => boolean;
  readonly isFrozen: () => boolean;
  /** Writes and publishes; called at the instant in which the shards are at the cut's round. */
  readonly save: (source: SnapshotSource) => Promise<CheckpointFile>;
  /** A round cannot be applied: the job has to fail. */
  readonly onFatal: (error: PaddletError) => void;
}

/** A cut that is announced but not reached in this time is declined; the master announces it again. */
const CUT_WAIT_MS = 60_000;

export class Rounds {
  readonly gate: RoundGate;
  readonly #options: RoundsOptions;
  readonly #lanes: RoundLanes;
  readonly #cuts: CutSaves;
  readonly #changed = createSignal();
  readonly #closed = new AbortController();
  /** The version before the current one, for as long as a trainer may pull it. */
  #previous: ValueSource | undefined;
  #metrics: readonly PassMetrics[];
  #received = 0;
  #duplicate = 0;
  /** By lane: the newest round of which a duplicate was counted. */
  readonly #counted = new Map<number, number>();

  constructor(options: RoundsOptions) {
    this.#options = options;
    this.gate = options.gate;
    this.#lanes = new RoundLanes(options);
    this.#cuts = new CutSaves(options);
    this.#metrics = options.metrics;
  }

  /** Exactly the version asked for. Throws `VersionPending`, `VersionGone`, `StaleTimeline`, `Draining`. */
  async pull(request: Request<'pullVersion'>, session: Session): Promise<Reply> {
    const { header } = request;
    const source = await this.#until(() => this.#sourceOf(header), header.maxWaitMs, session);
    checkHeld(this.#options);
    if (source === undefined) throw pending(this.gate, header.version);
    // The version may have advanced between the wake-up and now.
    const current = this.#sourceOf(header) ?? source;
    return { header: { type: 'pullVersion' }, segments: readValues(this.#options.spec, current, request) };
  }

  /**
   * Throws `RoundAhead`, `StaleTimeline`, `Draining`, and `BadMessage` and others for a lane that cannot be applied.
   */
  pushLane(request: Request<'pushLane'>): Reply {
    const { gate } = this;
    const { header } = request;
    this.#lanes.checkNumber(header.lane);
    const verdict = gate.judgeLane(header);
    if (verdict === 'otherTimeline') throw staleTimeline(gate, header.timeline);
    if (verdict === 'ahead') {
      throw new PaddletError(
        'RoundAhead',
        `round ${header.round} has not begun here: round ${gate.version()} is current`,
        { details: { version: gate.version() } },
      );
    }
    const { counts, shards } = this.#options;
    checkLane({ ...counts, ledgers: shards.ledgers }, header);
    if (verdict === 'duplicate') {
      const kept = header.round === gate.version() ? this.#lanes.of(header.lane) : undefined;
      if (kept !== undefined) checkSameLane(counts, kept, header);
      this.#countDuplicate(header);
      return { header: { type: 'pushLane', outcome: 'duplicate', version: gate.version() } };
    }
    if (this.#options.isFrozen()) throw draining();
    this.#lanes.keep(request);
    this.#received += header.records;
    failPoint('lane.taken');
    // This lane proves that every pserver has the current version: no trainer pulls the one before it any more.
    this.#previous = undefined;
    if (gate.accepted(header.lane)) this.#applyRound();
    return { header: { type: 'pushLane', outcome: 'taken', version: gate.version() } };
  }

  /** Which round this pserver is at, once it is above the one named or the time is over. */
  async position({ header }: Request<'rounds'>, session: Session): Promise<Reply> {
    const { gate } = this;
    const { above, maxWaitMs } = header;
    const isAbove = (): true | undefined => (above === undefined || gate.version() > above ? true : undefined);
    await this.#until(isAbove, maxWaitMs, session);
    checkHeld(this.#options);
    return {
      header: {
        type: 'rounds',
        timeline: gate.timeline,
        version: gate.version(),
        oldest: gate.oldest(),
        missing: gate.missing(),
      },
    };
  }

  /** Saves the shards as they are at that round, and answers when the file is published. */
  async cut({ header }: Request<'cut'>, session: Session): Promise<Reply> {
    const { gate } = this;
    const { round, timeline } = header;
    const known = this.#cuts.of(round);
    if (timeline !== gate.timeline || (known === undefined && round < gate.version())) return declined(gate);
    if (this.#options.isFrozen()) throw draining();
    if (known === undefined && round > gate.version()) {
      this.#cuts.plan(round);
      await this.#until(() => this.#cuts.of(round), CUT_WAIT_MS, session);
    }
    const save =
      this.#cuts.of(round) ?? (round === gate.version() ? this.#cuts.begin(round, this.#metrics) : undefined);
    if (save === undefined) {
      this.#cuts.cancelPlan(round);
      return declined(gate);
    }
    const { uuid, md5, bytes } = await save.file.catch(asSuspended);
    return { header: { type: 'cut', outcome: 'saved', version: gate.version(), saved: { uuid, md5, bytes } } };
  }

  metrics(): readonly PassMetrics[] {
    return this.#metrics;
  }

  /** Records of lanes that were taken since the start and of duplicates, one for each lane of a round; and of those. */
  observed(): { readonly received: number; readonly duplicate: number } {
    return { received: this.#received, duplicate: this.#duplicate };
  }

  /** Requests that wait are answered with `Draining`: their senders look for the shards' next state or owner. */
  close(): void {
    this.#closed.abort();
  }

  /** Once for each lane of a round, however often it is sent: else a trainer decided what this comes to. */
  #countDuplicate({ lane, round, records }: Request<'pushLane'>['header']): void {
    if (round <= (this.#counted.get(lane) ?? -1)) return;
    this.#counted.set(lane, round);
    this.#received += records;
    this.#duplicate += records;
  }

  #applyRound(): void {
    try {
      this.#apply();
    } catch (error) {
      if (isPaddletError(error)) this.#options.onFatal(error);
      throw error;
    }
  }

  /** All of it or nothing: `Parameters.push` checks and reserves before it changes anything. */
  #apply(): void {
    const { gate } = this;
    const { spec, router, shards } = this.#options;
    const { parameters } = shards;
    const lanes = this.#lanes.all();
    const gradients = foldLanes(spec, router, lanes);
    this.#cuts.beforeRound(gradients);
    this.#previous = keepPreImage({ spec, parameters, router }, gradients);
    if (hasAny(gradients)) parameters.push(gradients.sparse, gradients.dense, shards.actions(undefined));
    failPoint('round.applied');
    for (const { position, metrics } of lanes) {
      if (position === undefined) continue;
      shards.ledgers.advance(position);
      this.#metrics = addPassMetrics(this.#metrics, position.pass, metrics);
    }
    shards.advance(undefined);
    this.#lanes.clear();
    gate.advance();
    this.#cuts.reached(gate.version(), this.#metrics);
    this.#changed.notify();
  }

  /** Where the values of a version are read; undefined while the version is still to come. */
  #sourceOf(wanted: { timeline: number; version: number }): ValueSource | undefined {
    const { gate } = this;
    switch (gate.judgePull(wanted)) {
      case 'current':
        return this.#options.shards.parameters;
      case 'previous':
        return this.#previous;
      case 'wait':
        return undefined;
      case 'gone':
        throw new PaddletError('VersionGone', `version ${wanted.version} is past: ${gate.version()} here`, {
          details: { version: gate.version() },
        });
      case 'otherTimeline':
        throw staleTimeline(gate, wanted.timeline);
    }
  }

  #until<T>(look: () => T | undefined, maxWaitMs: number, session: Session): Promise<T | undefined> {
    const { clock } = this.#options;
    return longPoll(look, {
      ...{ clock, session, maxWaitMs, changed: this.#changed },
      done: this.#closed.signal,
      doneError: draining,
    });
  }
}

const hasAny = ({ dense, sparse }: RoundGradients): boolean => dense.length + sparse.length > 0;

const draining = (): PaddletError => new PaddletError('Draining', 'this pserver is draining and accepts no more lanes');

const staleTimeline = (gate: RoundGate, timeline: number): PaddletError =>
  new PaddletError('StaleTimeline', `the timeline is ${gate.timeline} here, not ${timeline}`, {
    details: { timeline: gate.timeline },
  });

function pending(gate: RoundGate, version: number): PaddletError {
  const missing = gate.missing();
  return new PaddletError(
    'VersionPending',
    `version ${version} does not exist yet: round ${gate.version()} waits for lanes ${missing.join(', ')}`,
    { details: { version: gate.version(), missing } },
  );
}

const declined = (gate: RoundGate): Reply => ({
  header: { type: 'cut', outcome: 'declined', version: gate.version() },
});
