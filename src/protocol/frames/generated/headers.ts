/** Made by scripts/generate-headers.ts from src/protocol/messages/hot-messages.ts: change these. */

import type { Cursor } from '../cursor.ts';
import type { FrameKind } from '../frame-kind.ts';
import { choices, opening, shortText } from '../header-bytes.ts';
import { LastText } from '../last-text.ts';
import { isPlainMap, type Pen, type PlainMap } from '../pen.ts';

const MAX_COUNT = Number.MAX_SAFE_INTEGER;

const OPENING = {
  pull: opening('pull'),
  push: opening('push'),
  pullVersion: opening('pullVersion'),
  pushLane: opening('pushLane'),
  replicate: opening('replicate'),
} as const;

const KEY = {
  job: shortText('job'),
  batchPlanId: shortText('batchPlanId'),
  placement: shortText('placement'),
  revision: shortText('revision'),
  shards: shortText('shards'),
  hold: shortText('hold'),
  trainer: shortText('trainer'),
  pushes: shortText('pushes'),
  since: shortText('since'),
  dense: shortText('dense'),
  parameter: shortText('parameter'),
  sparse: shortText('sparse'),
  table: shortText('table'),
  pass: shortText('pass'),
  task: shortText('task'),
  push: shortText('push'),
  last: shortText('last'),
  good: shortText('good'),
  used: shortText('used'),
  version: shortText('version'),
  pull: shortText('pull'),
  timeline: shortText('timeline'),
  maxWaitMs: shortText('maxWaitMs'),
  round: shortText('round'),
  lane: shortText('lane'),
  batch: shortText('batch'),
  records: shortText('records'),
  metrics: shortText('metrics'),
  weight: shortText('weight'),
  loss: shortText('loss'),
  correct: shortText('correct'),
  squaredError: shortText('squaredError'),
  primary: shortText('primary'),
  index: shortText('index'),
  token: shortText('token'),
  member: shortText('member'),
  left: shortText('left'),
  order: shortText('order'),
  late: shortText('late'),
  update: shortText('update'),
  type: shortText('type'),
  rateScale: shortText('rateScale'),
  outcome: shortText('outcome'),
  recovery: shortText('recovery'),
  waitedMs: shortText('waitedMs'),
} as const;

const TYPE_PUSH = choices('push');
const OUTCOME_APPLIED_DUPLICATE = choices('applied', 'duplicate');
const OUTCOME_TAKEN_DUPLICATE = choices('taken', 'duplicate');

/** The texts read last. */
const LAST = {
  job: new LastText(),
  batchPlanId: new LastText(),
  placementRevision: new LastText(),
  holdTrainer: new LastText(),
  usedRevision: new LastText(),
  primaryToken: new LastText(),
  memberToken: new LastText(),
} as const;

function writePlacement(pen: Pen, value: unknown): void {
  if (!isPlainMap(value)) {
    pen.fail();
    return;
  }
  const { revision, shards } = value;
  pen.openMap(value, 2);
  pen.bytes(KEY.revision);
  pen.text(revision, 20);
  pen.bytes(KEY.shards);
  pen.number(shards);
}

function writeHold(pen: Pen, value: unknown): void {
  if (!isPlainMap(value)) {
    pen.fail();
    return;
  }
  const { trainer, pushes, since } = value;
  pen.openMap(value, 2 + (since === undefined ? 0 : 1));
  pen.bytes(KEY.trainer);
  pen.text(trainer, 256);
  pen.bytes(KEY.pushes);
  pen.number(pushes);
  if (since !== undefined) {
    pen.bytes(KEY.since);
    pen.number(since);
  }
}

function writeDenseItem(pen: Pen, value: unknown): void {
  if (!isPlainMap(value)) {
    pen.fail();
    return;
  }
  const { parameter } = value;
  pen.openMap(value, 1);
  pen.bytes(KEY.parameter);
  pen.number(parameter);
}

function writeDense(pen: Pen, value: unknown): void {
  if (!Array.isArray(value)) {
    pen.fail();
    return;
  }
  pen.openList(value.length);
  for (const item of value) writeDenseItem(pen, item);
}

