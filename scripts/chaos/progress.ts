/** How far a job is, read from its store as a stranger reads it. */
import { isPaddletError } from '../../src/base/errors.ts';
import { readEntry } from '../../src/checkpoint/registry/entry.ts';
import { createBitmap } from '../../src/core/bitmap.ts';
import type { Keys } from '../../src/store/keys.ts';
import type { Store } from '../../src/store/store.ts';

/** Tasks done over all passes; undefined while the store does not answer. */
export async function tasksDone(store: Store, keys: Keys): Promise<number | undefined> {
  try {
    const { entries } = await store.range({ prefix: keys.tasksPrefix });
    let done = 0;
    for (const { key, value } of entries) {
      if (key.startsWith(keys.passTotalsPrefix)) done += (JSON.parse(value) as { done: number }).done;
      else if (key.startsWith(`${keys.tasksPrefix}blocks/`)) {
        const bits = Buffer.from((JSON.parse(value) as { done: string }).done, 'hex');
        done += createBitmap(bits.length * 8, bits).count();
      }
    }
    return done;
  } catch (error) {
    if (isPaddletError(error)) return undefined;
    throw error;
  }
}

/** Sync mode: the round in work, counted over all passes; undefined while the store or the master does not answer. */
export async function roundNow(store: Store, keys: Keys): Promise<number | undefined> {
  const address = await store.get(keys.masterAddr).catch((error: unknown) => {
    if (isPaddletError(error)) return undefined;
    throw error;
  });
  if (address === undefined) return undefined;
  const found = /^paddlet_master_round(?:\{[^}]*\})? (\d+)/m.exec(await metricsOf(address.value))?.[1];
  return found === undefined ? undefined : Number(found);
}

/** Whether each pserver's index has a published checkpoint; false while the store does not answer. */
export async function isEachSaved(store: Store, keys: Keys, pservers: number): Promise<boolean> {
  try {
    const reads = Array.from({ length: pservers }, (_, index) => readEntry(store, keys.checkpoint(index)));
    return (await Promise.all(reads)).every(({ entry }) => entry !== undefined);
  } catch (error) {
    if (isPaddletError(error)) return false;
    throw error;
  }
}

/**
 * Pushes that pservers had applied before and dropped, as their /metrics say; a pserver counts from its own start, so
 * the highest count seen of each is kept in `seen`.
 */
export async function watchDuplicates(store: Store, keys: Keys, seen: Map<string, number>): Promise<void> {
  const owners = await store.range({ prefix: keys.psPrefix }).catch((error: unknown) => {
    if (isPaddletError(error)) return { entries: [] };
    throw error;
  });
  await Promise.all(
    owners.entries.map(async ({ value: address }) => {
      const metrics = await metricsOf(address);
      const count = Number(
        /^paddlet_pserver_pushes_total\{[^}]*outcome="duplicate"[^}]*\} (\d+)/m.exec(metrics)?.[1] ?? 0,
      );
      seen.set(address, Math.max(seen.get(address) ?? 0, count));
    }),
  );
}

/** Empty while it is stopped or dead. */
async function metricsOf(address: string): Promise<string> {
  try {
    return await (await fetch(`http://${address}/metrics`, { signal: AbortSignal.timeout(500) })).text();
  } catch {
    return '';
  }
}
