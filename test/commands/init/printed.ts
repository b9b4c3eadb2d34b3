/** What `paddlet init` prints, for tests of it. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { parseJobFile } from '../../../src/job/load-job.ts';
import type { RequestedJob } from '../../../src/job/schema.ts';
import { folderOfFile } from '../../folders.ts';
import { type Ran, runCommand } from '../run-command.ts';

/** Where the commands run; each test file sets its own. */
export let cwd = '';
export function useFolder(): void {
  cwd = folderOfFile('paddlet-init-');
}

export const paddlet = (...args: string[]): Promise<Ran> => runCommand(args, { cwd });

export const file = (name: string, lines: readonly string[]): void =>
  writeFileSync(join(cwd, name), `${lines.join('\n')}\n`);

export const repeat = (count: number, of: (at: number) => string): string[] =>
  Array.from({ length: count }, (_, at) => of(at));

/** Three images of two pixels, with the labels 0, 2 and 2. */
export function imageFiles(): string {
  const u32 = (value: number): number[] => [0, 0, 0, value];
  writeFileSync(join(cwd, 'train-labels-idx1-ubyte'), Buffer.from([0, 0, 8, 1, ...u32(3), 0, 2, 2]));
  const images = Buffer.from([0, 0, 8, 3, ...u32(3), ...u32(1), ...u32(2), 1, 2, 3, 4, 5, 6]);
  writeFileSync(join(cwd, 'train-images-idx3-ubyte'), images);
  return 'train-images-idx3-ubyte';
}

/** The job that `init` prints, and its text. */
export async function printed(...args: string[]): Promise<{ job: RequestedJob; text: string }> {
  const { code, out, err } = await paddlet('init', '--output', '-', ...args);
  expect([code, err]).toEqual([0, expect.stringMatching(/^next: paddlet doctor FILE( .*)?\n/)]);
  return { job: parseJobFile('job', out), text: out };
}

export const types = (job: RequestedJob): Record<string, string> =>
  Object.fromEntries(job.data.columns?.map(({ name, type }) => [name, type]) ?? []);