function writeSparseItem(pen: Pen, value: unknown): void {
  if (!isPlainMap(value)) {
    pen.fail();
    return;
  }
  const { table } = value;
  pen.openMap(value, 1);
  pen.bytes(KEY.table);
  pen.number(table);
}

function writeSparse(pen: Pen, value: unknown): void {
  if (!Array.isArray(value)) {
    pen.fail();
    return;
  }
  pen.openList(value.length);
  for (const item of value) writeSparseItem(pen, item);
}

function writePullRequest(pen: Pen, header: PlainMap): void {
  const { job, batchPlanId, placement, hold, dense, sparse } = header;
  pen.openMap(header, 6 + (hold === undefined ? 0 : 1));
  pen.bytes(OPENING.pull);
  pen.bytes(KEY.job);
  pen.text(job, 256);
  pen.bytes(KEY.batchPlanId);
  pen.text(batchPlanId, 256);
  pen.bytes(KEY.placement);
  writePlacement(pen, placement);
  if (hold !== undefined) {
    pen.bytes(KEY.hold);
    writeHold(pen, hold);
  }
  pen.bytes(KEY.dense);
  writeDense(pen, dense);
  pen.bytes(KEY.sparse);
  writeSparse(pen, sparse);
}

function readPlacement(cursor: Cursor): unknown {
  const pairs = cursor.openMap();
  cursor.key(KEY.revision);
  const revision = cursor.decimal(LAST.placementRevision);
  cursor.key(KEY.shards);
  const shards = cursor.count(MAX_COUNT);
  cursor.expect(pairs === 2);
  return { revision, shards };
}

function readHold(cursor: Cursor): unknown {
  const pairs = cursor.openMap();
  cursor.key(KEY.trainer);
  const trainer = cursor.text(256, LAST.holdTrainer);
  cursor.key(KEY.pushes);
  const pushes = cursor.count(MAX_COUNT);
  const since = cursor.meets(KEY.since) ? cursor.count(MAX_COUNT) : undefined;
  cursor.expect(pairs === 2 + (since === undefined ? 0 : 1));
  const map: Record<string, unknown> = { trainer, pushes };
  if (since !== undefined) map.since = since;
  return map;
}

function readDenseItem(cursor: Cursor): unknown {
  const pairs = cursor.openMap();
  cursor.key(KEY.parameter);
  const parameter = cursor.count(1023);
  cursor.expect(pairs === 1);
  return { parameter };
}

function readDense(cursor: Cursor): unknown {
  const list: unknown[] = [];
  const items = cursor.openList(1024);
  for (let i = 0; i < items && !cursor.hasFailed; i++) list.push(readDenseItem(cursor));
  return list;
}

function readSparseItem(cursor: Cursor): unknown {
  const pairs = cursor.openMap();
  cursor.key(KEY.table);
  const table = cursor.count(1023);
  cursor.expect(pairs === 1);
  return { table };
}

function readSparse(cursor: Cursor): unknown {
  const list: unknown[] = [];
  const items = cursor.openList(1024);
  for (let i = 0; i < items && !cursor.hasFailed; i++) list.push(readSparseItem(cursor));
  return list;
}

function readPullRequest(cursor: Cursor, pairs: number): unknown {
  cursor.key(KEY.job);
  const job = cursor.text(256, LAST.job);
  cursor.key(KEY.batchPlanId);
  const batchPlanId = cursor.text(256, LAST.batchPlanId);
  cursor.key(KEY.placement);
  const placement = readPlacement(cursor);
  const hold = cursor.meets(KEY.hold) ? readHold(cursor) : undefined;
  cursor.key(KEY.dense);
  const dense = readDense(cursor);
  cursor.key(KEY.sparse);
  const sparse = readSparse(cursor);
  cursor.expect(pairs === 6 + (hold === undefined ? 0 : 1));
  const map: Record<string, unknown> = { type: 'pull', job, batchPlanId, placement, dense, sparse };
  if (hold !== undefined) map.hold = hold;
  return map;
}

