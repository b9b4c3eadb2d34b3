/**
 * Trainers of a job in sync mode on pservers and a master that are made of a few lines, in virtual time: messages take
 * as long as the dice say. The pservers keep `src/core/rounds/gate.ts`; their parameters are one number a row.
 */
import { PaddletError } from '../../../../src/base/errors.ts';
import type { Placement, PlacementView } from '../../../../src/cluster/placement/placement-view.ts';
import { createSignal, type Signal } from '../../../../src/cluster/waiting.ts';
import { createRoundGate, type RoundGate } from '../../../../src/core/rounds/gate.ts';
import type { ReplyHeader, RequestHeader } from '../../../../src/protocol/messages/all-messages.ts';
import type { Channel, Outgoing, Received } from '../../../../src/protocol/messages/channel.ts';
import { blockShards } from '../../../../src/tensor/blocks.ts';
import { createIdRouter } from '../../../../src/tensor/id-router.ts';
import type { Dice } from '../../../sim/dice.ts';
import type { Timeline } from '../../../sim/timeline.ts';
import { applyRound, type LaneSum, SPEC, type Values } from './rounds-job.ts';

export const SHARDS = 4;

type Request = Outgoing<RequestHeader>;
type HeaderOf<T extends RequestHeader['type']> = Extract<RequestHeader, { type: T }>;

/** Answers that were handed out and not freed. */
export class Answers {
  open = 0;

  of(reply: Outgoing<ReplyHeader>): Received<ReplyHeader> {
    this.open += 1;
    let isFreed = false;
    return {
      header: reply.header,
      segmentCount: reply.segments?.length ?? 0,
      segment: (index) => {
        if (isFreed) throw new Error('an answer is used after it was freed');
        return reply.segments![index]!;
      },
      free: () => {
        if (isFreed) throw new Error('an answer is freed twice');
        isFreed = true;
        this.open -= 1;
      },
    };
  }
}

export class RigPserver {
  readonly index: number;
  token: bigint;
  gate: RoundGate;
  values: Values;
  /** Of the version before. */
  #previous: Values | undefined;
  #lanes = new Map<number, { sum: LaneSum; bytes: string }>();
  readonly #changed: Signal = createSignal();
  #life = new AbortController();
  readonly #rig: { readonly lanes: number; readonly timeline: Timeline; readonly log: string[] };
  /** What it answers lanes with, when a test wants something else. */
  refuse: ((header: HeaderOf<'pushLane'>) => PaddletError | undefined) | undefined;

  constructor(index: number, values: Values, rig: { lanes: number; timeline: Timeline; log: string[] }) {
    this.index = index;
    this.token = BigInt(index + 1);
    this.values = values;
    this.#rig = rig;
    this.gate = createRoundGate({ timeline: 0, version: 0, lanes: rig.lanes });
  }

  get isAlive(): boolean {
    return !this.#life.signal.aborted;
  }

  get life(): AbortSignal {
    return this.#life.signal;
  }

  die(): void {
    this.#life.abort();
  }

  /** Another process, with the last state or with what is given; the lanes and the version before are gone. */
  startAnew(token: bigint, at: { timeline: number; version: number; values: Values }): void {
    this.token = token;
    this.#life = new AbortController();
    this.setBack(at);
  }

