/** Gathers where a job stands: from the store, and from every live process itself. For `status`. */
import { readEntries } from '../../checkpoint/registry/discover.ts';
import type { Generation } from '../../checkpoint/registry/entry.ts';
import type { Network } from '../../protocol/messages/channel.ts';
import type { Keys } from '../../store/keys.ts';
import type { KeyValue, Store } from '../../store/store.ts';
import { askInfoAt } from './ask-info.ts';
import { type JobRecord, readJobRecord } from './job-record.ts';
import { type JobEnd, parseJobEnd } from './job-watch.ts';

export interface ProcessRow {
  readonly role: 'master' | 'pserver' | 'trainer';
  /** Index of a pserver, id of a trainer. */
  readonly id: string;
  readonly address: string;
  /** The lease that the process's key hangs on, in hex. */
  readonly lease: string;
  /** What it says of itself; undefined when it did not answer in time. */
  readonly info: Record<string, unknown> | undefined;
}

/** The newest file of a pserver, as it is published; or why a value under `/checkpoints/` cannot be understood. */
export type NewestCheckpoint =
  | ({ readonly index: number } & Pick<Generation, 'uuid' | 'md5' | 'bytes'>)
  | { readonly error: string };

export interface JobStanding {
  readonly record: JobRecord;
  readonly end: JobEnd | undefined;
  /** The value of `/pserver_cluster_status`, written by the master. */
  readonly cluster: unknown;
  readonly stopRequested: boolean;
  /** By index. */
  readonly checkpoints: readonly NewestCheckpoint[];
  readonly processes: readonly ProcessRow[];
}

/** Undefined when there is no such job. */
export async function describeJob(store: Store, keys: Keys, network: Network): Promise<JobStanding | undefined> {
  const record = await readJobRecord(store, keys);
  if (record === undefined) return undefined;
  const [result, cluster, stop, master, pservers, trainers, checkpoints] = await Promise.all([
    store.get(keys.result),
    store.get(keys.clusterStatus),
    store.get(keys.stop),
    store.get(keys.masterAddr),
    store.range({ prefix: keys.psPrefix }),
    store.range({ prefix: keys.trainersPrefix }),
    store.range({ prefix: keys.checkpointsPrefix }),
  ]);
  const rows = [
    ...(master === undefined ? [] : [row('master', 'master', master)]),
    ...pservers.entries.map((entry) => row('pserver', entry.key.slice(keys.psPrefix.length), entry)),
    ...trainers.entries.map((entry) => row('trainer', entry.key.slice(keys.trainersPrefix.length), entry)),
  ];
  return {
    record,
    end: result && parseJobEnd(result.key, result.value),
    cluster: cluster && (JSON.parse(cluster.value) as unknown),
    stopRequested: stop !== undefined,
    checkpoints: newestCheckpoints(keys, checkpoints.entries),
    processes: await Promise.all(rows.map(async (one) => ({ ...one, info: await askInfoAt(network, one.address) }))),
  };
}

function newestCheckpoints(keys: Keys, entries: readonly KeyValue[]): NewestCheckpoint[] {
  const { published, complaints } = readEntries(keys.checkpointsPrefix, entries);
  const newest = published.map(({ index, entry: { uuid, md5, bytes } }) => ({ index, uuid, md5, bytes }));
  return [...newest, ...complaints.map((error) => ({ error }))];
}

function row(role: ProcessRow['role'], id: string, entry: KeyValue): Omit<ProcessRow, 'info'> {
  return { role, id, address: entry.value, lease: entry.leaseId.toString(16) };
}
