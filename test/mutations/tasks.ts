/** Rules of async mode: tasks, pushes, repairs. */
import type { Mutation } from './mutation.ts';

export const TASKS: readonly Mutation[] = [
  {
    rule: 'a push that was applied is not applied again',
    file: 'src/core/shard/ledger.ts',
    find: "if (next === CLOSED || push < next) return { outcome: 'duplicate' };\n    return push === next ?",
    replace:
      "if (next === CLOSED) return { outcome: 'duplicate' };\n    if (push < next) return { outcome: 'apply' };\n    return push === next ?",
    schedules: { mode: 'async' },
  },
  {
    rule: 'the ledger advances after the push was applied',
    file: 'src/roles/pserver/tasks/push-pull.ts',
    find: "  shards.parameters.push(sparse, dense, shards.actions(verdict.shards), rateScale);\n  failPoint('push.applied');\n  shards.ledgers.advance(header);",
    replace:
      "  shards.ledgers.advance(header);\n  shards.parameters.push(sparse, dense, shards.actions(verdict.shards), rateScale);\n  failPoint('push.applied');",
    schedules: { mode: 'async' },
  },
  {
    rule: 'the end of a task counts only for a live attempt',
    file: 'src/core/tasks/queue.ts',
    find: 'return this.#pass.open.find({ task: numbers.task, attempt: ref.attempt, trainer: ref.trainer });',
    replace: 'return [...(this.#pass.open.get(numbers.task)?.attempts ?? [])][0];',
    schedules: { mode: 'async' },
    tests: ['test/core/tasks'],
  },
  {
    rule: 'a task is not finished by acknowledgements from before a restore',
    file: 'src/roles/master/tasks/serve.ts',
    find: 'if (header.recovery < now) {',
    replace: 'if (Number.isNaN(now)) {',
    schedules: {
      mode: 'async',
      faults: ['kill pserver', 'kill master', 'stop trainer', 'partition', 'terminate master'],
    },
  },
  {
    rule: 'a request names the placement that the pserver has',
    file: 'src/roles/pserver/checks.ts',
    find: 'if (sameStamp(claimed, stamp)) return;',
    replace: 'if (stamp.revision !== claimed.revision || sameStamp(claimed, stamp)) return;',
    schedules: { mode: 'async', faults: ['swapped addresses'], count: 1000 },
  },
  {
    rule: 'a parting snapshot becomes the newest file before its shards are taken',
    file: 'src/roles/pserver/tasks/service.ts',
    find: 'await adoptParting({',
    replace: 'if (Number.isNaN(snapshot)) await adoptParting({',
    schedules: { mode: 'async' },
  },
  {
    rule: 'the first update after a clean file marks it as opened',
    file: 'src/roles/pserver/files/first-update.ts',
    find: 'let isOpened = !isClean;',
    replace: 'let isOpened = !isClean || Number.isNaN(isClean) === false;',
    schedules: { mode: 'async' },
  },
  {
    rule: 'an older generation is not the last state',
    file: 'src/roles/pserver/tasks/load.ts',
    find: 'const isExact = exact && age === 0;',
    replace: 'const isExact = exact;',
    schedules: { mode: 'async', disks: true },
    tests: ['test/roles/pserver'],
  },
  {
    rule: 'discarded tasks are closed in every shard at the end',
    file: 'src/roles/master/tasks/conclude.ts',
    find: 'if (discarded.length === 0) return;',
    replace: 'if (discarded.length >= 0) return;',
    schedules: { mode: 'async' },
  },
  {
    rule: 'a repair asks only pservers that have seen the recovery number',
    file: 'src/roles/master/tasks/find-unclosed.ts',
    find: 'if (recovery < number) {',
    replace: 'if (Number.isNaN(recovery)) {',
    schedules: { mode: 'async' },
  },
  {
    rule: 'a final checkpoint of before a restore is refused',
    file: 'src/roles/pserver/serve.ts',
    find: 'if (recovery !== undefined && recovery < current) {',
    replace: 'if (Number.isNaN(recovery)) {',
    schedules: { mode: 'async' },
  },
  {
    rule: 'no push is applied after the last checkpoint began',
    file: 'src/roles/pserver/tasks/push-pull.ts',
    find: "if (serving.isFrozen()) throw new PaddletError('Draining'",
    replace: "if (Number.isNaN(serving)) throw new PaddletError('Draining'",
    schedules: { mode: 'async' },
  },
  {
    rule: 'what an answer rests on is saved before it is sent',
    file: 'src/roles/master/tasks/save-pipeline.ts',
    find: 'thens.push(...then);',
    replace: 'for (const release of then) release();',
    schedules: { mode: 'async' },
  },
];
