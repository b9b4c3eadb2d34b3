/** Old names of flags: they still work, and a warning tells the new one. Help and completion do not show them. */

const OF_CHECKPOINTS = { '--job': '--job-id' };

/** In place of a name: the value is an argument now. */
const ARGUMENT = '';

/** Keyed by the id of the command. */
const RENAMED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  evaluate: { '--checkpoint': ARGUMENT },
  init: { '--force': '--replace' },
  'data:convert': { '--force': '--replace', '--out': '--output' },
  'data:recordio:pack': { '--force': '--replace' },
  'data:synth': { '--format': '--as', '--out': '--output' },
  history: { '--format': '--as', '--out': '--output' },
  logs: { '--level': '--log-level' },
  status: { '--wait': '--until', '--output wide': '--wide', '-o wide': '--wide' },
  restore: { ...OF_CHECKPOINTS, '--wait': '--lease-wait' },
  'checkpoint:diff': OF_CHECKPOINTS,
  'checkpoint:export': { ...OF_CHECKPOINTS, '--format': '--as', '--out': '--output' },
  'checkpoint:inspect': OF_CHECKPOINTS,
  'checkpoint:ls': OF_CHECKPOINTS,
  'checkpoint:verify': OF_CHECKPOINTS,
};

/** The command line with the new names. `warn` gets one text for each old name. */
export function withNewNames(commandId: string, argv: readonly string[], warn: (text: string) => void): string[] {
  const renamed = RENAMED[commandId] ?? {};
  const told = new Set<string>();
  const line: string[] = [];
  const end = argv.indexOf('--');
  const last = end === -1 ? argv.length : end;
  for (let at = 0; at < last; at++) {
    const [flag, value] = splitAtEqualSign(argv[at]!);
    const withValue = `${flag} ${value ?? argv[at + 1]}`;
    const old = [flag, withValue].find((name) => Object.hasOwn(renamed, name));
    if (old === undefined) {
      line.push(argv[at]!);
      continue;
    }
    const name = renamed[old]!;
    if (!told.has(old)) warn(name === ARGUMENT ? `${old} PATH is now written PATH` : `${old} is now called ${name}`);
    told.add(old);
    if (name === ARGUMENT) {
      if (value !== undefined) line.push(value);
      continue;
    }
    const isValueLeft = old === flag && value !== undefined;
    line.push(isValueLeft ? `${name}=${value}` : name);
    // The value is a part of the old name.
    if (old === withValue && value === undefined) at++;
  }
  return [...line, ...argv.slice(last)];
}

function splitAtEqualSign(word: string): [string, string | undefined] {
  const at = word.startsWith('--') ? word.indexOf('=') : -1;
  return at === -1 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)];
}
