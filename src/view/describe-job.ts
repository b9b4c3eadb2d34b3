/** Gathers the status of a job: from the store, and from every live process itself. */
import { readEntries } from '../checkpoint/registry/discover.ts';
import { ancestorsOf, type Generation, generationsOf } from '../checkpoint/registry/entry.ts';
import { type ClusterStatus, parseClusterStatus } from '../cluster/job/cluster-status.ts';
import { type JobRecord, readJobRecord } from '../cluster/job/job-record.ts';
import { type JobEnd, parseJobEnd } from '../cluster/job/job-watch.ts';
import { parseStartCommand, type StartCommand } from '../cluster/job/start-command.ts';
import { parseTrainersDesired } from '../cluster/job/trainers-desired.ts';
import { lackingText } from '../cluster/placement/lacking-copies.ts';
import { type Spread, spreadOf } from '../cluster/placement/spread.ts';
import { trainerAddress } from '../cluster/trainer-entry.ts';
import type { Network } from '../protocol/messages/channel.ts';
import type { Keys } from '../store/keys.ts';
import type { KeyValue, Store } from '../store/store.ts';
import { askInfoAt, type InfoAnswer } from './ask-info.ts';
import { healthOf, type JobHealth } from './health.ts';
import type { DirectingInfo, RoleInfo } from './info.ts';
import { nameInSentence } from './process-name.ts';

export interface LiveProcess {
  readonly role: RoleInfo['role'];
  /** Index of a pserver, id of a trainer. */
  readonly id: string;
  readonly address: string;
  /** The lease of the process's key, in hex. */
  readonly lease: string;
  /** What it says of itself. */
  readonly answer: InfoAnswer;
}

/** The files that a delta builds on. */
export interface BuildsOn {
  readonly files: number;
  readonly bytes: number;
}

/** The newest file of a pserver, as it is published; or why a value under `/checkpoints/` cannot be read. */
export type NewestCheckpoint =
  | ({ readonly index: number; readonly buildsOn?: BuildsOn | undefined } & Pick<
      Generation,
      'uuid' | 'md5' | 'bytes' | 'timestamp' | 'round'
    >)
  | { readonly error: string };

export interface JobStatus {
  readonly record: JobRecord;
  readonly end: JobEnd | undefined;
  /** What the last master wrote; undefined until a master has looked. Not to be believed once that master is dead. */
  readonly written: ClusterStatus | undefined;
  /** Health of the job as it is seen now. */
  readonly health: JobHealth;
  /** The command that started the last master, or the run that it belongs to. */
  readonly command: StartCommand | undefined;
  readonly stopRequested: boolean;
  /** The numbers that `paddlet resize` changes; of trainers only if it did. */
  readonly wanted: { readonly pservers: number; readonly trainers: number | undefined };
  readonly spread: Spread;
  /** Sorted by index. */
  readonly checkpoints: readonly NewestCheckpoint[];
  readonly processes: readonly LiveProcess[];
}

/** What the master says, once it directs the job. */
export function directingInfo({ processes }: Pick<JobStatus, 'processes'>): DirectingInfo | undefined {
  for (const { answer } of processes) {
    if (answer.kind === 'info' && answer.info.role === 'master' && answer.info.state === 'working') return answer.info;
  }
  return undefined;
}

/** Undefined if the job does not exist. */
export async function describeJob(store: Store, keys: Keys, network: Network): Promise<JobStatus | undefined> {
  const record = await readJobRecord(store, keys);
  if (record === undefined) return undefined;
  const [result, trainers, spread, cluster, stop, command, checkpoints, processes] = await Promise.all([
    store.get(keys.result),
    store.get(keys.trainersDesired),
    readSpread(store, keys, record),
    store.get(keys.clusterStatus),
    store.get(keys.stop),
    store.get(keys.command),
    store.range({ prefix: keys.checkpointsPrefix }),
    askProcesses(store, keys, network),
  ]);
  return {
    record,
    end: result && parseJobEnd(result.key, result.value),
    written: cluster && parseClusterStatus(cluster.key, cluster.value),
    health: healthOf({ ...record.job.cluster, copies: lackingText(spread.lacking, record.job.cluster) }, processes),
    command: command && parseStartCommand(command.key, command.value),
    stopRequested: stop !== undefined,
    wanted: {
      pservers: record.job.cluster.pservers,
      trainers: trainers && parseTrainersDesired(trainers).trainers,
    },
    spread,
    checkpoints: newestCheckpoints(keys, checkpoints.entries),
    processes,
  };
}