function writeUsed(pen: Pen, value: unknown): void {
  if (!isPlainMap(value)) {
    pen.fail();
    return;
  }
  const { revision, version } = value;
  pen.openMap(value, 2);
  pen.bytes(KEY.revision);
  pen.text(revision, 20);
  pen.bytes(KEY.version);
  pen.number(version);
}

function writePull(pen: Pen, value: unknown): void {
  if (!isPlainMap(value)) {
    pen.fail();
    return;
  }
  const { dense, sparse } = value;
  pen.openMap(value, 2);
  pen.bytes(KEY.dense);
  writeDense(pen, dense);
  pen.bytes(KEY.sparse);
  writeSparse(pen, sparse);
}

function writePushRequest(pen: Pen, header: PlainMap): void {
  const { job, batchPlanId, pass, task, push, last, good, placement, used, dense, sparse, pull } = header;
  pen.openMap(header, 11 + (used === undefined ? 0 : 1) + (pull === undefined ? 0 : 1));
  pen.bytes(OPENING.push);
  pen.bytes(KEY.job);
  pen.text(job, 256);
  pen.bytes(KEY.batchPlanId);
  pen.text(batchPlanId, 256);
  pen.bytes(KEY.pass);
  pen.number(pass);
  pen.bytes(KEY.task);
  pen.number(task);
  pen.bytes(KEY.push);
  pen.number(push);
  pen.bytes(KEY.last);
  pen.flag(last);
  pen.bytes(KEY.good);
  pen.number(good);
  pen.bytes(KEY.placement);
  writePlacement(pen, placement);
  if (used !== undefined) {
    pen.bytes(KEY.used);
    writeUsed(pen, used);
  }
  pen.bytes(KEY.dense);
  writeDense(pen, dense);
  pen.bytes(KEY.sparse);
  writeSparse(pen, sparse);
  if (pull !== undefined) {
    pen.bytes(KEY.pull);
    writePull(pen, pull);
  }
}

function readUsed(cursor: Cursor): unknown {
  const pairs = cursor.openMap();
  cursor.key(KEY.revision);
  const revision = cursor.decimal(LAST.usedRevision);
  cursor.key(KEY.version);
  const version = cursor.count(MAX_COUNT);
  cursor.expect(pairs === 2);
  return { revision, version };
}

function readPull(cursor: Cursor): unknown {
  const pairs = cursor.openMap();
  cursor.key(KEY.dense);
  const dense = readDense(cursor);
  cursor.key(KEY.sparse);
  const sparse = readSparse(cursor);
  cursor.expect(pairs === 2);
  return { dense, sparse };
}

function readPushRequest(cursor: Cursor, pairs: number): unknown {
  cursor.key(KEY.job);
  const job = cursor.text(256, LAST.job);
  cursor.key(KEY.batchPlanId);
  const batchPlanId = cursor.text(256, LAST.batchPlanId);
  cursor.key(KEY.pass);
  const pass = cursor.count(MAX_COUNT);
  cursor.key(KEY.task);
  const task = cursor.count(MAX_COUNT);
  cursor.key(KEY.push);
  const push = cursor.count(MAX_COUNT);
  cursor.key(KEY.last);
  const last = cursor.flag();
  cursor.key(KEY.good);
  const good = cursor.count(MAX_COUNT);
  cursor.key(KEY.placement);
  const placement = readPlacement(cursor);
  const used = cursor.meets(KEY.used) ? readUsed(cursor) : undefined;
  cursor.key(KEY.dense);
  const dense = readDense(cursor);
  cursor.key(KEY.sparse);
  const sparse = readSparse(cursor);
  const pull = cursor.meets(KEY.pull) ? readPull(cursor) : undefined;
  cursor.expect(pairs === 11 + (used === undefined ? 0 : 1) + (pull === undefined ? 0 : 1));
  const map: Record<string, unknown> = {
    type: 'push',
    job,
    batchPlanId,
    pass,
    task,
    push,
    last,
    good,
    placement,
    dense,
    sparse,
  };
  if (used !== undefined) map.used = used;
  if (pull !== undefined) map.pull = pull;
  return map;
}

