/** The command that resumes a job, as its status shows it. */
import { expect, test } from 'vitest';
import { RESUME_VARIABLE, startCommand } from '../../../src/commands/base/start-command.ts';

const argv = (...words: string[]): string[] => ['/usr/bin/node', 'bin/paddlet.ts', ...words];

test('is the command line, quoted for a shell, without --fresh', () => {
  const { command, folder } = startCommand(argv('run', 'my job.yaml', '--fresh', '--set', "name=it's"), {});
  expect(command).toBe(String.raw`node bin/paddlet.ts run 'my job.yaml' --set 'name=it'\''s'`);
  expect(folder).toBe(process.cwd());
});

test('begins with the settings that came from the environment, and shows no password', () => {
  const env = { PADDLET_STORE: 'etcd://me:secret@etcd1:2379', PADDLET_DATA: '/data' };
  const { command } = startCommand(argv('master', 'a.yaml'), env);
  expect(command).toBe("PADDLET_STORE='etcd://me:…@etcd1:2379' PADDLET_DATA=/data node bin/paddlet.ts master a.yaml");
});

test('of a master under `run` is the command of the run', () => {
  const run = { command: 'paddlet run a.yaml', folder: '/f', host: 'h' };
  expect(startCommand(argv('master', 'a.yaml'), { [RESUME_VARIABLE]: JSON.stringify(run) })).toEqual(run);
});
