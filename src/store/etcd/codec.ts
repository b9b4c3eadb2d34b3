/** etcd's messages (rpc.proto, kv.proto of etcd 3) as the store's, and back. Its 64-bit numbers are decimal strings here. */
import { prefixEnd } from '../check.ts';
import type { Compare, KeyValue, Op, Txn, WatchEvent } from '../store.ts';

export interface ResponseHeader {
  readonly cluster_id: string;
  readonly revision: string;
  readonly raft_term: string;
}

export interface EtcdKeyValue {
  readonly key: Buffer;
  readonly value: Buffer;
  readonly create_revision: string;
  readonly mod_revision: string;
  readonly lease: string;
}

export interface RangeResponse {
  readonly header: ResponseHeader;
  readonly kvs: readonly EtcdKeyValue[];
  readonly more: boolean;
}

export interface TxnResponse {
  readonly header: ResponseHeader;
  readonly succeeded: boolean;
  readonly responses: readonly { readonly response_range?: RangeResponse | null }[];
}

export interface LeaseResponse {
  readonly header: ResponseHeader;
  readonly ID: string;
  /** Seconds; 0 when the lease is no more. */
  readonly TTL: string;
}

export interface WatchResponse {
  readonly header: ResponseHeader;
  readonly created: boolean;
  readonly canceled: boolean;
  readonly cancel_reason: string;
  readonly compact_revision: string;
  readonly events: readonly { readonly type: 'Put' | 'Delete'; readonly kv: EtcdKeyValue }[];
}

/** A string given for a field of bytes would be read as base64. */
export const bytes = (text: string): Buffer => Buffer.from(text, 'utf8');

/** The end of a range; one zero byte means "to the last key". */
export function rangeEnd(prefix: string): Buffer {
  const end = prefixEnd(prefix);
  return end === undefined ? Buffer.of(0) : bytes(end);
}

export const keyValueOf = (kv: EtcdKeyValue): KeyValue => ({
  key: kv.key.toString('utf8'),
  value: kv.value.toString('utf8'),
  createRevision: BigInt(kv.create_revision),
  modRevision: BigInt(kv.mod_revision),
  leaseId: BigInt(kv.lease),
});

export const txnRequest = (txn: Txn): object => ({
  compare: txn.if.map(compareMessage),
  success: txn.then.map(opMessage),
  failure: (txn.else ?? []).map(opMessage),
});

function compareMessage(compare: Compare): object {
  const key = bytes(compare.key);
  if ('createRevision' in compare) {
    return { key, result: 'Equal', target: 'Create', create_revision: compare.createRevision.toString() };
  }
  if ('modRevision' in compare) {
    return { key, result: 'Equal', target: 'Mod', mod_revision: compare.modRevision.toString() };
  }
  return { key, result: 'Equal', target: 'Value', value: bytes(compare.value) };
}

function opMessage(op: Op): object {
  if ('get' in op) return { request_range: { key: bytes(op.get) } };
  if ('delete' in op) return { request_delete_range: { key: bytes(op.delete) } };
  if ('deletePrefix' in op) {
    return { request_delete_range: { key: bytes(op.deletePrefix), range_end: rangeEnd(op.deletePrefix) } };
  }
  return { request_put: { key: bytes(op.put), value: bytes(op.value), lease: (op.leaseId ?? 0n).toString() } };
}

export function txnResults(response: TxnResponse): (KeyValue | undefined)[] {
  return response.responses.map((one) => {
    const kv = one.response_range?.kvs[0];
    return kv === undefined ? undefined : keyValueOf(kv);
  });
}

/** The events of a response by revision. One response holds whole revisions, since fragments are not asked for. */
export function eventsByRevision(response: WatchResponse): Map<bigint, WatchEvent[]> {
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