function writePullVersionRequest(pen: Pen, header: PlainMap): void {
  const { job, batchPlanId, timeline, version, maxWaitMs, placement, dense, sparse } = header;
  pen.openMap(header, 9);
  pen.bytes(OPENING.pullVersion);
  pen.bytes(KEY.job);
  pen.text(job, 256);
  pen.bytes(KEY.batchPlanId);
  pen.text(batchPlanId, 256);
  pen.bytes(KEY.timeline);
  pen.number(timeline);
  pen.bytes(KEY.version);
  pen.number(version);
  pen.bytes(KEY.maxWaitMs);
  pen.number(maxWaitMs);
  pen.bytes(KEY.placement);
  writePlacement(pen, placement);
  pen.bytes(KEY.dense);
  writeDense(pen, dense);
  pen.bytes(KEY.sparse);
  writeSparse(pen, sparse);
}

function readPullVersionRequest(cursor: Cursor, pairs: number): unknown {
  cursor.key(KEY.job);
  const job = cursor.text(256, LAST.job);
  cursor.key(KEY.batchPlanId);
  const batchPlanId = cursor.text(256, LAST.batchPlanId);
  cursor.key(KEY.timeline);
  const timeline = cursor.count(MAX_COUNT);
  cursor.key(KEY.version);
  const version = cursor.count(MAX_COUNT);
  cursor.key(KEY.maxWaitMs);
  const maxWaitMs = cursor.count(60000);
  cursor.key(KEY.placement);
  const placement = readPlacement(cursor);
  cursor.key(KEY.dense);
  const dense = readDense(cursor);
  cursor.key(KEY.sparse);
  const sparse = readSparse(cursor);
  cursor.expect(pairs === 9);
  return { type: 'pullVersion', job, batchPlanId, timeline, version, maxWaitMs, placement, dense, sparse };
}

function writeBatch(pen: Pen, value: unknown): void {
  if (!isPlainMap(value)) {
    pen.fail();
    return;
  }
  const { pass, task, push, last, good } = value;
  pen.openMap(value, 5);
  pen.bytes(KEY.pass);
  pen.number(pass);
  pen.bytes(KEY.task);
  pen.number(task);
  pen.bytes(KEY.push);
  pen.number(push);
  pen.bytes(KEY.last);
  pen.flag(last);
  pen.bytes(KEY.good);
  pen.number(good);
}

function writeMetrics(pen: Pen, value: unknown): void {
  if (!isPlainMap(value)) {
    pen.fail();
    return;
  }
  const { records, weight, loss, correct, squaredError } = value;
  pen.openMap(value, 5);
  pen.bytes(KEY.records);
  pen.number(records);
  pen.bytes(KEY.weight);
  pen.number(weight);
  pen.bytes(KEY.loss);
  pen.number(loss);
  pen.bytes(KEY.correct);
  pen.number(correct);
  pen.bytes(KEY.squaredError);
  pen.number(squaredError);
}

function writePushLaneRequest(pen: Pen, header: PlainMap): void {
  const { job, batchPlanId, timeline, round, lane, batch, records, metrics, placement, dense, sparse } = header;
  pen.openMap(header, 11 + (batch === undefined ? 0 : 1));
  pen.bytes(OPENING.pushLane);
  pen.bytes(KEY.job);
  pen.text(job, 256);
  pen.bytes(KEY.batchPlanId);
  pen.text(batchPlanId, 256);
  pen.bytes(KEY.timeline);
  pen.number(timeline);
  pen.bytes(KEY.round);
  pen.number(round);
  pen.bytes(KEY.lane);
  pen.number(lane);
  if (batch !== undefined) {
    pen.bytes(KEY.batch);
    writeBatch(pen, batch);
  }
  pen.bytes(KEY.records);
  pen.number(records);
  pen.bytes(KEY.metrics);
  writeMetrics(pen, metrics);
  pen.bytes(KEY.placement);
  writePlacement(pen, placement);
  pen.bytes(KEY.dense);
  writeDense(pen, dense);
  pen.bytes(KEY.sparse);
  writeSparse(pen, sparse);
}

