/** Where the copies of each unit are, from the store, and how far they are, from their primaries. */
import { isPaddletError } from '../../base/errors.ts';
import type { Network } from '../../protocol/messages/channel.ts';
import type { Keys } from '../../store/keys.ts';
import type { Store } from '../../store/store.ts';
import { groupingOf } from '../job/job-plan.ts';
import type { JobRecord } from '../job/job-record.ts';
import { byKey, type LivePserver, livePserver, placesIn, type UnitPlace } from '../placement/unit-places.ts';
import { CopyClient, type UnitCopies } from './copy-client.ts';

export interface UnitCopiesStatus {
  readonly unit: number;
  /** Index of its live primary. */
  readonly primary: number | undefined;
  /** Indexes of the live pservers that have everything that was acknowledged, its primary included. */
  readonly inSync: readonly number[];
  /** What the primary says; undefined while it does not answer. */
  readonly told: UnitCopies | undefined;
}

/** All units, ascending. Throws like `parseHead`. */
export async function describeCopies(
  store: Store,
  keys: Keys,
  network: Network,
  record: JobRecord,
): Promise<UnitCopiesStatus[]> {
  const places = await readPlaces(store, keys, record);
  const primaries = new Map(
    places.flatMap(({ last, owner }) => (owner === undefined ? [] : [[last!, livePserver(last!, owner)]])),
  );
  const told = await askPrimaries([...primaries.values()], new CopyClient(network, record));
  return places.map((place) => {
    const { unit, primary, inSync } = copiesOf(place);
    return { unit, primary, inSync, told: primary === undefined ? undefined : told.get(`${primary}/${unit}`) };
  });
}

/** The same without asking any primary. */
export async function describePlaces(store: Store, keys: Keys, record: JobRecord): Promise<UnitCopiesStatus[]> {
  return (await readPlaces(store, keys, record)).map(copiesOf);
}

async function readPlaces(store: Store, keys: Keys, record: JobRecord): Promise<UnitPlace[]> {
  const [owners, heads] = await Promise.all(
    [keys.psPrefix, keys.headsPrefix].map(async (prefix) => byKey((await store.range({ prefix })).entries)),
  );
  return placesIn(keys, groupingOf(record), { owners: owners!, heads: heads! });
}

function copiesOf({ unit, last, owner, copies }: UnitPlace): UnitCopiesStatus {
  const inSync = copies.map(({ index }) => index).sort((a, b) => a - b);
  return { unit, primary: owner === undefined ? undefined : last, inSync, told: undefined };
}

/** By index of the primary and unit: it may have handed over some since the heads were read. */
async function askPrimaries(primaries: readonly LivePserver[], client: CopyClient): Promise<Map<string, UnitCopies>> {
  try {
    const answers = await Promise.all(primaries.map(async (one) => ({ one, units: await askOne(client, one) })));
    return new Map(answers.flatMap(({ one, units }) => units.map((unit) => [`${one.index}/${unit.unit}`, unit])));
  } finally {
    client.close();
  }
}

async function askOne(client: CopyClient, primary: LivePserver): Promise<UnitCopies[]> {
  try {
    return await client.copiesAt(primary);
  } catch (error) {
    // `processes` say that it does not answer, and why.
    if (isPaddletError(error)) return [];
    throw error;
  }
}
