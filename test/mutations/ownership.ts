/** Rules of leases, fences and of what the store says. */
import type { Mutation } from './mutation.ts';

export const OWNERSHIP: readonly Mutation[] = [
  {
    rule: 'a master answers nothing after its deadline',
    file: 'src/roles/master/serve.ts',
    find: 'if (!isHeld()) throw',
    replace: 'if (Number.isNaN(isHeld)) throw',
    schedules: { mode: 'async' },
  },
  {
    rule: 'a master does not send an answer that it made until after its deadline',
    file: 'src/roles/master/serve.ts',
    find: '    checkHeld(now);\n    return reply;',
    replace: '    return reply;',
    schedules: { mode: 'async' },
  },
  {
    rule: 'a pserver does not send an answer that it made until after its deadline',
    file: 'src/roles/pserver/serve.ts',
    find: '      checkHeld(current);\n      return reply;',
    replace: '      return reply;',
    schedules: { mode: 'sync' },
  },
  {
    rule: 'a pserver answers nothing after its deadline',
    file: 'src/roles/pserver/checks.ts',
    find: 'if (!isHeld()) throw',
    replace: 'if (Number.isNaN(isHeld)) throw',
    schedules: { mode: 'async' },
    tests: ['test/roles/pserver'],
  },
  {
    rule: 'the deadline of a lease counts from when the keepalive was sent, not from its answer',
    file: 'src/core/lease.ts',
    find: 'this.#deadlineMs = sentAtMs + grantedTtlMs;',
    replace: 'this.#deadlineMs = now + grantedTtlMs;',
    schedules: { mode: 'async' },
    tests: ['test/core/lease.test.ts'],
  },
  {
    rule: 'recovery is raised before the shards are taken',
    file: 'src/roles/pserver/tasks/service.ts',
    find: '  const raised = loaded.exact ? 0 : await raiseRecovery(context, fence);',
    replace:
      '  if (!loaded.exact) await takeUnits({ context, fence, grouping: { shards, units } }, me, heads, loaded.rests);\n  const raised = loaded.exact ? 0 : await raiseRecovery(context, fence);',
    schedules: { mode: 'async' },
  },
  {
    rule: 'a restored pserver raises recovery',
    file: 'src/roles/pserver/tasks/service.ts',
    find: 'loaded.exact ? 0 : await raiseRecovery(context, fence)',
    replace: '0',
    schedules: { mode: 'async' },
  },
  {
    rule: 'the result is published only when no pserver was restored since',
    file: 'src/roles/master/finish-job.ts',
    find: 'createRevision: 0n }, unchanged]',
    replace: 'createRevision: 0n }]',
    schedules: { mode: 'async', disks: true },
  },
  {
    rule: 'a pserver that goes back to a cut raises the timeline',
    file: 'src/roles/pserver/rounds/load.ts',
    find: 'const raised = await raiseTimeline(options.context, options.fence, rolledBack);\n  return loadCut(options, raised.cut);',
    replace: 'return loadCut(options, cut);',
    schedules: { mode: 'sync' },
  },
  {
    rule: 'a head changes only as it was read',
    file: 'src/cluster/placement/change-heads.ts',
    find: 'if: [...also, ...changes.map(({ unit, modRevision }) => ({ key: keys.head(unit), modRevision }))],',
    replace: 'if: [...also],',
    tests: ['test/cluster/placement/change-heads.test.ts'],
  },
  {
    rule: 'a stamp follows the units that a pserver leads, and since when',
    file: 'src/core/placement.ts',
    find: 'mix64(mix64(BigInt(unit)) + BigInt(since))',
    replace: 'mix64(mix64(BigInt(unit)) + BigInt(since - since))',
    tests: ['test/core/placement.test.ts'],
  },
  {
    rule: 'a pserver refuses a request that is meant for another one',
    file: 'src/roles/pserver/serve.ts',
    find: "if ('placement' in header && header.placement !== undefined) checkStamp(",
    replace: "if (Number.isNaN(header) && 'placement' in header && header.placement !== undefined) checkStamp(",
    schedules: { mode: 'async' },
    tests: ['test/roles/pserver'],
  },
];