function readBatch(cursor: Cursor): unknown {
  const pairs = cursor.openMap();
  cursor.key(KEY.pass);
  const pass = cursor.count(MAX_COUNT);
  cursor.key(KEY.task);
  const task = cursor.count(MAX_COUNT);
  cursor.key(KEY.push);
  const push = cursor.count(MAX_COUNT);
  cursor.key(KEY.last);
  const last = cursor.flag();
  cursor.key(KEY.good);
  const good = cursor.count(MAX_COUNT);
  cursor.expect(pairs === 5);
  return { pass, task, push, last, good };
}

function readMetrics(cursor: Cursor): unknown {
  const pairs = cursor.openMap();
  cursor.key(KEY.records);
  const records = cursor.count(MAX_COUNT);
  cursor.key(KEY.weight);
  const weight = cursor.real();
  cursor.key(KEY.loss);
  const loss = cursor.real();
  cursor.key(KEY.correct);
  const correct = cursor.real();
  cursor.key(KEY.squaredError);
  const squaredError = cursor.real();
  cursor.expect(pairs === 5);
  return { records, weight, loss, correct, squaredError };
}

function readPushLaneRequest(cursor: Cursor, pairs: number): unknown {
  cursor.key(KEY.job);
  const job = cursor.text(256, LAST.job);
  cursor.key(KEY.batchPlanId);
  const batchPlanId = cursor.text(256, LAST.batchPlanId);
  cursor.key(KEY.timeline);
  const timeline = cursor.count(MAX_COUNT);
  cursor.key(KEY.round);
  const round = cursor.count(MAX_COUNT);
  cursor.key(KEY.lane);
  const lane = cursor.count(4095);
  const batch = cursor.meets(KEY.batch) ? readBatch(cursor) : undefined;
  cursor.key(KEY.records);
  const records = cursor.count(MAX_COUNT);
  cursor.key(KEY.metrics);
  const metrics = readMetrics(cursor);
  cursor.key(KEY.placement);
  const placement = readPlacement(cursor);
  cursor.key(KEY.dense);
  const dense = readDense(cursor);
  cursor.key(KEY.sparse);
  const sparse = readSparse(cursor);
  cursor.expect(pairs === 11 + (batch === undefined ? 0 : 1));
  const map: Record<string, unknown> = {
    type: 'pushLane',
    job,
    batchPlanId,
    timeline,
    round,
    lane,
    records,
    metrics,
    placement,
    dense,
    sparse,
  };
  if (batch !== undefined) map.batch = batch;
  return map;
}

function writePrimary(pen: Pen, value: unknown): void {
  if (!isPlainMap(value)) {
    pen.fail();
    return;
  }
  const { index, token } = value;
  pen.openMap(value, 2);
  pen.bytes(KEY.index);
  pen.number(index);
  pen.bytes(KEY.token);
  pen.text(token, 20);
}

function writeMember(pen: Pen, value: unknown): void {
  if (!isPlainMap(value)) {
    pen.fail();
    return;
  }
  const { index, token } = value;
  pen.openMap(value, 2);
  pen.bytes(KEY.index);
  pen.number(index);
  pen.bytes(KEY.token);
  pen.text(token, 20);
}

function writeUpdate(pen: Pen, value: unknown): void {
  if (!isPlainMap(value)) {
    pen.fail();
    return;
  }
  const { type, pass, task, push, last, good, rateScale, dense, sparse } = value;
  pen.openMap(value, 9);
  pen.bytes(KEY.type);
  pen.choice(type, TYPE_PUSH);
  pen.bytes(KEY.pass);
  pen.number(pass);
  pen.bytes(KEY.task);
  pen.number(task);
  pen.bytes(KEY.push);
  pen.number(push);
  pen.bytes(KEY.last);
  pen.flag(last);
  pen.bytes(KEY.good);
  pen.number(good);
  pen.bytes(KEY.rateScale);
  pen.number(rateScale);
  pen.bytes(KEY.dense);
  writeDense(pen, dense);
  pen.bytes(KEY.sparse);
  writeSparse(pen, sparse);
}

