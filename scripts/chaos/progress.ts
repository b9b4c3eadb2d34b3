/** How far a job is, read from its store as a stranger reads it. */
import { isPaddletError } from '../../src/base/errors.ts';
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
