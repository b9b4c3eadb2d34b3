/** Rules of what an operator meets: status, limits, locks, tokens. */
import type { Mutation } from './mutation.ts';

export const OPERATIONS: readonly Mutation[] = [
  {
    rule: 'the status of a job follows the answers of its processes, not their keys',
    file: 'src/cluster/job/health.ts',
    find: "processes.filter(({ answer }) => answer.kind !== 'none');\n  const nodes",
    replace: 'processes.filter(({ answer }) => answer.kind !== undefined);\n  const nodes',
    tests: ['test/cluster/job/health.test.ts'],
  },
  {
    rule: 'a process that does not answer is waited for until its lease ends',
    file: 'src/cluster/job/health.ts',
    find: '    ...leases(needs, processes),\n    ...master(processes),',
    replace: '    ...master(processes),',
    tests: ['test/cluster/job/health.test.ts'],
  },
  {
    rule: 'one run at a time works in a folder',
    file: 'src/host/folder-lock.ts',
    find: "db.exec('BEGIN EXCLUSIVE')",
    replace: "db.exec('BEGIN')",
    tests: ['test/host/folder-lock.test.ts'],
  },
  {
    rule: 'a process that does not stop within its part of the limit is killed',
    file: 'src/roles/launcher/launcher.ts',
    find: '    for (const child of alive) child.kill();\n',
    replace: '',
    tests: ['test/roles/launcher/launcher.test.ts'],
  },
  {
    rule: 'each group has its own part of the time to stop',
    file: 'src/roles/launcher/launcher.ts',
    find: 'stopLimitMs * untilPart - clock',
    replace: 'stopLimitMs - clock',
    tests: ['test/roles/launcher/launcher.test.ts'],
  },
  {
    rule: 'a lease that could not be renewed is tried again within an eighth of its TTL',
    file: 'src/core/lease.ts',
    find: 'const LONGEST_RETRY_OF_TTL = 1 / 8;',
    replace: 'const LONGEST_RETRY_OF_TTL = 1;',
    tests: ['test/core/lease.test.ts'],
  },
  {
    rule: 'a role asks for the token again when a client knows another one',
    file: 'src/protocol/join/server-join.ts',
    find: 'if (!isRight(known)) known = await token.refresh();',
    replace: '',
    tests: ['test/protocol/join/join.test.ts'],
  },
  {
    rule: 'a client asks for the token again when it was refused',
    file: 'src/protocol/join/client-join.ts',
    find: 'this.#options.token.refresh()',
    replace: 'this.#options.token.current()',
    tests: ['test/protocol/join/join.test.ts'],
  },
  {
    rule: 'a token that was read is read again, at most once a second',
    file: 'src/cluster/job/join-token.ts',
    find: 'if (this.#reading === undefined && isEarly) return this.#known;',
    replace: 'if (this.#reading === undefined && this.#known !== undefined) return this.#known;',
    tests: ['test/cluster/job/join-token.test.ts'],
  },
  {
    rule: 'a rotation replaces only the token that it has read',
    file: 'src/commands/token/rotate-token.ts',
    find: '      { key: keys.token, modRevision: token?.modRevision ?? 0n },\n',
    replace: '',
    tests: ['test/commands/token/rotate-token.test.ts'],
  },
];
