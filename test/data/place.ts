/** A data folder and a cache of its own for a test, on the real disk. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Disk } from '../../src/base/seams.ts';
import type { DataPlace } from '../../src/data/place.ts';
import { createClock } from '../../src/host/clock.ts';
import { createDisk } from '../../src/host/disk.ts';
import { createRandom } from '../../src/host/random.ts';
import { folderOfFile } from '../folders.ts';

export interface TestPlace extends DataPlace {
  readonly warnings: string[];
}

/** Removed when the test file is done. */
export const testFolder = (): string => folderOfFile('paddlet-data-');

export function testPlace(options: { folder?: string; cacheFolder?: string; disk?: Partial<Disk> } = {}): TestPlace {
  const base = testFolder();
  const warnings: string[] = [];
  const quiet = () => {};
  const log = { debug: quiet, info: quiet, warn: (message: string) => void warnings.push(message), error: quiet };
  return {
    host: { disk: { ...createDisk(), ...options.disk }, clock: createClock(), random: createRandom(), log },
    folder: options.folder ?? base,
    cacheFolder: options.cacheFolder ?? join(base, 'cache'),
    warnings,
  };
}

/** Real data, where it is; tests on it are skipped elsewhere, but never in CI. */
export const REAL_DATA = resolve(import.meta.dirname, '../../../shared/data');
export const isRealDataMissing = !existsSync(REAL_DATA) && process.env.CI !== 'true';
