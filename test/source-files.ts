/** The project's own source, for tests and figures about its shape. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

export const ROOT = resolve(import.meta.dirname, '..');

export interface Import {
  readonly target: string;
  /** `import type …`: gone at run time. */
  readonly typeOnly: boolean;
}

export interface SourceFile {
  /** Relative to the root, with forward slashes. */
  readonly path: string;
  readonly lines: number;
  readonly text: string;
  /** Without comments and the content of strings. */
  readonly code: string;
  /** Of own files by path; packages as they are named. */
  readonly imports: readonly Import[];
}

/** All TypeScript under the folders, generated files and assembly left out. */
export function sourceFiles(...folders: string[]): SourceFile[] {
  return folders
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`),
    )
    .filter((path) => /\.tsx?$/.test(path) && !path.includes('/generated/') && !path.includes('/kernels/assembly/'))
    .sort()
    .map(readSource);
}

export function readSource(path: string): SourceFile {
  const text = readFileSync(join(ROOT, path), 'utf8');
  return { path, text, lines: text.split('\n').length - 1, code: blank(text), imports: importsOf(path, text) };
}

const STATIC = /^(?:import|export)\s+(type\s+)?(?:[^'";]*?\sfrom\s+)?'([^']+)'/gm;
const DYNAMIC = /\bimport\('([^']+)'\)/g;

/** Formatted source only: the formatter gives every import one shape. */
export function importsOf(path: string, text: string): Import[] {
  const own = (name: string): string =>
    name.startsWith('.') ? relative(ROOT, resolve(ROOT, dirname(path), name)) : name;
  const found: Import[] = [];
  for (const [, type, name] of text.matchAll(STATIC)) {
    found.push({ target: own(name as string), typeOnly: type !== undefined });
  }
  for (const { 1: name, index } of text.matchAll(DYNAMIC)) {
    const typeOnly = /typeof\s+$/.test(text.slice(0, index));
    found.push({ target: own(name as string), typeOnly });
  }
  return found;
}

/** Each circle once, of imports, types and `import()` alike, as the path that closes it. */
export function circlesOf(all: readonly SourceFile[]): string[] {
  const byPath = new Map(all.map((file) => [file.path, file]));
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    const at = trail.indexOf(path);
    if (at !== -1) circles.push([...trail.slice(at), path].join(' → '));
    if (at !== -1 || done.has(path)) return;
    for (const { target } of byPath.get(path)?.imports ?? []) {
      if (byPath.has(target)) visit(target, [...trail, path]);
    }
    done.add(path);
  };
  for (const { path } of all) visit(path, []);
  return circles;
}

/** Blanks comments, strings and regular expressions of one line; template text stays, since code may stand in it. */
export function blank(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'/g, (match) => match.replace(/[^\n]/g, ' '));
}
