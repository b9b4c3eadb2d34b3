/**
 * Reads tables in id order, page by page, and dense blocks, with their state: for digests. The ids of a table are
 * sorted once, when its scan begins, and kept until its end.
 */
import { LIMITS } from '../../base/limits.ts';
import type { ReplyHeader, RequestHeader } from '../../protocol/messages/all-messages.ts';
import type { Outgoing } from '../../protocol/messages/channel.ts';
import type { OwnedShards } from './shards.ts';

type ScanRows = Extract<RequestHeader, { type: 'scanRows' }>;
type ScanBlock = Extract<RequestHeader, { type: 'scanBlock' }>;

export interface Scanner {
  rows(header: ScanRows): Outgoing<ReplyHeader>;
  block(header: ScanBlock): Outgoing<ReplyHeader>;
}

export function createScanner(shards: Pick<OwnedShards, 'parameters' | 'numbers'>): Scanner {
  const { parameters } = shards;
  /** Sorted ids of each table under a scan. */
  const scans = new Map<number, BigUint64Array>();

  function idsOf(table: number, isStart: boolean): BigUint64Array {
    let ids = isStart ? undefined : scans.get(table);
    if (ids === undefined) {
      ids = parameters.sortedIds(table, shards.numbers);
      scans.set(table, ids);
    }
    return ids;
  }

  return {
    rows({ table, after, maxRows, state }) {
      const ids = idsOf(table, after === undefined);
      const from = after === undefined ? 0 : firstAbove(ids, BigInt(after));
      const page = ids.subarray(from, from + Math.min(maxRows, rowsOfFrame(parameters.rowBytes(table))));
      const done = from + page.length === ids.length;
      if (done) scans.delete(table);
      const rows = parameters.readRows(table, page);
      const slots = Object.keys(rows.slots).sort();
      const segments = [bytesOf(rows.ids), bytesOf(rows.values)];
      if (state) {
        segments.push(...slots.map((slot) => bytesOf(rows.slots[slot]!)));
        if (rows.steps !== undefined) segments.push(bytesOf(rows.steps));
      }
      return { header: { type: 'scanRows', rows: page.length, done, slots: state ? slots : [] }, segments };
    },
    block({ parameter, block, state }) {
      const found = parameters.readBlock(parameter, block);
      const slots = Object.keys(found.slots).sort();
      const segments = [bytesOf(found.values), ...(state ? slots.map((slot) => bytesOf(found.slots[slot]!)) : [])];
      const step = found.step === undefined ? {} : { step: found.step };
      return { header: { type: 'scanBlock', slots: state ? slots : [], ...step }, segments };
    },
  };
}

/** Pages may have any length: one is as long as a frame can be, if more is asked for. */
const rowsOfFrame = (rowBytes: number): number => Math.floor((LIMITS.frameBytes - LIMITS.frameHeaderBytes) / rowBytes);

/** Index of the first id above `id` in a sorted list. */
function firstAbove(ids: BigUint64Array, id: bigint): number {
  let low = 0;
  let high = ids.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ids[middle]! <= id) low = middle + 1;
    else high = middle;
  }
  return low;
}

const bytesOf = (array: ArrayBufferView): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
