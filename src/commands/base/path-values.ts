/** Which flags take a path, and the paths that a command was given. */
import { atHome } from '../../base/local-path.ts';

const KINDS: ReadonlySet<unknown> = new Set(['FILE', 'FOLDER', 'PATH']);

/** A flag that takes a path says so by the name of its value in the help. */
export const takesPath = (flag: object): boolean => 'helpValue' in flag && KINDS.has(flag.helpValue);

/** The values of flags with `~` expanded in paths. `flags` are those of the command. */
export function flagsAtHome(values: Readonly<Record<string, unknown>>, flags: Readonly<Record<string, object>>) {
  const expanded = Object.entries(values).map(([name, value]) => {
    if (!takesPath(flags[name] ?? {})) return [name, value];
    return [name, Array.isArray(value) ? value.map(textAtHome) : textAtHome(value)];
  });
  return Object.fromEntries(expanded);
}

/** The same of arguments: each is a path, or a name that does not begin with `~`. */
export const argsAtHome = (values: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, textAtHome(value)]));

const textAtHome = (value: unknown): unknown => (typeof value === 'string' ? atHome(value) : value);

/** A store's URL, which may have a path. */
export const storeAtHome = (url: string): string =>
  url.replace(/^(sqlite:)(.*)$/s, (_, scheme, path) => scheme + atHome(path));
