/** Rules of who may end a lease that is not its own. */
import type { Mutation } from './mutation.ts';

export const PROOF_OF_DEATH: readonly Mutation[] = [
  {
    rule: 'the lease of a child is revoked only when its exit was waited for',
    file: 'src/roles/launcher/proof-of-death.ts',
    find: '      if (!hasExited) return;\n',
    replace: '',
    tests: ['test/roles/launcher/proof-of-death.test.ts'],
  },
  {
    rule: 'a closed pipe does not prove that a child has died',
    file: 'src/roles/launcher/guard.ts',
    find: '  const end = await child.ended;\n',
    replace: '  void child.closed.then(() => life.exited());\n  const end = await child.ended;\n',
    tests: ['test/roles/launcher/guard.test.ts'],
  },
  {
    rule: 'the lease that the child told is revoked, not that of its index',
    file: 'src/roles/launcher/proof-of-death.ts',
    find: '        await store.leaseRevoke(leaseId);',
    replace:
      "        const index = await (store as Store).get('/j/ps/0');\n        await store.leaseRevoke(index?.leaseId ?? leaseId);",
    tests: ['test/roles/launcher/proof-of-death.test.ts'],
  },
  {
    rule: 'what one life of a child told is not revoked with another one',
    file: 'src/roles/launcher/proof-of-death.ts',
    find: '    const held = new Map<bigint, ReportedLease>();\n    let hasExited = false;',
    replace:
      '    const shared = this as { held?: Map<bigint, ReportedLease> };\n    shared.held ??= new Map();\n    const { held } = shared;\n    let hasExited = false;',
    tests: ['test/roles/launcher/proof-of-death.test.ts'],
  },
  {
    rule: 'what a child told last is heard, even after its exit',
    file: 'src/roles/launcher/proof-of-death.ts',
    find: '        // The last words of a child may be read after its exit.\n        endAll();\n',
    replace: '',
    tests: ['test/roles/launcher/proof-of-death.test.ts'],
  },
  {
    rule: 'a guard has read all that its child told before it ends',
    file: 'src/roles/launcher/guard.ts',
    find: '  await child.closed;\n',
    replace: '',
    tests: ['test/roles/launcher/guard.test.ts'],
  },
  {
    rule: 'a pserver tells its lease before it claims anything under it',
    file: 'src/roles/pserver/claim/reported-lease.ts',
    find: "  report({ leaseId, state: 'held', ttlMs });\n",
    replace: "  setTimeout(() => report({ leaseId, state: 'held', ttlMs }), 3_600_000);\n",
    tests: ['test/roles/follows-the-job.test.ts'],
  },
  {
    rule: 'a pserver that could not end its lease leaves that to its parent',
    file: 'src/roles/pserver/claim/reported-lease.ts',
    find: '      if (hasEnded) report(',
    replace: '      report(',
    tests: ['test/roles/follows-the-job.test.ts'],
  },
  {
    rule: 'signals that a guard passes on are heeded',
    file: 'src/host/tether.ts',
    find: '    if (signal !== undefined) run(signal);',
    replace: '    if (signal === undefined) run(FORWARDED[0]);',
    tests: ['test/host/processes.test.ts'],
  },
];
