/** A whole move over connections that break at any time: the unit goes over, or stays, with all its updates. */

import { describe, expect, it } from 'vitest';
import { takenBy } from '../../../../src/cluster/placement/heads.ts';
import type { MoveName, UnitOwner } from '../../../../src/core/units/move-messages.ts';
import type { RequestHandler } from '../../../../src/protocol/messages/channel.ts';
import { OwnedShards } from '../../../../src/roles/pserver/held/owned-shards.ts';
import { IncomingMove } from '../../../../src/roles/pserver/transfer/incoming-move.ts';
import { decodeMove, encodeAnswers, type MoveRequest } from '../../../../src/roles/pserver/transfer/move-codec.ts';
import { connectMove, type MoveConnection } from '../../../../src/roles/pserver/transfer/move-connection.ts';
import { OutgoingMove } from '../../../../src/roles/pserver/transfer/outgoing-move.ts';
import { SharedUpdate } from '../../../../src/roles/pserver/update/shared-update.ts';
import { createIdRouter } from '../../../../src/tensor/id-router.ts';
import { trainedSpec } from '../../../../src/tensor/optimizer.ts';
import * as fc from '../../../properties.ts';
import { MemoryLog } from '../../../protocol/rig.ts';
import { createDice } from '../../../sim/dice.ts';
import { SimulatedNetwork } from '../../../sim/network.ts';
import { SimulatedProcess } from '../../../sim/process.ts';
import { Timeline } from '../../../sim/timeline.ts';
import { makeParameters, rowsPart, SGD, table } from '../../../tensor/fixture.ts';
import { firstHeads } from '../held/owned-heads.ts';
import { UNTIMED } from '../untimed.ts';

const SPEC = table(2);
const TRAINED = trainedSpec(SPEC, { optimizer: SGD });
/** Unit 1 has shards 1 and 3. */
const JOB = { spec: TRAINED, shards: 4, units: 2, tasks: 2, passes: 1 };
const OF = { ...JOB, router: createIdRouter({ shards: JOB.shards }) };
const FIELDS = { job: 'job', batchPlanId: 'plan' };
const UNIT = 1;
const [SOURCE, TARGET]: UnitOwner[] = [
  { index: 0, token: '7' },
  { index: 1, token: '8' },
];
const NAME: MoveName = { purpose: 'lead', unit: UNIT, epoch: 1, source: SOURCE!, target: TARGET!, attempt: 1 };
const IDS = Array.from({ length: 40 }, (_, id) => BigInt(id));
/** A connection that breaks while it is made may be noticed only after five seconds: both are longer. */
const SILENCE_MS = 30_000;
const HAND_OVER_MS = 10_000;
const END_MS = 600_000;

class World {
  readonly timeline = new Timeline();
  readonly network: SimulatedNetwork;
  readonly source = shardsOf([0, 1], [0, 1, 2, 3]);
  readonly target = shardsOf([], []);
  readonly bugs: unknown[] = [];
  outcome: string | undefined;
  pushes = 0;
  readonly #processes: readonly [SimulatedProcess, SimulatedProcess];
  #head = takenBy(SOURCE!, undefined);
  #outgoing: OutgoingMove | undefined;

  constructor(seed: number) {
    const { timeline } = this;
    const dice = createDice(seed, 'moves');
    const bug = (_: SimulatedProcess, error: unknown): void => void this.bugs.push(error);
    this.network = new SimulatedNetwork({ processes: 2, timeline, dice, answered: () => {}, bug });
    const made = (name: string) => new SimulatedProcess({ name, role: 'pserver', life: 1 }, timeline, dice);
    this.#processes = [made('source'), made('target')];
  }

