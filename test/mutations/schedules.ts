/** Rules of learning-rate schedules. */
import type { Mutation } from './mutation.ts';

const LEDGER_TESTS = ['test/core/shard/ledgers.test.ts'];
const TASK_TESTS = ['test/roles/pserver/modes/tasks/schedule.test.ts'];
const SYNC_SIM = { mode: 'sync' } as const;

export const SCHEDULES: readonly Mutation[] = [
  {
    rule: 'the progress of a schedule goes on after a load where it was',
    file: 'src/core/shard/pass-ledger.ts',
    find: '      ledger.advance(task, next, good);\n',
    replace: '      ledger.#open.set(task, { next, good });\n',
    tests: LEDGER_TESTS,
  },
  {
    rule: 'a ledger that parts from another one takes its progress along',
    file: 'src/core/shard/pass-ledger.ts',
    find: '    copy.#openGood = this.#openGood;\n',
    replace: '',
    tests: LEDGER_TESTS,
  },
  {
    rule: 'discarded records are progress',
    file: 'src/core/shard/ledger.ts',
    find: 'records += ledger.good() + ledger.discarded;',
    replace: 'records += ledger.good();',
    tests: LEDGER_TESTS,
  },
  {
    rule: 'the progress of a pserver is that of the shard that has done least',
    file: 'src/core/shard/ledgers.ts',
    find: 'Math.min(...groups.all.map(({ ledger }) => ledger.passesDone(records)))',
    replace: 'Math.max(...groups.all.map(({ ledger }) => ledger.passesDone(records)))',
    tests: LEDGER_TESTS,
  },
  {
    rule: 'the progress of a schedule is that of the ledgers',
    file: 'src/roles/pserver/modes/tasks/service.ts',
    find: 'shards.ledgers.passesDone(record.train.records)',
    replace: 'shards.ledgers.watermark()',
    tests: ['test/sim/rate-share.test.ts'],
  },
  {
    rule: 'a push that is forwarded has the share of the schedule',
    file: 'src/roles/pserver/modes/tasks/push-pull.ts',
    find: 'serving.moves?.applied(() => updateOf(request, applying, rateScale))',
    replace: 'serving.moves?.applied(() => updateOf(request, applying, 1))',
    tests: TASK_TESTS,
  },
  {
    rule: 'a push to units with copies has the share of the moment at which it is placed',
    file: 'src/roles/pserver/modes/tasks/push-pull.ts',
    find: 'const rateScale = serving.rateShare() * staleness.judge(shards, header.used, header.push, placing.counted);',
    replace: 'const rateScale = staleness.judge(shards, header.used, header.push, placing.counted);',
    tests: TASK_TESTS,
  },
  {
    rule: 'copies apply a round with the share of its primary',
    file: 'src/roles/pserver/held/held.ts',
    find: 'this.job.rateShareOf?.(round) ?? 1',
    replace: '1',
    tests: ['test/roles/pserver/held/held.test.ts'],
  },
  {
    rule: 'the service gives copies the share of a round',
    file: 'src/roles/pserver/modes/rounds/service.ts',
    find: '...{ spec, shards, units, rateShareOf }',
    replace: '...{ spec, shards, units }',
    schedules: { ...SYNC_SIM, isCopied: true },
  },
  {
    rule: 'a unit that is coming applies rounds with their share',
    file: 'src/roles/pserver/held/held.ts',
    find: 'return new Held(this.job, this.#memory, this.parts.router);',
    replace: 'return new Held({ ...this.job, rateShareOf: undefined }, this.#memory, this.parts.router);',
    schedules: { ...SYNC_SIM, isCopied: true },
  },
  {
    rule: 'a round has its own share, not that of the next one',
    file: 'src/roles/pserver/held/held.ts',
    find: 'rateScale: this.rateShareOf(round),',
    replace: 'rateScale: this.rateShareOf(round + 1),',
    tests: ['test/sync/shuffled-delivery.test.ts'],
  },
  {
    rule: 'the share of a round is that of its place in its pass',
    file: 'src/core/round-shares.ts',
    find: 'place.round / plan.roundsOf(place.pass)',
    replace: 'round / plan.roundsOf(place.pass)',
    tests: ['test/core/round-shares.test.ts'],
  },
  {
    rule: 'the rate of a statistic is not scaled',
    file: 'src/tensor/push.ts',
    find: 'if (parameter.spec.statisticRate === undefined) heap',
    replace: 'heap',
    tests: ['test/tensor/mixed-optimizers.test.ts'],
  },
  {
    rule: 'ftrl has no schedule',
    file: 'src/job/rules.ts',
    find: 'if (file.training.schedule === undefined || optimizersOf(file, outline).every(hasLearningRate)) return [];',
    replace: 'if (file.training.schedule === undefined || hasLearningRate(file.optimizer)) return [];',
    tests: ['test/job/schedule.test.ts'],
  },
];
