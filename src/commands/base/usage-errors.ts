/** Errors of the command line in our own words: those of oclif name flags and bounds in several ways. */
import { Errors, type Interfaces } from '@oclif/core';
import { PaddletError } from '../../base/errors.ts';
import { nearest } from '../../job/complaints.ts';
import { byOtherName } from '../../job/other-names.ts';

/** Turns oclif's usage errors into ours; leaves every other error as it is. */
export function fromOclif(error: unknown, commandId: string): unknown {
  // An error that one of our own flag parsers threw, with text of oclif around it.
  const wrapped =
    error instanceof PaddletError ? /^Parsing (--\S+)\s+([\s\S]*?)\s*\nSee more help/.exec(error.message) : null;
  if (wrapped !== null && error instanceof PaddletError)
    return new PaddletError(error.code, `${wrapped[1]}: ${wrapped[2]}`, {
      ...(error.hint === undefined ? {} : { hint: error.hint }),
      cause: error,
    });
  if (!(error instanceof Errors.CLIError)) return error;
  const hint = meantFlag(error) ?? `run \`paddlet ${commandId.replaceAll(':', ' ')} --help\` to see its flags`;
  // Drops oclif's advice after the message; the hint replaces it.
  const [message = ''] = error.message.split(/\n(?:See more help|\nNote:)/);
  return new PaddletError('Usage', inOurWords(message), { hint, cause: error });
}

type Rewrite = (...groups: string[]) => string;

/** What oclif says, line by line, and what we say. Each has a test: a new version of oclif may have other words. */
const WORDS: readonly (readonly [RegExp, Rewrite])[] = [
  [/^Missing \d+ required args?:$/, () => ''],
  [/^The following errors? occurred:$/, () => ''],
  [/^([a-z]+) {2,}(.*?)\.?$/, (name, about) => `argument ${name!.toUpperCase()} is missing: ${about}`],
  [/^Missing required flag (.*)$/, (name) => `--${name} is missing`],
  [/^Nonexistent flags?: (.*)$/, (names) => `no such flag: ${names}`],
  [/^Unexpected (arguments?: .*)$/, (what) => `unexpected ${what}`],
  [/^Flag (\S+) expects a value$/, (flag) => `${flag} needs a value`],
  [/^Flag (\S+) expects one of these values: (.*)$/, (flag, values) => `${flag} needs a value: one of ${values}`],
  [/^Flag (\S+) can only be specified once$/, (flag) => `${flag} is given twice`],
  [/^Expected (--[^=]+)=(.*) to be one of: (.*)$/, (flag, found, values) => notOneOf(flag!, found!, values!)],
  [/^Expected (.*) to be one of: (.*)$/, (found, values) => notOneOf('', found!, values!)],
  [/^Parsing (\S+)$/, (flag) => `${flag}:`],
  [/^Expected an integer but received: (.*)$/, (found) => `expected a whole number, got ${found}`],
  [
    /^Expected an integer greater than or equal to (\S+) but received: (.*)$/,
    (min, found) => `expected at least ${min}, got ${found}`,
  ],
  [
    /^Expected an integer less than or equal to (\S+) but received: (.*)$/,
    (max, found) => `expected at most ${max}, got ${found}`,
  ],
  [/^(--[^=]+)=.* cannot also be provided when using (\S+)$/, (one, other) => `${other} and ${one} exclude each other`],
  [/^All of the following must be provided when using (\S+): (.*)$/, (flag, needs) => `${flag} needs ${needs}`],
];

function inOurWords(message: string): string {
  const lines = message.split('\n').map((line) => {
    const text = line.trim();
    const [pattern, rewrite] = WORDS.find(([one]) => one.test(text)) ?? [];
    return pattern === undefined || rewrite === undefined
      ? text
      : text.replace(pattern, (_, ...found) => rewrite(...found.map(String)));
  });
  return lines.filter(Boolean).join('; ').replaceAll(':; ', ': ');
}

function notOneOf(flag: string, found: string, values: string): string {
  const near = nearest(found, values.split(', '));
  return `${flag === '' ? '' : `${flag}: `}expected one of ${values}, got ${found}${near === undefined ? '' : `; did you mean ${near}?`}`;
}

/** Oclif's parse errors carry what was parsed; `flags` of an unknown-flag error are the unknown ones. */
function meantFlag(error: object): string | undefined {
  const { flags, parse } = error as { flags?: unknown; parse?: { input?: { flags?: Interfaces.FlagInput } } };
  if (!Array.isArray(flags)) return undefined;
  const name = String(flags[0]).replace(/^--?/, '').split('=')[0] ?? '';
  const known = Object.keys(parse?.input?.flags ?? {});
  const field = byOtherName(name);
  const short = field?.split('.').at(-1);
  const isFlag = short !== undefined && short !== 'dir' && known.includes(short);
  const near = isFlag ? short : nearest(name, known);
  if (near !== undefined) return `did you mean --${near}?`;
  return field !== undefined && known.includes('set') ? `did you mean --set ${field}=VALUE?` : undefined;
}

/** Oclif takes `yes` of `--fresh=yes` for an argument. */
export function refuseValues(
  argv: readonly string[],
  flags: Readonly<Record<string, { readonly type: string }>>,
): void {
  const end = argv.indexOf('--');
  for (const word of end < 0 ? argv : argv.slice(0, end)) {
    const name = /^--([^=]+)=/.exec(word)?.[1];
    if (name === undefined || flags[name]?.type !== 'boolean') continue;
    throw new PaddletError('Usage', `--${name} takes no value`, {
      hint: `write --${name} without a value, or omit it`,
    });
  }
}
