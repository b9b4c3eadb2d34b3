/** Both shells of a move, with a store: the unit goes over, or stays, and nothing waits for ever. */
import { beforeEach, describe, expect, it } from 'vitest';
import { changeHeads } from '../../../../src/cluster/placement/change-heads.ts';
import { type Head, parseHead, takenBy } from '../../../../src/cluster/placement/heads.ts';
import type { MoveAnswer, MoveMessage, MoveName } from '../../../../src/core/units/move-messages.ts';
import { OwnedHeads } from '../../../../src/roles/pserver/held/owned-heads.ts';
import { OwnedShards } from '../../../../src/roles/pserver/held/owned-shards.ts';
import type { CopyPiece } from '../../../../src/roles/pserver/transfer/copy-pieces.ts';
import { IncomingMove } from '../../../../src/roles/pserver/transfer/incoming-move.ts';
import { type MovePayload, OutgoingMove } from '../../../../src/roles/pserver/transfer/outgoing-move.ts';
import { SharedUpdate } from '../../../../src/roles/pserver/update/shared-update.ts';
import type { MemoryStoreData } from '../../../../src/store/memory-store.ts';
import { createIdRouter } from '../../../../src/tensor/id-router.ts';
import { trainedSpec } from '../../../../src/tensor/optimizer.ts';
import { makeParameters, rowsPart, SGD, table } from '../../../tensor/fixture.ts';
import { aStore, Master, settled } from '../../master/tasks/service-rig.ts';
import { firstHeads } from '../held/owned-heads.ts';
import { UNTIMED } from '../untimed.ts';

const SPEC = table(2);
const TRAINED = trainedSpec(SPEC, { optimizer: SGD });
/** Unit 1 has shards 1 and 3. */
const JOB = { spec: TRAINED, shards: 4, units: 2, tasks: 2 };
const OF = { ...JOB, router: createIdRouter({ shards: JOB.shards }) };
const UNIT = 1;
const ME = { index: 0, token: '7' };
const TARGET_INDEX = 1;
const IDS = Array.from({ length: 40 }, (_, id) => BigInt(id));

let data: MemoryStoreData;
let actor: Master;
let source: OwnedShards;
let target: OwnedShards;
let name: MoveName;
let outgoing: OutgoingMove;
let incoming: IncomingMove;
let messages: MoveMessage<MovePayload>[];
let answers: MoveAnswer[];
let fatal: unknown[];
let isLost: boolean;
let refusal: string | undefined;
/** Settled when no save is running. */
let saving: Promise<void>;
let savesHeldBack: number;
let pushes: number;

const memoryOf = (present: readonly number[]) =>
  makeParameters({ spec: SPEC, optimizer: SGD, shards: JOB.shards, present });
const headOf = (unit: number): Head => parseHead('head', data.get(actor.context.keys.head(unit))!.value);

beforeEach(async () => {
  const store = aStore();
  data = store.data;
  actor = new Master(store.clock, data);
  const { keys } = actor.context;
  data.txn({ if: [], then: [{ put: keys.ps(TARGET_INDEX), value: 'localhost:1' }] });
  const owner = { index: TARGET_INDEX, token: String(data.get(keys.ps(TARGET_INDEX))!.createRevision) };
  const by = { context: actor.context, fence: actor.fence };
  const changes = [0, 1].map((unit) => ({ unit, modRevision: 0n, head: takenBy(ME, undefined) }));
  const taken = (await changeHeads(by, changes)).map((one) => ({ ...one, head: one.head! }));
  const positions = { ledgers: new Map(), seqs: new Map() };
  source = new OwnedShards(JOB, new OwnedHeads(by, taken), { parameters: memoryOf([0, 1, 2, 3]), ...positions });
  target = new OwnedShards(JOB, firstHeads([]), { parameters: memoryOf([]), ...positions });
  name = { purpose: 'lead', unit: UNIT, epoch: 1, source: ME, target: owner, attempt: 1 };
  [messages, answers, fatal, isLost, refusal, pushes, savesHeldBack] = [[], [], [], false, undefined, 0, 0];
  saving = Promise.resolve();
  const { clock, log } = actor;
  incoming = new IncomingMove({
    ...{ clock, log, unit: UNIT, me: owner, owned: target },
    silenceMs: 2_000,
    look: see,
    onLost: () => {
      isLost = true;
    },
  });
  see();
  outgoing = new OutgoingMove({
    ...{ clock, log, shards: source, spec: TRAINED, name, windowBytes: 600, pieceBytes: 100 },
    ...{ silenceMs: 2_000, handOverMs: 3_000, times: UNTIMED },
    send: (message) => messages.push(message),
    withoutSaves: async () => {
      await saving;
      savesHeldBack += 1;
      return () => {
        savesHeldBack -= 1;
      };
    },
    onFatal: (error) => fatal.push(error),
  });
});

function see(): void {
  const entry = data.get(actor.context.keys.head(UNIT))!;
  incoming.seen({ unit: UNIT, head: parseHead('head', entry.value), modRevision: entry.modRevision }, true);
}

/** The next push of task 0, to all rows. */
function push(): Promise<void> | undefined {
  const update = { pass: 0, task: 0, push: pushes++, last: false, good: pushes };
  const sparse = [
    rowsPart(
      0,
      IDS,
      IDS.flatMap((id) => [Number(id), pushes]),
    ),
  ];
  const applied = {
    type: 'push',
    push: update,
    shards: [...source.numbers],
    rateScale: 1,
    dense: [],
    sparse,
  } as const;
  source.apply(applied);
  return outgoing.applied(new SharedUpdate({ of: OF, update: applied, units: [UNIT] }));
}

