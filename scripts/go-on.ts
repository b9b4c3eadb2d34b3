/** What takes longer than one night goes on in the next: a file names where. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

export interface GoOn {
  readonly file: string;
  /** Nothing is begun later than this after the start. */
  readonly minutes: number;
}

/** `--minutes N --go-on FILE`; a limit has a sense only where there is a place to go on from. */
export function parseGoOn(minutes: string | undefined, file: string | undefined): GoOn | undefined {
  if ((minutes === undefined) !== (file === undefined)) throw new Error('--minutes and --go-on belong together');
  if (minutes === undefined || file === undefined) return undefined;
  if (!/^\d+(\.\d+)?$/.test(minutes)) throw new Error(`--minutes ${minutes}: expected a number`);
  return { file, minutes: Number(minutes) };
}

/** Zero at first. */
export function readNext(file: string): number {
  const text = existsSync(file) ? readFileSync(file, 'utf8').trim() : '0';
  if (!/^\d{1,15}$/.test(text)) throw new Error(`--go-on ${file}: expected a number in it, got ${text}`);
  return Number(text);
}

export function writeNext(file: string, next: number): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${next}\n`);
}
