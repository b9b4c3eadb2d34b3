/** The scripts of `paddlet completion`, in the shells themselves. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { everyFlags } from '../../../src/commands/base/flags.ts';
import { COMMANDS } from '../../../src/commands/index.ts';
import { runCommand } from '../run-command.ts';

let cwd = '';
beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'paddlet-completion-'));
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { code, out } = await runCommand(['completion', shell], { cwd });
    expect(code).toBe(0);
    writeFileSync(join(cwd, shell), out);
  }
  writeFileSync(join(cwd, 'my job.yaml'), '');
  mkdirSync(join(cwd, '.paddlet/clicks/logs'), { recursive: true });
  writeFileSync(join(cwd, '.paddlet/clicks/store.db'), '');
  mkdirSync(join(cwd, '.paddlet/clicks-2/logs'), { recursive: true });
  mkdirSync(join(cwd, '.paddlet/cache'));
});
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

/** Tests of a shell that is missing are skipped, and say so; where releases are made bash must be there. */
function isThere(shell: string): boolean {
  const found = spawnSync(shell, ['-c', ':']).status === 0;
  if (!found) process.stderr.write(`${shell} is missing: its completion is not tested\n`);
  return found || (shell === 'bash' && process.env.CI === 'true');
}

/** Reads lines of words with commas between them, of which the last one is completed. */
const BASH = `
source ./bash
while IFS= read -r line; do
  IFS=, read -r -a COMP_WORDS <<< "$line,"
  COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
  _paddlet
  (IFS=,; echo "\${COMPREPLY[*]}")
done`;

const inBash = (...lines: string[]): string[] =>
  execFileSync('bash', ['-c', BASH], { cwd, input: lines.map((line) => `${line}\n`).join(''), encoding: 'utf8' })
    .split('\n')
    .slice(0, -1);

describe.runIf(isThere('bash'))('bash', () => {
  test('the function is that of paddlet', () => {
    const out = execFileSync('bash', ['-c', 'source ./bash; complete -p paddlet'], { cwd, encoding: 'utf8' });
    expect(out).toBe('complete -F _paddlet paddlet\n');
  });

  test('every command has all of its flags, and no other', async () => {
    const classes = await Promise.all(COMMANDS.map(({ load }) => load()));
    const wanted = classes.map(({ flags }) => Object.entries({ ...flags, ...everyFlags }).map(([name]) => `--${name}`));
    const found = inBash(...COMMANDS.map(({ id }) => `paddlet,${id.replaceAll(':', ',')},--`));
    expect(found.map((line) => line.split(','))).toEqual(wanted.map((names) => [...names, '--help']));
  });

  test.each([
    ['paddlet,ch', 'checkpoint'],
    ['paddlet,jobs,', 'delete'],
    ['paddlet,jobs,--st', '--store,--store-user,--store-password-file,--store-ca,--store-cert,--store-key'],
    ['paddlet,jobs,delete,cli', 'clicks,clicks-2'],
    ['paddlet,help,token,', 'view,rotate'],
    ['paddlet,checkpoint,ins', 'inspect'],
    ['paddlet,checkpoint,inspect,--di', '--dir,--digest'],
    ['paddlet,run,--log-level,', 'debug,info,warn,error'],
    ['paddlet,run,--log-level,=', 'debug,info,warn,error'],
    ['paddlet,run,--log-level,=,w', 'warn'],
    ['paddlet,status,--until,', 'running,done'],
    ['paddlet,run,my', 'my job.yaml'],
    ['paddlet,run,x,--data-dir,=,my', 'my job.yaml'],
    // A name, and no file.
    ['paddlet,checkpoint,inspect,x,--job-id,my', ''],
    ['paddlet,run,x,--set,my', ''],
    ['paddlet,trainer,my', ''],
    ['paddlet,status,', '.paddlet,clicks,clicks-2'],
    ['paddlet,logs,', '.paddlet,clicks,clicks-2,master,pserver,run,trainer'],
    ['paddlet,token,view,cli', 'clicks,clicks-2'],
    ['paddlet,evaluate,m', 'my job.yaml'],
    ['paddlet,completion,', 'bash,zsh,fish'],
    ['paddlet,data,rec', 'recordio'],
    ['paddlet,data,recordio,', 'pack,list,cat'],
  ])('%s', (line, completed) => {
    expect(inBash(line)).toEqual([completed]);
  });
});

/** What the function asks zsh's own for, of words that are given as arguments. */
const ZSH = `
compdef() {}
compset() { PREFIX=\${PREFIX#*=} }
compadd() { shift; print -r -- "$@" }
_describe() { print -rl -- \${(M)next:#$PREFIX*} }
_files() { print -r FILES }
_message() { print -r MESSAGE }
words=("$@"); CURRENT=$#; PREFIX=\${@[-1]}
source ./zsh`;

describe.runIf(isThere('zsh'))('zsh', () => {
  test.each([
    ['paddlet ch', 'checkpoint:commands of checkpoint'],
    ['paddlet checkpoint ins', 'inspect:Show what a checkpoint contains'],
    ['paddlet run --data', '--data-dir:Folder that relative data paths start from'],
    ['paddlet run --log-level ', 'debug info warn error'],
    ['paddlet run --log-level=w', 'debug info warn error'],
    ['paddlet run my', 'FILES'],
    ['paddlet run x --data-dir=my', 'FILES'],
    ['paddlet run x --set my', 'MESSAGE'],
    ['paddlet trainer my', ''],
    ['paddlet completion ', 'bash zsh fish'],
    ['paddlet data recordio l', 'list:List the chunks of a RecordIO file, and check them'],
  ])('%s', (line, completed) => {
    const args = ['-f', '-c', `${ZSH}\n_paddlet`, 'zsh', ...line.split(' ')];
    expect(execFileSync('zsh', args, { cwd, encoding: 'utf8' }).trim()).toBe(completed);
  });
});

describe.runIf(isThere('fish'))('fish', () => {
  test.each([
    ['paddlet checkpoint ins', 'inspect\tShow what a checkpoint contains'],
    ['paddlet run --fr', '--fresh\tDelete the earlier run of this job, including its checkpoints, and start over'],
    ['paddlet completion z', 'zsh'],
    ['paddlet data recordio l', 'list\tList the chunks of a RecordIO file, and check them'],
    ['paddlet run my', 'my job.yaml'],
    ['paddlet trainer my', ''],
  ])('%s', (line, completed) => {
    const script = `source ./fish; complete -C '${line}'`;
    expect(execFileSync('fish', ['--no-config', '-c', script], { cwd, encoding: 'utf8' }).trim()).toBe(completed);
  });
});
