/** Pservers with a registry of moves each, on one store in memory; what they send each other arrives at once. */
import { changeHeads } from '../../../../src/cluster/placement/change-heads.ts';
import { parseHead, takenBy } from '../../../../src/cluster/placement/heads.ts';
import { followPlacement, type PlacementView } from '../../../../src/cluster/placement/placement-view.ts';
import type { PserverRecord } from '../../../../src/cluster/placement/pserver-record.ts';
import { followPserverRecords, type PserverRecords } from '../../../../src/cluster/placement/pserver-records.ts';
import type { UnitOwner } from '../../../../src/core/units/move-messages.ts';
import { OwnedHeads } from '../../../../src/roles/pserver/held/owned-heads.ts';
import { OwnedShards } from '../../../../src/roles/pserver/held/owned-shards.ts';
import type { MovedRounds } from '../../../../src/roles/pserver/held/unit-rounds.ts';
import { type BackupCopies, PserverMoves } from '../../../../src/roles/pserver/transfer/moves.ts';
import type { ConnectMove } from '../../../../src/roles/pserver/transfer/outgoing.ts';
import type { Fence } from '../../../../src/store/fence.ts';
import type { MemoryStoreData } from '../../../../src/store/memory-store.ts';
import { trainedSpec } from '../../../../src/tensor/optimizer.ts';
import type { FakeClock } from '../../../store/support.ts';
import { makeParameters, rowsPart, SGD, table } from '../../../tensor/fixture.ts';
import { Master } from '../../master/tasks/service-rig.ts';
import { UNTIMED } from '../untimed.ts';

export const SPEC = table(2);
export const JOB = { spec: SPEC, shards: 8, units: 4, tasks: 2 };
const IDS = Array.from({ length: 40 }, (_, id) => BigInt(id));
export const TTL_MS = 5_000;

export type MakeBackups = (pserver: Pserver) => BackupCopies;

export class Pservers {
  readonly data: MemoryStoreData;
  readonly clock: FakeClock;
  readonly all: Pserver[] = [];

  constructor({ clock, data }: { readonly clock: FakeClock; readonly data: MemoryStoreData }) {
    this.clock = clock;
    this.data = data;
  }

  async start(units: readonly number[], rounds?: MovedRounds, backups?: MakeBackups): Promise<Pserver> {
    const pserver = new Pserver(this, this.all.length);
    this.all.push(pserver);
    await pserver.start(units, rounds, backups);
    return pserver;
  }

  /** Lets them settle, plan and move. */
  async pass(ms = 5_000): Promise<void> {
    for (let step = 0; step < ms / 50; step++) await this.clock.advance(50);
  }

  headOf(unit: number) {
    const key = this.all[0]!.actor.context.keys.head(unit);
    return parseHead(key, this.data.get(key)!.value);
  }

  end(): void {
    for (const one of this.all) one.end();
  }
}

export class Pserver {
  readonly actor: Master;
  readonly index: number;
  readonly fatal: unknown[] = [];
  readonly outcomes: string[] = [];
  readonly recoveries: number[] = [];
  readonly lost = new AbortController();
  gained = 0;
  givenUp = 0;
  isHeld = true;
  isFrozen = false;
  isTaking = false;
  /** What it sends is lost, and nothing is answered. */
  isCutOff = false;
  savesHeldBack = 0;
  me!: UnitOwner;
  shards!: OwnedShards;
  moves!: PserverMoves;
  #resume = (): void => {};
  readonly #world: Pservers;
  #view!: PlacementView;
  #records!: PserverRecords;

  constructor(world: Pservers, index: number) {
    this.#world = world;
    this.index = index;
    this.actor = new Master(world.clock, world.data);
  }

