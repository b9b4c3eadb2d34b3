/**
 * The messages that come thousands of times a second, pulls and pushes of either mode and answers to the asynchronous ones, recognized without
 * the general validator, which costs a fifth of a small push. What this accepts the schemas of `messages.ts` accept unchanged (a
 * test compares them); everything else, also what is only unusual, is for the schemas to judge.
 */
import type * as z from 'zod';
import { LIMITS } from '../../base/limits.ts';
import type { pserverMessages } from './to-pserver.ts';

type Fields = Readonly<Record<string, unknown>>;

const PULL_FIELDS = 6;
const PUSH_FIELDS = 11;
const PULL_REPLY_FIELDS = 2;
const PUSH_REPLY_FIELDS = 3;
const PULL_VERSION_FIELDS = 9;
const PUSH_LANE_FIELDS = 11;

type Messages = typeof pserverMessages;
type PullOrPush = z.infer<Messages['pull' | 'push' | 'pullVersion' | 'pushLane']['request']>;
type PlainReply = z.infer<Messages['pull' | 'push']['reply']>;

/** True for a header that surely is a valid answer to a `pull` or a `push`. */
export function isPlainReply(header: unknown): header is PlainReply {
  if (!isMap(header)) return false;
  if (header.type === 'pull') return isCount(header.version) && sizeOf(header) === PULL_REPLY_FIELDS;
  if (header.type !== 'push' || !isCount(header.recovery)) return false;
  const { outcome } = header;
  return (outcome === 'applied' || outcome === 'duplicate') && sizeOf(header) === PUSH_REPLY_FIELDS;
}

/** True for a header that surely is a valid `pull`, `push`, `pullVersion` or `pushLane`. */
export function isPlainPullOrPush(header: unknown): header is PullOrPush {
  if (!isMap(header)) return false;
  switch (header.type) {
    case 'pull':
      return sizeOf(header) === PULL_FIELDS && isPartsOfJob(header);
    case 'push':
      return isPush(header);
    case 'pullVersion':
      return isPullVersion(header);
    case 'pushLane':
      return isPushLane(header);
    default:
      return false;
  }
}

function isPush(header: Fields): boolean {
  const { used } = header;
  if (used !== undefined && !isPulledVersion(used)) return false;
  const size = PUSH_FIELDS + (used === undefined ? 0 : 1);
  return sizeOf(header) === size && isPosition(header) && isPartsOfJob(header);
}

function isPullVersion(header: Fields): boolean {
  const { timeline, version, maxWaitMs } = header;
  const own = isCount(timeline) && isCount(version) && isCount(maxWaitMs) && (maxWaitMs as number) <= LIMITS.longPollMs;
  return own && sizeOf(header) === PULL_VERSION_FIELDS && isPartsOfJob(header);
}

function isPushLane(header: Fields): boolean {
  const { timeline, round, lane, batch, records, metrics } = header;
  const own = isCount(timeline) && isCount(round) && isCount(lane) && (lane as number) < LIMITS.lanes;
  if (!own || !isCount(records) || !isMetrics(metrics)) return false;
  if (batch !== undefined && !(isMap(batch) && sizeOf(batch) === 5 && isPosition(batch))) return false;
  return sizeOf(header) === PUSH_LANE_FIELDS + (batch === undefined ? 0 : 1) && isPartsOfJob(header);
}

const isPosition = ({ pass, task, push, last, good }: Fields): boolean =>
  isCount(pass) && isCount(task) && isCount(push) && isCount(good) && typeof last === 'boolean';

const isMetrics = (value: unknown): boolean =>
  isMap(value) &&
  sizeOf(value) === 4 &&
  isCount(value.records) &&
  isCount(value.correct) &&
  Number.isFinite(value.loss) &&
  Number.isFinite(value.squaredError);

const isPartsOfJob = ({ job, batchPlanId, placement, dense, sparse }: Fields): boolean =>
  isName(job) &&
  isName(batchPlanId) &&
  isPlacement(placement) &&
  isParts(dense, 'parameter') &&
  isParts(sparse, 'table');

const isMap = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

function sizeOf(fields: Fields): number {
  let size = 0;
  for (const _ in fields) size++;
  return size;
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;

const isName = (value: unknown): boolean =>
  typeof value === 'string' && value.length > 0 && value.length <= LIMITS.nameCharacters;

function isPlacement(value: unknown): boolean {
  return isMap(value) && sizeOf(value) === 2 && isCount(value.shards) && isDecimal(value.revision);
}

function isPulledVersion(value: unknown): boolean {
  return isMap(value) && sizeOf(value) === 2 && isCount(value.version) && isDecimal(value.revision);
}

function isDecimal(value: unknown): boolean {
  if (typeof value !== 'string' || value.length === 0 || value.length > LIMITS.decimalDigits) return false;
  for (let i = 0; i < value.length; i++) {
    const digit = value.charCodeAt(i) - 48;
    if (digit < 0 || digit > 9) return false;
  }
  return true;
}

function isParts(value: unknown, field: 'parameter' | 'table'): boolean {
  if (!Array.isArray(value) || value.length > LIMITS.parameters) return false;
  for (const part of value) {
    if (!isMap(part) || sizeOf(part) !== 1) return false;
    const index = part[field];
    if (!isCount(index) || (index as number) > LIMITS.parameters) return false;
  }
  return true;
}