  async begin(): Promise<void> {
    const [process] = this.#processes;
    const { clock, random } = process;
    const log = new MemoryLog();
    const onFatal = (error: unknown): void => void this.bugs.push(error);
    const incoming = this.#incoming();
    const address = await this.#listen(incoming);
    this.source.heads.handOver = async () => {
      this.#head = takenBy(TARGET!, this.#head);
      this.timeline.after(20, () => this.#tell(incoming));
      return { outcome: 'succeeded' };
    };
    let connection: MoveConnection | undefined;
    const outgoing = new OutgoingMove({
      ...{ clock, log, shards: this.source, spec: TRAINED, name: NAME, windowBytes: 400, pieceBytes: 100 },
      ...{ silenceMs: SILENCE_MS, handOverMs: HAND_OVER_MS, onFatal, times: UNTIMED },
      send: (message) => connection?.send(message),
      withoutSaves: async () => () => {},
    });
    connection = connectMove({
      ...{ context: { host: { clock, random, log } as never, network: this.network.of(process) }, onFatal },
      ...{ job: FIELDS, target: { ...TARGET!, address } },
      onConnected: () => outgoing.connected(),
      onAnswer: (answer) => outgoing.received(answer),
    });
    this.#outgoing = outgoing;
    void outgoing.ended.then((outcome) => {
      this.outcome = outcome;
      connection.close();
    });
  }

  /** The next push of task 0, if it may be answered now. */
  push(): void {
    if (this.outcome !== undefined || this.#outgoing?.admits('update') === false) return;
    const update = { pass: 0, task: 0, push: this.pushes++, last: false, good: this.pushes };
    const gradients = IDS.flatMap((id) => [Number(id), this.pushes]);
    const sparse = [rowsPart(0, IDS, gradients)];
    const fields = { push: update, shards: [...this.source.numbers], rateScale: 1, dense: [], sparse };
    const applied = { type: 'push', ...fields } as const;
    this.source.apply(applied);
    void this.#outgoing?.applied(new SharedUpdate({ of: OF, update: applied, units: [UNIT] }));
  }

  sever(): void {
    for (const connection of [...this.network.connections]) connection.sever(true, true);
  }

  /** At the pserver that leads the unit. */
  rows(): unknown {
    const shards = this.outcome === 'moved' ? this.target : this.source;
    return [1, 3].map((shard) => {
      const { ids, values } = shards.parameters.exportRows(shard, 0);
      return [shard, [...ids], [...values], shards.momentOf(shard).seq];
    });
  }

  #incoming(): IncomingMove {
    const [, { clock }] = this.#processes;
    const incoming: IncomingMove = new IncomingMove({
      ...{ clock, log: new MemoryLog(), unit: UNIT, me: TARGET!, owned: this.target, silenceMs: SILENCE_MS },
      look: () => this.#tell(incoming),
      onLost: () => this.bugs.push('the target is named and has no copy'),
    });
    this.#tell(incoming);
    return incoming;
  }

  #tell(incoming: IncomingMove): void {
    incoming.seen({ unit: UNIT, head: this.#head, modRevision: BigInt(this.#head.epoch) }, true);
  }

  async #listen(incoming: IncomingMove): Promise<string> {
    const handler: RequestHandler = (request) => {
      const { type } = request.header;
      if (type === 'openMove') return { header: { type } };
      const answers = incoming.received(decodeMove(JOB, request as typeof request & { header: MoveRequest }));
      return { header: { type: type as MoveRequest['type'], answers: encodeAnswers(answers) } };
    };
    const http = async () => undefined;
    const { port } = await this.network.of(this.#processes[1]).listen({ listen: 'localhost:0', handler, http });
    return `localhost:${port}`;
  }
}

function shardsOf(units: readonly number[], present: readonly number[]): OwnedShards {
  const parameters = makeParameters({ spec: SPEC, optimizer: SGD, shards: JOB.shards, present });
  return new OwnedShards(JOB, firstHeads(units), { parameters, ledgers: new Map(), seqs: new Map() });
}

/** Where pushes come and connections break, all in the first two seconds. */
const happenings = fc.record({
  seed: fc.nat(1000),
  pushesMs: fc.array(fc.nat(2_000), { minLength: 1, maxLength: 25 }),
  breaksMs: fc.array(fc.nat(2_000), { maxLength: 6 }),
});

async function moved(seed: number, pushesMs: readonly number[], more: (world: World) => void): Promise<World> {
  const world = new World(seed);
  await world.begin();
  for (const at of pushesMs) world.timeline.after(at, () => world.push());
  more(world);
  await world.timeline.run(() => false, END_MS);
  expect(world.bugs).toEqual([]);
  return world;
}

describe('a unit that moves over the network', () => {
  it('has every update once, however often connections break', async () => {
    await fc.assert(
      fc.asyncProperty(happenings, async ({ seed, pushesMs, breaksMs }) => {
        const world = await moved(seed, pushesMs, (one) => {
          for (const at of breaksMs) one.timeline.after(at, () => one.sever());
        });
        expect(world.outcome).toBe('moved');
        expect(world.target.heads.units()).toEqual([UNIT]);
        const alone = new World(seed);
        for (let push = 0; push < world.pushes; push++) alone.push();
        expect(world.rows()).toEqual(alone.rows());
        expect(world.network.connections.size).toBe(0);
      }),
      // A hand-over that waits for a connection which broke while it was made.
      { numRuns: 60, examples: [[{ seed: 843, pushesMs: [35], breaksMs: [130, 54] }]] },
    );
  });

  it('stays where it is when the target cannot be reached, and nothing is left at the target', async () => {
    const world = await moved(3, [0, 100, 900], ({ timeline, network }) => {
      // For longer than the source waits; then both hear of each other again.
      timeline.after(60, () => timeline.after(90_000, network.block('source', 'target')));
    });
    expect(world.outcome).toBe('kept');
    expect(world.source.heads.units()).toEqual([0, UNIT]);
    expect(world.target.parameters.shards()).toEqual([]);
    expect(world.pushes).toBe(3);
  });
});
