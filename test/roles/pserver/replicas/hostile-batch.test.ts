/** What no primary would send is refused, and what no backup would answer. */
import { expect, it } from 'vitest';
import { LIMITS } from '../../../../src/base/limits.ts';
import type { Received } from '../../../../src/protocol/messages/channel.ts';
import { parseRequest } from '../../../../src/protocol/messages/parse.ts';
import { packRows } from '../../../../src/roles/pserver/replicas/frame-rows.ts';
import {
  decodeAnswers,
  decodeBatch,
  type ReplicateReply,
  type ReplicateRequest,
} from '../../../../src/roles/pserver/replicas/replicate-codec.ts';
import { bytesOf, idBytes } from '../../../tensor/fixture.ts';
import { PARTS, TASKS, UNITS } from './updates.ts';
import { arrived, ENDS, FIELDS, JOB, OWN_ORDER } from './wire-rig.ts';

const POSITION = { pass: 0, task: 0, push: 0, last: false, good: 1 };
const BEGIN = 1;
const STAGE = 2;
const COMMIT = 3;
const stageOf = (unit: number): number[] => [STAGE, unit, 3, 6, 3, 5];
const none = new Uint8Array(0);

interface Sent {
  readonly header?: Record<string, unknown>;
  readonly frames?: readonly (readonly number[])[];
  readonly tails?: readonly (readonly number[])[];
  /** Of the update. */
  readonly segments?: readonly Uint8Array[];
  /** Instead of all segments. */
  readonly whole?: readonly Uint8Array[];
}

function refused({ header = {}, frames = [], tails = [], segments = [], whole }: Sent): unknown {
  const fields = { type: 'replicate', ...FIELDS, ...ENDS, left: [], order: 0, late: false, ...header };
  const request = arrived(fields, whole ?? [packRows(frames.flat()), packRows(tails.flat()), ...segments]);
  return decodeBatch(JOB, { ...request, header: parseRequest(request.header) as ReplicateRequest }, OWN_ORDER);
}

const PUSH_HEADER = { type: 'push', ...POSITION, rateScale: 1, dense: [], sparse: [] };
const u32 = (...numbers: number[]): Uint8Array => bytesOf(Uint32Array.from(numbers));
const f32 = (count: number): Uint8Array => bytesOf(new Float32Array(count));
/** Staged in unit 1, whose shards are 1, 7 and 13. */
const ofPush = (fields: Record<string, unknown>, segments: readonly Uint8Array[], more: Sent = {}): Sent => ({
  ...{ frames: [stageOf(1)], segments, ...more },
  header: { order: 1, update: { ...PUSH_HEADER, ...fields }, ...more.header },
});
const ofRows = (ids: Uint8Array, gradients: Uint8Array): Sent =>
  ofPush({ sparse: [{ table: 0 }] }, [u32(1, 7, 13), ids, gradients]);
const ofBlocks = (blocks: Uint8Array, gradients: Uint8Array, parameter = 1): Sent =>
  ofPush({ dense: [{ parameter }] }, [u32(1, 7, 13), blocks, gradients]);
const CLOSE = { type: 'close', tasks: [{ pass: 0, task: 0, records: 1 }] };
const ofClose = (more: Sent): Sent => ({
  frames: [stageOf(1)],
  ...more,
  header: { order: 1, update: CLOSE, ...more.header },
});

it('takes what the refused ones are made from', () => {
  expect(refused(ofPush({}, [u32(1, 7, 13)]))).toMatchObject({ batch: { order: 1 } });
  expect(refused(ofClose({}))).toMatchObject({ batch: { order: 1 } });
  expect(refused({ frames: [[BEGIN, 1, 3, 4, 4, 1]], tails: [[2, 3]] })).toMatchObject({ batch: { order: 0 } });
});