function writeReplicateRequest(pen: Pen, header: PlainMap): void {
  const { job, batchPlanId, primary, member, left, order, late, update } = header;
  pen.openMap(header, 8 + (update === undefined ? 0 : 1));
  pen.bytes(OPENING.replicate);
  pen.bytes(KEY.job);
  pen.text(job, 256);
  pen.bytes(KEY.batchPlanId);
  pen.text(batchPlanId, 256);
  pen.bytes(KEY.primary);
  writePrimary(pen, primary);
  pen.bytes(KEY.member);
  writeMember(pen, member);
  pen.bytes(KEY.left);
  pen.counts(left);
  pen.bytes(KEY.order);
  pen.number(order);
  pen.bytes(KEY.late);
  pen.flag(late);
  if (update !== undefined) {
    pen.bytes(KEY.update);
    writeUpdate(pen, update);
  }
}

function readPrimary(cursor: Cursor): unknown {
  const pairs = cursor.openMap();
  cursor.key(KEY.index);
  const index = cursor.count(1023);
  cursor.key(KEY.token);
  const token = cursor.decimal(LAST.primaryToken);
  cursor.expect(pairs === 2);
  return { index, token };
}

function readMember(cursor: Cursor): unknown {
  const pairs = cursor.openMap();
  cursor.key(KEY.index);
  const index = cursor.count(1023);
  cursor.key(KEY.token);
  const token = cursor.decimal(LAST.memberToken);
  cursor.expect(pairs === 2);
  return { index, token };
}

function readUpdate(cursor: Cursor): unknown {
  const pairs = cursor.openMap();
  cursor.key(KEY.type);
  const type = cursor.choice(TYPE_PUSH);
  cursor.key(KEY.pass);
  const pass = cursor.count(MAX_COUNT);
  cursor.key(KEY.task);
  const task = cursor.count(MAX_COUNT);
  cursor.key(KEY.push);
  const push = cursor.count(MAX_COUNT);
  cursor.key(KEY.last);
  const last = cursor.flag();
  cursor.key(KEY.good);
  const good = cursor.count(MAX_COUNT);
  cursor.key(KEY.rateScale);
  const rateScale = cursor.share();
  cursor.key(KEY.dense);
  const dense = readDense(cursor);
  cursor.key(KEY.sparse);
  const sparse = readSparse(cursor);
  cursor.expect(pairs === 9);
  return { type, pass, task, push, last, good, rateScale, dense, sparse };
}

function readReplicateRequest(cursor: Cursor, pairs: number): unknown {
  cursor.key(KEY.job);
  const job = cursor.text(256, LAST.job);
  cursor.key(KEY.batchPlanId);
  const batchPlanId = cursor.text(256, LAST.batchPlanId);
  cursor.key(KEY.primary);
  const primary = readPrimary(cursor);
  cursor.key(KEY.member);
  const member = readMember(cursor);
  cursor.key(KEY.left);
  const left = cursor.counts(4096, 4095);
  cursor.key(KEY.order);
  const order = cursor.count(MAX_COUNT);
  cursor.key(KEY.late);
  const late = cursor.flag();
  const update = cursor.meets(KEY.update) ? readUpdate(cursor) : undefined;
  cursor.expect(pairs === 8 + (update === undefined ? 0 : 1));
  const map: Record<string, unknown> = { type: 'replicate', job, batchPlanId, primary, member, left, order, late };
  if (update !== undefined) map.update = update;
  return map;
}

function writePullReply(pen: Pen, header: PlainMap): void {
  const { version } = header;
  pen.openMap(header, 2);
  pen.bytes(OPENING.pull);
  pen.bytes(KEY.version);
  pen.number(version);
}

function readPullReply(cursor: Cursor, pairs: number): unknown {
  cursor.key(KEY.version);
  const version = cursor.count(MAX_COUNT);
  cursor.expect(pairs === 2);
  return { type: 'pull', version };
}

