/** Where bad records are listed, as a result says it; and their removal. */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { BAD_RECORD_FILE, badRecordFolder } from '../../data/bad-record-files.ts';

export interface Listed {
  /** Missing when none is listed on this machine. */
  readonly badRecordFolder?: string;
}

export function listedIn(jobFolder: string, bad: number): Listed {
  const folder = badRecordFolder(jobFolder);
  return bad > 0 && existsSync(folder) ? { badRecordFolder: folder } : {};
}

export const withListed = <R extends { readonly records: { readonly bad: number } }>(
  result: R,
  jobFolder: string,
): R & Listed => ({ ...result, ...listedIn(jobFolder, result.records.bad) });

export const listedText = ({ badRecordFolder: folder }: Listed): string[] =>
  folder === undefined ? [] : [`bad records are listed in ${folder}`];

export function removeListed(jobFolder: string): void {
  const folder = badRecordFolder(jobFolder);
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) if (BAD_RECORD_FILE.test(name)) rmSync(join(folder, name), { force: true });
}
