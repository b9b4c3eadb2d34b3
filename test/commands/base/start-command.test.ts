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

test('repeats how etcd is reached, and names the variable of the password in place of the password', () => {
  const env = {
    PADDLET_STORE: 'etcds://e:2379',
    PADDLET_STORE_USER: 'trainer',
    PADDLET_STORE_PASSWORD: 'of the trainer',
    PADDLET_STORE_CA: '/my certs/ca.pem',
  };
  expect(startCommand(argv('run', 'a.yaml'), env).command).toBe(
    "PADDLET_STORE=etcds://e:2379 PADDLET_STORE_USER=trainer PADDLET_STORE_CA='/my certs/ca.pem' " +
      'PADDLET_STORE_PASSWORD="$PADDLET_STORE_PASSWORD" node bin/paddlet.ts run a.yaml',
  );
});

test('of a master under `run` is the command of the run', () => {
  const run = { command: 'paddlet run a.yaml', folder: '/f', host: 'h' };
  expect(startCommand(argv('master', 'a.yaml'), { [RESUME_VARIABLE]: JSON.stringify(run) })).toEqual(run);
});