function writePushReply(pen: Pen, header: PlainMap): void {
  const { outcome, recovery, version } = header;
  pen.openMap(header, 3 + (version === undefined ? 0 : 1));
  pen.bytes(OPENING.push);
  pen.bytes(KEY.outcome);
  pen.choice(outcome, OUTCOME_APPLIED_DUPLICATE);
  pen.bytes(KEY.recovery);
  pen.number(recovery);
  if (version !== undefined) {
    pen.bytes(KEY.version);
    pen.number(version);
  }
}

function readPushReply(cursor: Cursor, pairs: number): unknown {
  cursor.key(KEY.outcome);
  const outcome = cursor.choice(OUTCOME_APPLIED_DUPLICATE);
  cursor.key(KEY.recovery);
  const recovery = cursor.count(MAX_COUNT);
  const version = cursor.meets(KEY.version) ? cursor.count(MAX_COUNT) : undefined;
  cursor.expect(pairs === 3 + (version === undefined ? 0 : 1));
  const map: Record<string, unknown> = { type: 'push', outcome, recovery };
  if (version !== undefined) map.version = version;
  return map;
}

function writePullVersionReply(pen: Pen, header: PlainMap): void {
  const { waitedMs } = header;
  pen.openMap(header, 2);
  pen.bytes(OPENING.pullVersion);
  pen.bytes(KEY.waitedMs);
  pen.number(waitedMs);
}

function readPullVersionReply(cursor: Cursor, pairs: number): unknown {
  cursor.key(KEY.waitedMs);
  const waitedMs = cursor.count(MAX_COUNT);
  cursor.expect(pairs === 2);
  return { type: 'pullVersion', waitedMs };
}

function writePushLaneReply(pen: Pen, header: PlainMap): void {
  const { outcome, version } = header;
  pen.openMap(header, 3);
  pen.bytes(OPENING.pushLane);
  pen.bytes(KEY.outcome);
  pen.choice(outcome, OUTCOME_TAKEN_DUPLICATE);
  pen.bytes(KEY.version);
  pen.number(version);
}

function readPushLaneReply(cursor: Cursor, pairs: number): unknown {
  cursor.key(KEY.outcome);
  const outcome = cursor.choice(OUTCOME_TAKEN_DUPLICATE);
  cursor.key(KEY.version);
  const version = cursor.count(MAX_COUNT);
  cursor.expect(pairs === 3);
  return { type: 'pushLane', outcome, version };
}

function writeReplicateReply(pen: Pen, header: PlainMap): void {
  pen.openMap(header, 1);
  pen.bytes(OPENING.replicate);
}

function readReplicateReply(cursor: Cursor, pairs: number): unknown {
  cursor.expect(pairs === 1);
  return { type: 'replicate' };
}

export interface HotHeader {
  readonly type: string;
  readonly opening: Uint8Array;
  readonly write: (pen: Pen, header: PlainMap) => void;
  readonly read: (cursor: Cursor, pairs: number) => unknown;
}

export const HOT_HEADERS: Readonly<Record<FrameKind, readonly HotHeader[]>> = {
  request: [
    { type: 'pull', opening: OPENING.pull, write: writePullRequest, read: readPullRequest },
    { type: 'push', opening: OPENING.push, write: writePushRequest, read: readPushRequest },
    { type: 'pullVersion', opening: OPENING.pullVersion, write: writePullVersionRequest, read: readPullVersionRequest },
    { type: 'pushLane', opening: OPENING.pushLane, write: writePushLaneRequest, read: readPushLaneRequest },
    { type: 'replicate', opening: OPENING.replicate, write: writeReplicateRequest, read: readReplicateRequest },
  ],
  reply: [
    { type: 'pull', opening: OPENING.pull, write: writePullReply, read: readPullReply },
    { type: 'push', opening: OPENING.push, write: writePushReply, read: readPushReply },
    { type: 'pullVersion', opening: OPENING.pullVersion, write: writePullVersionReply, read: readPullVersionReply },
    { type: 'pushLane', opening: OPENING.pushLane, write: writePushLaneReply, read: readPushLaneReply },
    { type: 'replicate', opening: OPENING.replicate, write: writeReplicateReply, read: readReplicateReply },
  ],
  error: [],
  join: [],
};