  setBack({ timeline, version, values }: { timeline: number; version: number; values: Values }): void {
    this.values = values;
    this.#previous = undefined;
    this.#lanes.clear();
    this.gate = createRoundGate({ timeline, version, lanes: this.#rig.lanes });
    this.#changed.notify();
  }

  async answer({ header, segments = [] }: Request): Promise<Outgoing<ReplyHeader>> {
    switch (header.type) {
      case 'rounds':
        await this.#within(header.maxWaitMs, () => header.above === undefined || this.gate.version() > header.above);
        return {
          header: {
            type: 'rounds',
            timeline: this.gate.timeline,
            version: this.gate.version(),
            oldest: this.gate.oldest(),
            missing: this.gate.missing(),
          },
        };
      case 'pullVersion':
        return this.#pull(header, segments);
      case 'pushLane':
        return this.#push(header, segments);
      default:
        throw new Error(`the pserver of the rig knows no ${header.type}`);
    }
  }

  async #within(maxWaitMs: number, look: () => boolean): Promise<void> {
    const late = new AbortController();
    const cancel = this.#rig.timeline.after(maxWaitMs, () => late.abort());
    const found = (): true | undefined => (look() ? true : undefined);
    await this.#changed.until(found, AbortSignal.any([late.signal, this.life])).catch(() => undefined);
    cancel();
  }

  async #pull(header: HeaderOf<'pullVersion'>, segments: readonly Uint8Array[]): Promise<Outgoing<ReplyHeader>> {
    await this.#within(header.maxWaitMs, () => this.gate.judgePull(header) !== 'wait');
    const from = { current: this.values, previous: this.#previous! };
    const verdict = this.gate.judgePull(header);
    if (verdict === 'wait') {
      if (this.isAlive) this.#rig.log.push('pending');
      const details = { version: this.gate.version(), missing: this.gate.missing() };
      throw new PaddletError('VersionPending', 'not yet', { details });
    }
    if (verdict === 'gone') throw new PaddletError('VersionGone', `version ${header.version} is past`);
    if (verdict === 'otherTimeline') throw new PaddletError('StaleTimeline', `timeline ${this.gate.timeline}`);
    const { dense, rows } = from[verdict];
    const blocks = header.dense.map(() => new Uint8Array(Float32Array.of(dense!).buffer));
    const tables = header.sparse.map((_, i) => {
      const ids = idsIn(segments[header.dense.length + i]!);
      return new Uint8Array(Float32Array.from(ids, (id) => rows.get(id) ?? 0).buffer);
    });
    return { header: { type: 'pullVersion', waitedMs: 0 }, segments: [...blocks, ...tables] };
  }

  #push(header: HeaderOf<'pushLane'>, segments: readonly Uint8Array[]): Outgoing<ReplyHeader> {
    const refused = this.refuse?.(header);
    if (refused !== undefined) throw refused;
    const verdict = this.gate.judgeLane(header);
    if (verdict === 'otherTimeline') throw new PaddletError('StaleTimeline', `timeline ${this.gate.timeline}`);
    if (verdict === 'ahead') throw new PaddletError('RoundAhead', `round ${this.gate.version()} is in work`);
    const bytes = JSON.stringify({ ...header, placement: 0 }) + segments.map((one) => Buffer.from(one).toString('hex'));
    if (verdict === 'duplicate') {
      const first = this.#lanes.get(header.lane);
      const isSame = header.round < this.gate.version() || first?.bytes === bytes;
      this.#rig.log.push(isSame ? 'duplicate' : `lane ${header.lane} of round ${header.round} is not the same again`);
      return { header: { type: 'pushLane', outcome: 'duplicate', version: this.gate.version() } };
    }
    this.#lanes.set(header.lane, { sum: sumOf(header, segments), bytes });
    this.#previous = undefined;
    if (this.gate.accepted(header.lane)) {
      const lanes = Array.from({ length: this.#rig.lanes }, (_, lane) => this.#lanes.get(lane)!.sum);
      this.#previous = { dense: this.values.dense, rows: new Map(this.values.rows) };
      this.values = applyRound(this.values, lanes);
      this.#lanes.clear();
      this.gate.advance();
      this.#changed.notify();
    }
    return { header: { type: 'pushLane', outcome: 'taken', version: this.gate.version() } };
  }
}

const idsIn = (bytes: Uint8Array): number[] => [...new BigUint64Array(bytes.slice().buffer)].map(Number);
const floatsIn = (bytes: Uint8Array): Float32Array => new Float32Array(bytes.slice().buffer);

function sumOf({ records, dense, sparse }: HeaderOf<'pushLane'>, segments: readonly Uint8Array[]): LaneSum {
  const rows = new Map<number, number>();
  sparse.forEach((_, i) => {
    const gradients = floatsIn(segments[2 * (dense.length + i) + 1]!);
    idsIn(segments[2 * (dense.length + i)]!).forEach((id, row) => {
      rows.set(id, gradients[row]!);
    });
  });
  return { records, dense: dense.length === 0 ? undefined : floatsIn(segments[1]!)[0], rows };
}

/** Which pserver has what, as trainers see it. */
export class RigCluster {
  readonly pservers: readonly RigPserver[];
  readonly answers = new Answers();
  readonly log: string[] = [];
  readonly #timeline: Timeline;
  readonly #dice: Dice;
  readonly #changed = createSignal();
  readonly #primaryOf: Int32Array;
  #version = 1;
  #tokens = 100n;

  constructor(options: { pservers: number; lanes: number; timeline: Timeline; dice: Dice }) {
    this.#timeline = options.timeline;
    this.#dice = options.dice;
    this.#primaryOf = Int32Array.from({ length: SHARDS }, (_, shard) => shard % options.pservers);
    const owner = this.#primaryOf[blockShards(SPEC.dense[0]!, SHARDS)[0]!];
    const rig = { lanes: options.lanes, timeline: options.timeline, log: this.log };
    this.pservers = Array.from({ length: options.pservers }, (_, index) => {
      return new RigPserver(index, { dense: index === owner ? 0 : undefined, rows: new Map() }, rig);
    });
  }

  /** What all of them hold together. */
  values(): Values {
    const rows = new Map(this.pservers.flatMap(({ values }) => [...values.rows]));
    return { dense: this.pservers.find(({ values }) => values.dense !== undefined)?.values.dense, rows };
  }

  kill(index: number): void {
    this.pservers[index]!.die();
    this.changed();
  }

  revive(index: number): void {
    const pserver = this.pservers[index]!;
    const { values, gate } = pserver;
    pserver.startAnew(this.#tokens++, { timeline: gate.timeline, version: gate.version(), values });
    this.changed();
  }

  changed(): void {
    this.#version += 1;
    this.#changed.notify();
  }

  view(): PlacementView {
    const all = this.pservers;
    return {
      changed: this.#changed,
      isLoaded: () => true,
      current: () => (all.every(({ isAlive }) => isAlive) ? this.#placement() : undefined),
      version: () => this.#version,
      missing: () => 'a pserver',
      desired: () => undefined,
      orphans: () => [],
      liveIndexes: () => all.filter(({ isAlive }) => isAlive).map(({ index }) => index),
      live: () => [],
      units: () => [],
      isLive: (index, token) => all[index]!.isAlive && all[index]!.token === token,
      cancel: () => {},
    };
  }

  #placement(): Placement {
    const pservers = this.pservers.map(({ index, token }) => {
      const stamp = { revision: String(token), shards: SHARDS };
      return { index, token, address: `${index}/${token}`, stamp, units: [{ unit: index, led: Number(token) }] };
    });
    return { version: this.#version, primaryOf: this.#primaryOf, pservers };
  }

  connect(address: string): Channel {
    const [index, token] = address.split('/').map(Number);
    const closed = new AbortController();
    const lost = () => new PaddletError('ConnectionLost', 'the connection was lost');
    /** Messages of a connection arrive in the order in which they were sent. */
    let sentMs = 0;
    let answeredMs = 0;
    const later = (run: () => void, isAnswer: boolean): void => {
      const atMs = this.#timeline.nowMs + this.#dice.between(0.1, 4);
      if (isAnswer) answeredMs = Math.max(answeredMs, atMs);
      else sentMs = Math.max(sentMs, atMs);
      this.#timeline.at(isAnswer ? answeredMs : sentMs, run);
    };
    const request = (message: Request): Promise<Received<ReplyHeader>> =>
      new Promise((resolve, reject) => {
        const pserver = this.pservers[index!]!;
        const isThere = (): boolean => pserver.isAlive && pserver.token === BigInt(token!);
        const fail = (): void => reject(lost());
        if (!isThere() || closed.signal.aborted) {
          fail();
          return;
        }
        pserver.life.addEventListener('abort', fail, { once: true });
        closed.signal.addEventListener('abort', fail, { once: true });
        const arrive = async (): Promise<void> => {
          if (!isThere()) return;
          const settle = await pserver.answer(message).then(
            (reply) => () => resolve(this.answers.of(reply)),
            (error: unknown) => () => reject(error),
          );
          later(() => {
            if (isThere() && !closed.signal.aborted) settle();
          }, true);
        };
        later(() => void arrive(), false);
      });
    return {
      address,
      request: request as Channel['request'],
      sending: () => undefined,
      close: () => closed.abort(),
    };
  }
}

export const createRouter = () => createIdRouter({ shards: SHARDS });