it.each<[string, Sent]>([
  ['no segments', { whole: [] }],
  ['frames without tails', { whole: [none] }],
  ['half a frame', { whole: [new Uint8Array(40), none] }],
  ['frames in odd bytes', { whole: [new Uint8Array(49), none] }],
  ['more frames than the job has units', { whole: [new Uint8Array(48 * (UNITS + 1)), none] }],
  ['half a run', { whole: [none, new Uint8Array(8)] }],
  ['more runs than there can be', { whole: [none, new Uint8Array(16 * (LIMITS.replicaTailRuns + 1))] }],
  ['a number of 54 bits', { whole: [u32(COMMIT, 0, 1, 0, 3, 0, 0, 2 ** 21, 0, 0, 0, 0), none] }],
  ['a frame of no kind', { frames: [[0, 1, 3, 0, 0, 0]] }],
  ['a frame of another kind', { frames: [[4, 1, 3, 0, 0, 0]] }],
  ['a unit that the job does not have', { frames: [[COMMIT, UNITS, 3, 5, 0, 0]] }],
  [
    'a unit twice',
    {
      frames: [
        [COMMIT, 1, 3, 5, 0, 0],
        [COMMIT, 1, 3, 6, 0, 0],
      ],
    },
  ],
  ['an epoch of no head', { frames: [[COMMIT, 1, 0, 5, 0, 0]] }],
  ['a commit position with more', { frames: [[COMMIT, 1, 3, 5, 1, 0]] }],
  ['a beginning without its tail', { frames: [[BEGIN, 1, 3, 4, 4, 1]] }],
  ['a tail of no beginning', { tails: [[2, 3]] }],
  ['a tail of nothing', { frames: [[BEGIN, 1, 3, 4, 4, 1]], tails: [[2, 0]] }],
  ['a tail of no epoch', { frames: [[BEGIN, 1, 3, 4, 4, 1]], tails: [[0, 2]] }],
  ['a tail of a later epoch', { frames: [[BEGIN, 1, 3, 4, 4, 1]], tails: [[4, 2]] }],
  ['a tail that no window holds', { frames: [[BEGIN, 1, 3, 4, 4, 1]], tails: [[2, LIMITS.replicaTails + 1]] }],
  [
    'tails that no window holds',
    {
      frames: [
        [BEGIN, 1, 3, 4, 4, 1],
        [BEGIN, 2, 3, 4, 4, 1],
      ],
      tails: [
        [2, LIMITS.replicaTails],
        [2, 1],
      ],
    },
  ],
  ['a tail beyond all positions', { frames: [[BEGIN, 1, 3, Number.MAX_SAFE_INTEGER, 4, 1]], tails: [[2, 1]] }],
  ['a beginning that has committed what it lacks', { frames: [[BEGIN, 1, 3, 4, 8, 1]], tails: [[2, 3]] }],
  ['a stage at no position', ofClose({ frames: [[STAGE, 1, 3, 0, 3, 0]] })],
  ['a stage of no epoch', ofClose({ frames: [[STAGE, 1, 3, 6, 0, 5]] })],
  ['a stage of a later epoch', ofClose({ frames: [[STAGE, 1, 3, 6, 4, 5]] })],
  ['a unit left that the job does not have', { header: { left: [UNITS] } }],
  ['more units left than there are', { header: { left: Array(LIMITS.units + 1).fill(0) } }],
  ['an order without an update', { header: { order: 1 } }],
  ['late, without an update', { header: { late: true } }],
  ['a payload without an update', { segments: [none] }],
  ['an update that no unit stages', { header: { order: 1, update: CLOSE } }],
  ['a stage without an update', { header: { order: 1 }, frames: [stageOf(1)] }],
  ['an update without an order', ofClose({ header: { order: 0 } })],
  ['a token that is no number', { header: { primary: { index: 0, token: 'x' } } }],
  ['an index beyond all', { header: { member: { index: LIMITS.pservers, token: '8' } } }],
  ['a closure with a payload', ofClose({ segments: [none] })],
  [
    'a closure of a task that the job does not have',
    ofClose({ header: { update: { type: 'close', tasks: [{ pass: 0, task: TASKS, records: 1 }] } } }),
  ],
  ['a push without its shards', ofPush({}, [])],
  ['a push of a task that the job does not have', ofPush({ task: TASKS }, [u32(1)])],
  ['a push of no shards', ofPush({}, [none])],
  ['a push of shards that the job does not have', ofPush({}, [u32(1, PARTS.shards)])],
  ['a push of a shard twice', ofPush({}, [u32(1, 1)])],
  ['a push of shards in another order', ofPush({}, [u32(7, 1)])],
  ['a push of shards of a unit that does not stage it', ofPush({}, [u32(1, 2)])],
  ['a push that a unit stages and does not apply', ofPush({}, [u32(1)], { frames: [stageOf(1), stageOf(2)] })],
  ['rows without gradients', ofPush({ sparse: [{ table: 0 }] }, [u32(1), none])],
  ['a table that the model does not have', ofPush({ sparse: [{ table: 2 }] }, [u32(1), none, none])],
  ['a table twice', ofPush({ sparse: [{ table: 0 }, { table: 0 }] }, [u32(1), none, none, none, none])],
  ['ids in odd bytes', ofRows(new Uint8Array(7), f32(2))],
  ['gradients that are too short', ofRows(idBytes([0n]), f32(1))],
  ['rows of units that do not stage it', ofRows(idBytes(Array.from({ length: 40 }, (_, id) => BigInt(id))), f32(80))],
  ['a parameter that the model does not have', ofBlocks(none, none, 2)],
  ['a parameter twice', ofPush({ dense: [{ parameter: 0 }, { parameter: 0 }] }, [u32(1), none, none, none, none])],
  ['blocks in odd bytes', ofBlocks(new Uint8Array(7), none)],
  ['a block that the parameter does not have', ofBlocks(u32(1), f32(5))],
  ['gradients that are too long', ofBlocks(u32(0), f32(6))],
  ['blocks in another order', ofBlocks(u32(1, 0), f32(2 * 16_384), 0)],
  ['blocks of units that do not stage it', ofBlocks(u32(0, 1, 2, 3), f32(4 * 16_384), 0)],
])('refuses %s', (_, sent) => {
  expect(() => refused(sent)).toThrow(expect.objectContaining({ code: 'BadMessage' }));
});

it.each<[string, readonly Uint8Array[]]>([
  ['no segment', []],
  ['two segments', [none, none]],
  ['half an answer', [new Uint8Array(16)]],
  ['more answers than there can be units', [new Uint8Array(24 * (LIMITS.units + 1))]],
  ['an answer of no kind', [packRows([4, 0, 0])]],
  ['positions of what is not staged', [packRows([2, 1, 0])]],
])('refuses an answer with %s', (_, segments) => {
  const reply: Received<ReplicateReply> = arrived({ type: 'replicate' as const }, segments);
  expect(() => decodeAnswers(reply)).toThrow(expect.objectContaining({ code: 'BadMessage' }));
});