async function readSpread(store: Store, keys: Keys, record: JobRecord): Promise<Spread> {
  const [owners, heads, records] = await Promise.all(
    [keys.psPrefix, keys.headsPrefix, keys.pserversPrefix].map(
      async (prefix) => (await store.range({ prefix })).entries,
    ),
  );
  const { units, job } = record;
  return spreadOf(
    keys,
    { units, desired: job.cluster.pservers, copies: job.cluster },
    { owners: owners!, heads: heads!, records: records! },
  );
}

/** Every process that has a key under a lease, with what it answers in `timeoutMs`. */
export async function askProcesses(
  store: Store,
  keys: Keys,
  network: Network,
  timeoutMs?: number,
): Promise<LiveProcess[]> {
  const [master, pservers, trainers] = await Promise.all([
    store.get(keys.masterAddr),
    store.range({ prefix: keys.psPrefix }),
    store.range({ prefix: keys.trainersPrefix }),
  ]);
  const found = [
    ...(master === undefined ? [] : [registered('master', 'master', master)]),
    ...pservers.entries.map((entry) => registered('pserver', entry.key.slice(keys.psPrefix.length), entry)),
    ...trainers.entries.map((entry) => registered('trainer', entry.key.slice(keys.trainersPrefix.length), entry)),
  ];
  return Promise.all(found.map((one) => ask(network, one, timeoutMs)));
}

function newestCheckpoints(keys: Keys, entries: readonly KeyValue[]): NewestCheckpoint[] {
  const { published, complaints } = readEntries(keys.checkpointsPrefix, entries);
  const newest = published.map(({ index, entry }) => {
    const { uuid, md5, bytes, timestamp, round } = entry;
    return { index, uuid, md5, bytes, timestamp, round, buildsOn: buildsOn(generationsOf(entry)) };
  });
  return [...newest, ...complaints.map((error) => ({ error }))];
}

/** Undefined for a base. */
function buildsOn([newest, ...earlier]: readonly Generation[]): BuildsOn | undefined {
  if (newest?.parents === undefined) return undefined;
  const others = ancestorsOf(newest, earlier);
  return { files: others.length, bytes: others.reduce((sum, { bytes = 0 }) => sum + bytes, 0) };
}

type Registered = Omit<LiveProcess, 'answer'>;

function registered(role: Registered['role'], id: string, entry: KeyValue): Registered {
  const address = role === 'trainer' ? trainerAddress(entry.value) : entry.value;
  return { role, id, address, lease: entry.leaseId.toString(16) };
}

async function ask(network: Network, process: Registered, timeoutMs: number | undefined): Promise<LiveProcess> {
  const answer = await askInfoAt(network, process.address, timeoutMs);
  if (answer.kind !== 'info' || isSame(process, answer.info)) return { ...process, answer };
  return { ...process, answer: { kind: 'none', replacedBy: replacer(answer.info) } };
}

/** The operating system may give the port of a dead process to the next one. */
function isSame({ role, id }: Registered, info: RoleInfo): boolean {
  if (role !== info.role) return false;
  if (info.role === 'trainer') return info.id === id;
  // A pserver may not know its index yet.
  return info.role === 'master' || info.index === undefined || String(info.index) === id;
}

/** A pserver may not know its index yet. */
function replacer(info: RoleInfo): string {
  if (info.role === 'pserver') return info.index === undefined ? 'a pserver' : `pserver ${info.index}`;
  return nameInSentence({ role: info.role, id: info.role === 'trainer' ? info.id : '' });
}
