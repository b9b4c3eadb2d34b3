/** The Python that the example client runs on: python3, with the package cbor2. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../source-files.ts';

/** What scripts/fetch-cbor2.sh has brought. */
const FETCHED = join(ROOT, '.cache/cbor2/usr/lib/python3/dist-packages');

/** Environment of a client's process. Python leaves no compiled files among the sources. */
export function pythonEnvironment(): NodeJS.ProcessEnv {
  const named = process.env.PADDLET_TEST_CBOR2;
  const folder = named !== undefined && named !== '' ? named : existsSync(FETCHED) ? FETCHED : undefined;
  return { PYTHONDONTWRITEBYTECODE: '1', ...(folder === undefined ? {} : { PYTHONPATH: folder }) };
}

/** The reason to skip tests of the client, or undefined. With CI=true nothing is skipped: such tests then fail. */
export function whyNoPython(): string | undefined {
  if (process.env.CI === 'true') return undefined;
  const { status } = spawnSync('python3', ['-c', 'import cbor2'], { env: { ...process.env, ...pythonEnvironment() } });
  return status === 0 ? undefined : 'no python3 with cbor2: run scripts/fetch-cbor2.sh';
}
