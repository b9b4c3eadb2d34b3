/**
 * etcd's messages (rpc.proto, kv.proto of etcd 3) as the store's, and back. Its 64-bit numbers are decimal strings
 * here.
 */
import type { ICompare, IKeyValue, IRequestOp, ITxnRequest, ITxnResponse, IWatchResponse } from 'etcd3';
import { prefixEnd } from '../check.ts';
import type { Compare, KeyValue, Op, Txn, WatchEvent } from '../store.ts';

/** A string given for a field of bytes would be read as base64. */
export const bytes = (text: string): Buffer => Buffer.from(text, 'utf8');

/** The end of a range; one zero byte means "to the last key". */
export function rangeEnd(prefix: string): Buffer {
  const end = prefixEnd(prefix);
  return end === undefined ? Buffer.of(0) : bytes(end);
}

export const keyValueOf = (kv: IKeyValue): KeyValue => ({
  key: kv.key.toString('utf8'),
  value: kv.value.toString('utf8'),
  createRevision: BigInt(kv.create_revision),
  modRevision: BigInt(kv.mod_revision),
  leaseId: BigInt(kv.lease),
});

export const txnRequest = (txn: Txn): ITxnRequest => ({
  compare: txn.if.map(compareMessage),
  success: txn.then.map(opMessage),
  failure: (txn.else ?? []).map(opMessage),
});

function compareMessage(compare: Compare): ICompare {
  const key = bytes(compare.key);
  if ('createRevision' in compare) {
    return { key, result: 'Equal', target: 'Create', create_revision: compare.createRevision.toString() };
  }
  if ('notCreateRevision' in compare) {
    return { key, result: 'NotEqual', target: 'Create', create_revision: compare.notCreateRevision.toString() };
  }
  if ('modRevision' in compare) {
    return { key, result: 'Equal', target: 'Mod', mod_revision: compare.modRevision.toString() };
  }
  return { key, result: 'Equal', target: 'Value', value: bytes(compare.value) };
}

function opMessage(op: Op): IRequestOp {
  if ('get' in op) return { request_range: { key: bytes(op.get) } };
  if ('delete' in op) return { request_delete_range: { key: bytes(op.delete) } };
  if ('deletePrefix' in op) {
    return { request_delete_range: { key: bytes(op.deletePrefix), range_end: rangeEnd(op.deletePrefix) } };
  }
  return { request_put: { key: bytes(op.put), value: bytes(op.value), lease: (op.leaseId ?? 0n).toString() } };
}

export function txnResults({ responses }: ITxnResponse): (KeyValue | undefined)[] {
  return responses.map((one) => {
    // Absent for other operations than reads, whatever its type says.
    const kv = one.response_range?.kvs[0];
    return kv === undefined ? undefined : keyValueOf(kv);
  });
}

/** The events of a response by revision. One response holds whole revisions, since fragments are not asked for. */
export function eventsByRevision(response: IWatchResponse): Map<bigint, WatchEvent[]> {
  const revisions = new Map<bigint, WatchEvent[]>();
  for (const { type, kv } of response.events) {
    const entry = keyValueOf(kv);
    const event: WatchEvent =
      type === 'Put' ? { type: 'put', entry } : { type: 'delete', key: entry.key, modRevision: entry.modRevision };
    const events = revisions.get(entry.modRevision);
    if (events === undefined) revisions.set(entry.modRevision, [event]);
    else events.push(event);
  }
  return revisions;
}