/** One message and one answer arrive. */
function deliver(): void {
  const message = messages.shift();
  if (message !== undefined) {
    answers.push(...incoming.received(message.type === 'offer' ? { ...message, refusal } : message));
  }
  const answer = answers.shift();
  if (answer !== undefined) outgoing.received(answer);
}

async function settle(): Promise<void> {
  while (messages.length + answers.length > 0) {
    deliver();
    await settled();
  }
}

const rowsOfUnit = (shards: OwnedShards): unknown =>
  [1, 3].map((shard) => {
    const { ids, values } = shards.parameters.exportRows(shard, 0);
    return [shard, [...ids], [...values], shards.momentOf(shard).seq];
  });

describe('a unit', () => {
  it('goes to another pserver while it is updated', async () => {
    push();
    outgoing.connected();
    for (let count = 0; count < 6; count++) {
      push();
      deliver();
    }
    await settle();
    expect(await outgoing.ended).toBe('moved');
    expect(headOf(UNIT)).toEqual({ epoch: 2, led: 2, primary: name.target, inSync: [name.target] });
    expect(source.heads.units()).toEqual([0]);
    expect(source.numbers).toEqual([0, 2]);
    expect(target.heads.units()).toEqual([UNIT]);
    expect(target.momentOf(3)).toMatchObject({ epoch: 2, seq: 7 });
    expect(outgoing.admits('read')).toBe(false);
    expect(savesHeldBack).toBe(0);
    expect(fatal).toEqual([]);
  });

  it('has the same values, positions and ledgers there', async () => {
    outgoing.connected();
    for (let count = 0; count < 12; count++) {
      push();
      deliver();
    }
    actor.troubled.hold();
    await settle();
    const at = rowsOfUnit(source);
    const ledger = Buffer.from(source.momentOf(1).ledger);
    actor.troubled.releaseHold();
    await outgoing.ended;
    await settle();
    expect(rowsOfUnit(target)).toEqual(at);
    expect(Buffer.from(target.momentOf(1).ledger)).toEqual(ledger);
  });

  it('lets requests wait during the hand-over, and judges them again after it', async () => {
    outgoing.connected();
    actor.troubled.hold();
    await settle();
    expect([outgoing.admits('read'), outgoing.admits('update')]).toEqual([false, false]);
    expect(savesHeldBack).toBe(1);
    const waiting = outgoing.settled.then(() => source.heads.units());
    actor.troubled.releaseHold();
    expect(await waiting).toEqual([0]);
  });

  it('is not handed over while a save is running', async () => {
    let end = (): void => {};
    saving = new Promise((resolve) => {
      end = resolve;
    });
    outgoing.connected();
    await settle();
    expect(headOf(UNIT).epoch).toBe(1);
    expect(outgoing.admits('update')).toBe(true);
    push();
    end();
    await settled();
    await settle();
    expect(await outgoing.ended).toBe('moved');
  });

  it('stays when the target refuses it', async () => {
    refusal = 'it is leaving';
    outgoing.connected();
    await settle();
    expect(await outgoing.ended).toBe('kept');
    expect(actor.log.messages).toContain('unit 1 stays: it is leaving');
    expect(source.heads.units()).toEqual([0, 1]);
  });

  it('stays when the target cannot put in what it gets, and leaves no memory there', async () => {
    outgoing.connected();
    deliver();
    const piece = messages.find((message) => message.type === 'frame')!;
    const content = {
      ...piece.frame.content,
      payload: { header: { part: 'rows', table: 9 }, segments: [] } as CopyPiece,
    };
    messages[0] = { type: 'frame', frame: { ...piece.frame, content } as typeof piece.frame };
    await settle();
    expect(await outgoing.ended).toBe('kept');
    expect(target.parameters.shards()).toEqual([]);
    expect(incoming.isComing).toBe(false);
  });

  it('stays when the target is silent: updates that waited are answered', async () => {
    push();
    outgoing.connected();
    deliver();
    expect(push()).toBeUndefined();
    const waiting = [push(), push()];
    expect(waiting[1]).toBeInstanceOf(Promise);
    await actor.clock.advance(2_000);
    await waiting[1];
    expect(actor.log.messages).toContain('unit 1 stays: the target is silent');
    // The target comes back, and lets go of its copy.
    outgoing.connected();
    await settle();
    expect(await outgoing.ended).toBe('kept');
    expect(target.parameters.shards()).toEqual([]);
  });

  it('stays when the target has lost its index, and the target frees its copy', async () => {
    outgoing.connected();
    data.txn({ if: [], then: [{ delete: actor.context.keys.ps(TARGET_INDEX) }] });
    await settle();
    expect(outgoing.admits('update')).toBe(true);
    expect(await outgoing.ended).toBe('kept');
    expect(headOf(UNIT)).toMatchObject({ epoch: 1, primary: ME });
    expect(target.parameters.shards()).toEqual([]);
    expect(savesHeldBack).toBe(0);
  });

  it('ends the source when that has lost its index', async () => {
    outgoing.connected();
    data.txn({ if: [], then: [{ delete: actor.fence.key }] });
    await settle();
    expect(fatal).toMatchObject([{ code: 'LeaseGone' }]);
    expect(outgoing.admits('read')).toBe(false);
  });

  it('is lost to a target that is named and has no sealed copy', () => {
    outgoing.connected();
    deliver();
    const head = takenBy(name.target, headOf(UNIT));
    incoming.seen({ unit: UNIT, head, modRevision: 99n }, true);
    expect(isLost).toBe(true);
    expect(target.heads.units()).toEqual([]);
  });
});
