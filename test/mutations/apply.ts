/** Makes the change of a mutation in a tree of the source. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Mutation } from './mutation.ts';

/** The changed text of the file. Throws when the text to replace does not occur exactly once. */
export function mutated({ rule, file, find, replace }: Mutation, source: string): string {
  const parts = source.split(find);
  if (parts.length !== 2) {
    throw new Error(`"${rule}": ${file} has ${parts.length - 1} times, not once:\n${find}`);
  }
  return parts.join(replace);
}

/** `root` is a copy: the file is changed in place. */
export function mutate(root: string, mutation: Mutation): void {
  const path = join(root, mutation.file);
  const text = mutated(mutation, readFileSync(path, 'utf8'));
  // A new file, in case the old one is a link to that of another tree.
  rmSync(path);
  writeFileSync(path, text);
}
