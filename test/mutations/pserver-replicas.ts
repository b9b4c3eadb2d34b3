/** Rules of how a pserver carries out what the machines of copies decide. */
import type { Mutation } from './mutation.ts';

const REPLICAS = 'src/roles/pserver/replicas';
const TESTS = 'test/roles/pserver/replicas';
const PLACED = { file: `${REPLICAS}/placed-updates.ts`, tests: [`${TESTS}/placed-updates.test.ts`] };
const PLACING = { file: `${REPLICAS}/placing.ts`, tests: [`${TESTS}/placing.test.ts`] };
const SEEN = { file: `${REPLICAS}/seen-heads.ts`, tests: [`${TESTS}/seen-heads.test.ts`] };
const INBOXES = { file: `${REPLICAS}/inboxes.ts`, tests: [`${TESTS}/inboxes.test.ts`] };
const JOINS = { file: `${REPLICAS}/joins.ts`, tests: [`${TESTS}/joins.test.ts`] };
const MACHINES = { file: `${REPLICAS}/machines.ts`, tests: [`${TESTS}/machines.test.ts`] };
const PRESENCE = { file: `${REPLICAS}/presence.ts`, tests: [`${TESTS}/presence.test.ts`] };
const COMMITTED = { file: `${REPLICAS}/committed-updates.ts`, tests: [`${TESTS}/committed-updates.test.ts`] };
const HAND_OVERS = { file: `${REPLICAS}/hand-overs.ts`, tests: [`${TESTS}/hand-overs.test.ts`] };

export const PSERVER_REPLICAS: readonly Mutation[] = [
  {
    rule: 'a last checkpoint holds for the recovery number that it was taken under',
    file: 'src/roles/pserver/modes/tasks/service.ts',
    find: 'if (this.#concludedUnder !== undefined && this.#recovery() > this.#concludedUnder) this.#resume();',
    replace: '',
    tests: ['test/roles/pserver/leaving.test.ts'],
  },
  {
    rule: 'a pserver that leaves stays for a copy that it is about to lead',
    file: `${REPLICAS}/readiness.ts`,
    find: 'return this.isTakingOver() || machines.units()',
    replace: 'return machines.units()',
    tests: [`${TESTS}/readiness.test.ts`],
  },
  {
    rule: 'a closure of a task goes to all copies',
    file: 'src/roles/pserver/modes/tasks/close-tasks.ts',
    find: 'if (replicas !== undefined && open.length > 0) return closeInCopies(open, replicas);',
    replace: '',
    tests: ['test/roles/pserver/modes/tasks/close-tasks.test.ts'],
  },
  {
    ...MACHINES,
    rule: 'who begins to lead takes out the members that are gone already',
    find: '    if (peers !== before) this.#reportGone(unit, peers, before);\n',
    replace: '',
  },
  {
    ...PRESENCE,
    rule: 'a process that is newer than what the view shows is not taken for gone',
    find: ' && BigInt(owner.token) <= this.#highestToken',
    replace: '',
  },
  {
    ...COMMITTED,
    rule: 'committed updates are applied in the order of each unit, not in that of their arrival',
    find: 'queues.get(unit)![0] === payload;',
    replace: 'queues.get(unit)!.includes(payload);',
    schedules: { mode: 'async', disks: true, isCopied: true, hasDeltas: true, count: 40 },
  },
  {
    ...PLACED,
    rule: 'an update that a unit has dropped is not told as one that counts',
    find: '      placed.isFailed = true;\n',
    replace: '',
  },
  {
    ...PLACED,
    rule: 'an update is answered when every unit has decided about it',
    find: 'if (!placed.open.delete(unit) || placed.open.size > 0) return;',
    replace: 'if (!placed.open.delete(unit)) return;',
  },
  {
    ...PLACING,
    rule: 'what waited for room is judged again: the same update may have come twice',
    find: '!isCurrent() || ',
    replace: '',
  },
  {
    rule: 'no update of a task is placed while another one of it is not decided',
    file: 'src/roles/pserver/modes/tasks/push-pull.ts',
    find: 'turn.wait() ?? ',
    replace: '',
    tests: ['test/roles/pserver/modes/tasks/push-pull.test.ts'],
  },
  {
    rule: 'a push has the turn of its task until its answer is made, also while it is judged again',
    file: 'src/roles/pserver/modes/tasks/push-pull.ts',
    find: 'again: () => answerWhenReady(serving, ready, place),',
    replace: 'again: () => (turn.end(), answerWhenReady(serving, ready, place)),',
    tests: ['test/roles/pserver/modes/tasks/push-pull.test.ts'],
  },
  {
    rule: 'a push is as stale as those placed before it make it',
    file: 'src/roles/pserver/modes/tasks/push-pull.ts',
    find: ', placing.counted);',
    replace: ');',
    tests: ['test/roles/pserver/modes/tasks/push-pull.test.ts'],
  },
  {
    ...PLACING,
    rule: 'an update is placed only where every unit admits it',
    find: ' || !this.#areAdmitted(payload.units)',
    replace: '',
  },
  {
    ...SEEN,
    rule: 'no copy takes over from a primary that has left by a clean stop',
    find: 'isOwned || head.rest !== undefined',
    replace: 'isOwned',
  },
  {
    ...SEEN,
    rule: 'a view that is behind tells nothing',
    find: '    if (known.of(unit)!.modRevision > modRevision) return;\n',
    replace: '',
  },
  {
    ...INBOXES,
    rule: 'what came on an older connection of a primary is not taken',
    find: 'from === undefined || from.session !== session',
    replace: 'from === undefined',
  },
  {
    ...INBOXES,
    rule: 'what came on an older connection of a primary is not answered',
    find: '    refuse(from);\n    from.inbox.opened();\n',
    replace: '    from.inbox.opened();\n',
  },
  {
    ...INBOXES,
    rule: 'a batch is answered when the machines have had their turn',
    find: 'if (ofCopies.length === 0) giveAnswers(from);',
    replace: 'giveAnswers(from);',
  },
  {
    ...JOINS,
    rule: 'a copy is begun with what is applied',
    find: 'if (!machines.isPending(unit)) this.#begin(unit, target);',
    replace: 'this.#begin(unit, target);',
  },
  {
    ...MACHINES,
    rule: 'what machines do is carried out when the caller has returned',
    find: 'queueMicrotask(() => {',
    replace: '((run: () => void) => run())(() => {',
  },
  {
    ...MACHINES,
    rule: 'the time in which this process was stopped does not count as silence of others',
    find: ' || lateMs >= lookMs',
    replace: ' || lateMs < 0',
  },
  {
    ...MACHINES,
    rule: 'the time in which this process was cut off from the store does not count as silence of others',
    find: '!isHeld() || ',
    replace: '',
  },
  {
    ...HAND_OVERS,
    rule: 'a hand-over that the copy refuses does not begin: it would end and be asked for at once, for ever',
    find: ' || this.#options.machines.of(unit)?.mayHandOver(to) !== true',
    replace: '',
  },
  {
    ...HAND_OVERS,
    rule: 'no unit is handed over while a save is running',
    find: 'const resumeSaves = await this.#options.withoutSaves();',
    replace: 'const resumeSaves = (): void => {};',
  },
];
