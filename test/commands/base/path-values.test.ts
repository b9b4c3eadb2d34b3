/** `~` in what a command is given: a shell does not expand it in `--output=~/x` or within quotes. */
import { homedir, tmpdir } from 'node:os';
import { describe, expect, test } from 'vitest';
import { everyFlags } from '../../../src/commands/base/flags.ts';
import { flagsAtHome, storeAtHome, takesPath } from '../../../src/commands/base/path-values.ts';
import { COMMANDS } from '../../../src/commands/index.ts';
import { runCommand } from '../run-command.ts';

const HOME = homedir();
const NONE = 'no-such-folder-of-paddlet';

/** Names of files and folders by what they are for; one more of them has to say what its value is. */
const PATHS = ['cache-dir', 'data', 'data-dir', 'dir', 'from', 'job', 'labels', 'output'];
const OF_STORE = ['store-ca', 'store-cert', 'store-key', 'store-password-file'];

describe('~', () => {
  test('is expanded in every flag that takes a path', async () => {
    const classes = await Promise.all(COMMANDS.map(({ load }) => load()));
    const flags = classes.flatMap(({ flags }) => Object.entries({ ...everyFlags, ...flags }));
    const found = new Set(flags.flatMap(([name, flag]) => (takesPath(flag) ? [name] : [])));
    expect([...found].sort()).toEqual([...PATHS, ...OF_STORE, 'since', 'test', 'to'].sort());
  });

  test('is expanded in each of several, and not in other values', () => {
    const flags = { labels: { helpValue: 'FILE' }, name: { helpValue: 'NAME' } };
    const values = { labels: ['~/a', 'b/~/c', '~ann/d', '~'], name: '~/a', json: true };
    expect(flagsAtHome(values, flags)).toEqual({ ...values, labels: [`${HOME}/a`, 'b/~/c', '~ann/d', HOME] });
  });

  test.each([
    ['sqlite:~/store.db', `sqlite:${HOME}/store.db`],
    ['sqlite:a/~/store.db', 'sqlite:a/~/store.db'],
    ['etcd://~:2379', 'etcd://~:2379'],
  ])('in the store %s', (url, expanded) => {
    expect(storeAtHome(url)).toBe(expanded);
  });

  test.each([
    [['data', 'index', 'a.svm', '--format=libsvm', `--data-dir=~/${NONE}`]],
    [['data', 'index', `~/${NONE}/a.svm`, '--format=libsvm']],
    [['evaluate', '--data', 'a.svm', `--checkpoint=~/${NONE}`]],
    [['checkpoint', 'inspect', `~/${NONE}`]],
    [['status', '--store', `sqlite:~/${NONE}/store.db`]],
  ])('%j', async (words) => {
    const { code, err } = await runCommand(words, { cwd: tmpdir() });
    expect(code).not.toBe(0);
    expect(err).toContain(`${HOME}/${NONE}`);
  });
});
