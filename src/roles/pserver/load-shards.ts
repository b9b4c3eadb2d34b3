/**
 * Fills the parameter memory of a pserver that just claimed its index: initial values for shards nobody ever held; the
 * former owner's exact last state for the others, or `ParametersLost`. Fresh parameters never take the place of trained
 * ones.
 */
import { PaddletError } from '../../base/errors.ts';
import { type Generation, generationSchema, generationsOf, isClean, parseEntry } from '../../checkpoint/entry.ts';
import { type ExpectedJob, type LoadedCheckpoint, loadGeneration } from '../../checkpoint/load.ts';
import { parseStoreValue } from '../../core/task-state.ts';
import type { Parameters } from '../../tensor/parameters.ts';
import type { RoleContext } from '../context.ts';
import type { Owner } from '../heads.ts';
import { patiently } from '../ownership.ts';
import { formerOwners, type PlannedHead } from './own-shards.ts';

export interface LoadShardsOptions {
  readonly context: RoleContext;
  readonly me: Owner;
  readonly heads: readonly PlannedHead[];
  readonly folder: string;
  readonly expected: ExpectedJob;
  readonly into: Parameters;
}

export interface LoadedShards {
  /** Of the pserver: all its shards advance together. Undefined when everything is at its initial values. */
  readonly ledger: Uint8Array | undefined;
  /** Updates applied so far to each shard. */
  readonly seq: number;
  /** Where it came from, for people. */
  readonly source: string;
}

export async function loadShards(options: LoadShardsOptions): Promise<LoadedShards> {
  const { heads, me, into, context } = options;
  const owners = formerOwners(heads, me);
  const untouched = heads.filter(({ head }) => head === undefined);
  for (const { shard } of untouched) into.addShard(shard);
  if (owners.length === 0) return { ledger: undefined, seq: 0, source: 'initial values' };
  const [owner] = owners;
  if (owner === undefined || owners.length > 1 || untouched.length > 0) {
    throw lost(`its shards are left over from ${owners.length} owners and ${untouched.length} have none`);
  }
  const snapshot = await exactSnapshot(context, owner);
  const shards = heads.map(({ shard }) => shard);
  const { folder, expected } = options;
  const place = { folder, index: owner.index };
  context.host.log.info(`loading ${folder}/${owner.index}/${snapshot.uuid}`, { bytes: snapshot.bytes });
  const loaded = await loadGeneration(snapshot, { disk: context.host.disk, place, expected, into, shards });
  return { ...oneLedger(loaded), source: snapshot.uuid };
}

/** What the owner wrote last, when it is certain that it applied nothing after. */
async function exactSnapshot(context: RoleContext, owner: Owner): Promise<Generation> {
  const { keys, store } = context;
  const partingKey = keys.parting(BigInt(owner.token));
  const parting = await patiently(context, () => store.get(partingKey));
  if (parting !== undefined) return parseStoreValue(generationSchema, partingKey, parting.value);
  const key = keys.checkpoint(owner.index);
  const { entry, complaint } = parseEntry(key, await patiently(context, () => store.get(key)));
  if (complaint !== undefined) throw lost(complaint);
  if (entry === undefined) throw lost(`pserver ${owner.index} died without a checkpoint`);
  const newest = generationsOf(entry)[0];
  if (newest === undefined || !isClean(entry)) {
    throw lost(`pserver ${owner.index} died after its last checkpoint (${entry.uuid})`);
  }
  return newest;
}

function lost(why: string): PaddletError {
  return new PaddletError('ParametersLost', `parameters are lost: ${why}`, {
    hint: 'a job whose pserver died cannot go on in this version; begin it anew (run --fresh)',
  });
}

function oneLedger({ ledgers, positions }: LoadedCheckpoint): { ledger: Uint8Array | undefined; seq: number } {
  const [first, ...others] = [...ledgers.values()];
  const differs = others.some((other) => first !== undefined && Buffer.compare(first, other) !== 0);
  if (differs) throw lost('its shards stand at different positions');
  return { ledger: first, seq: positions.reduce((most, { seq }) => Math.max(most, seq), 0) };
}
