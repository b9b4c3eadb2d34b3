/**
 * The two requests that come thousands of times a second, recognized without the general validator, which costs a fifth
 * of a small push. What this accepts the schema of `messages.ts` accepts unchanged (a test compares them); everything
 * else, also what is only unusual, is for the schema to judge.
 */
import { LIMITS } from '../base/limits.ts';

type Fields = Readonly<Record<string, unknown>>;

const PULL_FIELDS = 6;
const PUSH_FIELDS = 11;
const MAX_NAME = 256;
const MAX_REVISION_DIGITS = 20;

/** True for a header that surely is a valid `pull` or `push`. */
export function isPlainPullOrPush(header: unknown): boolean {
  if (!isMap(header)) return false;
  if (header.type === 'pull') return sizeOf(header) === PULL_FIELDS && isPartsOfJob(header);
  if (header.type !== 'push') return false;
  const { pass, task, push, last, good, used } = header;
  const own = isCount(pass) && isCount(task) && isCount(push) && isCount(good) && typeof last === 'boolean';
  if (used !== undefined && !isPulledVersion(used)) return false;
  return own && sizeOf(header) === PUSH_FIELDS + (used === undefined ? 0 : 1) && isPartsOfJob(header);
}

const isPartsOfJob = ({ job, cut, placement, dense, sparse }: Fields): boolean =>
  isName(job) && isName(cut) && isPlacement(placement) && isParts(dense, 'parameter') && isParts(sparse, 'table');

const isMap = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

function sizeOf(fields: Fields): number {
  let size = 0;
  for (const _ in fields) size++;
  return size;
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;

const isName = (value: unknown): boolean => typeof value === 'string' && value.length > 0 && value.length <= MAX_NAME;

function isPlacement(value: unknown): boolean {
  return isMap(value) && sizeOf(value) === 2 && isCount(value.shards) && isDecimal(value.revision);
}

function isPulledVersion(value: unknown): boolean {
  return isMap(value) && sizeOf(value) === 2 && isCount(value.version) && isDecimal(value.revision);
}

function isDecimal(value: unknown): boolean {
  if (typeof value !== 'string' || value.length === 0 || value.length > MAX_REVISION_DIGITS) return false;
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