  /** `rounds`: in sync mode. */
  async start(units: readonly number[], rounds?: MovedRounds, backups?: MakeBackups): Promise<void> {
    const { context } = this.actor;
    const { keys } = context;
    const { data, clock } = this.#world;
    data.txn({ if: [], then: [{ put: keys.psDesired, value: '4' }] });
    const { revision } = data.txn({ if: [], then: [{ put: keys.ps(this.index), value: `host:${this.index}` }] });
    const fence: Fence = { key: keys.ps(this.index), token: revision };
    this.me = { index: this.index, token: String(revision) };
    const changes = units.map((unit) => ({ unit, modRevision: 0n, head: takenBy(this.me, undefined) }));
    const heads = (await changeHeads({ context, fence }, changes)).map((one) => ({ ...one, head: one.head! }));
    const present = units.flatMap((unit) => [unit, unit + JOB.units]);
    const parameters = makeParameters({ spec: SPEC, optimizer: SGD, shards: JOB.shards, present });
    const state = { parameters, ledgers: new Map(), seqs: new Map() };
    this.shards = new OwnedShards(
      { ...JOB, spec: trainedSpec(SPEC, { optimizer: SGD }) },
      new OwnedHeads({ context, fence }, heads),
      state,
    );
    const onFatal = (error: unknown): void => void this.fatal.push(error);
    this.#view = followPlacement(context, JOB, onFatal);
    this.#records = followPserverRecords(context, () => this.#view.changed.notify(), onFatal);
    this.tell('up');
    await clock.advance(0);
    const lease = {
      isHeld: () => this.isHeld,
      lost: this.lost.signal,
      onResume: (run: () => void) => {
        this.#resume = run;
      },
    };
    this.moves = new PserverMoves({
      ...{ context, fence, lease, onFatal, me: this.me, owned: this.shards, leaseTtlMs: TTL_MS },
      ...{ view: this.#view, records: this.#records, connect: this.#connect },
      metrics: { times: UNTIMED, moved: (outcome) => this.outcomes.push(outcome) },
      withoutSaves: async () => {
        this.savesHeldBack += 1;
        return () => {
          this.savesHeldBack -= 1;
        };
      },
      isFrozen: () => this.isFrozen,
      isTaking: () => this.isTaking,
      onGained: () => {
        this.gained += 1;
      },
      onGivenUp: () => {
        this.givenUp += 1;
      },
      onRecovery: (number) => this.recoveries.push(number),
      ...(rounds === undefined ? {} : { rounds }),
      backups: backups?.(this),
    });
  }

  readonly #connect: ConnectMove = ({ target, onConnected, onAnswer }) => {
    let isClosed = false;
    setImmediate(onConnected);
    return {
      send: (message) => {
        setImmediate(async () => {
          const to = this.#world.all[target.index]!;
          if (this.isCutOff || to.isCutOff) return;
          const received = message.type === 'offer' ? { ...message, refusal: undefined } : message;
          for (const answer of await to.moves.received(received)) if (!isClosed) onAnswer(answer);
        });
      },
      close: () => {
        isClosed = true;
      },
    };
  };

  tell(status: PserverRecord['status'], unitBytes = 1_000_000): void {
    const { keys } = this.actor.context;
    const units = this.shards.heads.units().map((unit) => ({ unit, bytes: unitBytes }));
    const record = { id: this.index, instance: 'here', status, start_time: 1, sync: true, units };
    this.#world.data.txn({ if: [], then: [{ put: keys.pserver(this.index), value: JSON.stringify(record) }] });
  }

  be(state: Partial<Pick<Pserver, 'isHeld' | 'isFrozen' | 'isTaking' | 'isCutOff'>>): void {
    Object.assign(this, state);
  }

  resume(): void {
    this.#resume();
  }

  /** As requests do it: waits while a unit is handed over, then applies the push where its rows are. */
  async push(number: number): Promise<boolean> {
    const update = { pass: 0, task: 0, push: number, last: false, good: number + 1 };
    for (let wait = this.moves.wait('update'); wait !== undefined; wait = this.moves.wait('update')) await wait;
    const verdict = this.shards.ledgers.judge(update);
    if (verdict.outcome !== 'apply' || this.shards.numbers.length === 0) return false;
    const own = IDS.filter((id) => this.#has(id));
    const sparse = [
      rowsPart(
        0,
        own,
        own.flatMap((id) => [Number(id), number + 1]),
      ),
    ];
    const shards = verdict.shards ?? this.shards.numbers;
    const applied = { type: 'push', push: update, shards, rateScale: 1, dense: [], sparse } as const;
    this.shards.apply(applied);
    this.shards.raiseVersion();
    await this.moves.applied(() => applied);
    return true;
  }

  #has(id: bigint): boolean {
    try {
      this.shards.parameters.existingIds(0, BigUint64Array.of(id));
      return true;
    } catch {
      return false;
    }
  }

  end(): void {
    this.moves.close();
    this.#view.cancel();
    this.#records.cancel();
  }
}
