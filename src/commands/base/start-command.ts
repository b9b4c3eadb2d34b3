/** The command line of this process, as a job's status shows it: the way to resume the job. */
import { hostname } from 'node:os';
import { isSea } from 'node:sea';
import { parseStartCommand, type StartCommand, shellCommand } from '../../cluster/job/start-command.ts';
import { credentialFlags, PASSWORD_VARIABLE } from './store-credentials.ts';

/** Set by `paddlet run` for its master: the run is what resumes the job, not the master. */
export const RESUME_VARIABLE = 'PADDLET_RESUME';

/** The environment variables that set what a command also takes as flags. */
const SETTINGS = [
  ...['PADDLET_STORE', 'PADDLET_DATA', 'PADDLET_CACHE'],
  ...Object.values(credentialFlags).flatMap(({ env: name }) => name ?? []),
];
/** Shown by their names alone: they must be set where the job is resumed. */
const SECRETS = [PASSWORD_VARIABLE];
/** They would not resume the job, but begin it again. */
const DROPPED = new Set(['--fresh', '--yes']);

export function startCommand(argv = process.argv, env = process.env): StartCommand {
  const inherited = env[RESUME_VARIABLE];
  if (inherited !== undefined) return parseStartCommand(RESUME_VARIABLE, inherited);
  const settings = SETTINGS.flatMap((name) => (env[name] === undefined ? [] : [`${name}=${inShell([env[name]])}`]));
  const secrets = SECRETS.filter((name) => env[name] !== undefined).map((name) => `${name}="$${name}"`);
  const program = isSea() ? [process.argv0] : ['node', argv[1]!];
  const line = inShell([...program, ...argv.slice(2).filter((word) => !DROPPED.has(word))]);
  return { command: [...settings, ...secrets, line].join(' '), folder: process.cwd(), host: hostname() };
}

const inShell = (words: readonly string[]): string => shellCommand(words.map(withoutPassword));

/** Hides the password in a URL. */
const withoutPassword = (word: string): string => word.replace(/(:\/\/[^/@\s:]*):[^/@\s]*@/g, '$1:…@');
