/** Rules of the copies of a unit (docs/copies.md). That page explains each rule. */
import type { Mutation } from './mutation.ts';

const TESTS = ['test/core/replicas/model.test.ts', 'test/core/replicas/replica.test.ts'];
const STEPS = ['test/core/replicas/replica.test.ts'];
const PRIMARY = 'src/core/replicas/primary.ts';
const BACKUP = 'src/core/replicas/backup.ts';
const REPLICA = 'src/core/replicas/replica.ts';

export const REPLICAS: readonly Mutation[] = [
  {
    rule: 'a copy that takes over keeps everything that it has staged',
    file: REPLICA,
    find: '    this.#seen = { head, isPrimaryAlive: true };\n    const primary',
    replace:
      '    this.#seen = { head, isPrimaryAlive: true };\n    this.#log.dropAfter(this.#log.committed);\n    const primary',
    tests: TESTS,
  },
  {
    rule: 'before everything inherited is committed, a copy answers nothing',
    file: PRIMARY,
    find: 'inherited: log.last, isServing: false',
    replace: 'inherited: log.last, isServing: true',
    tests: TESTS,
  },
  {
    rule: 'what was inherited is not dropped when a member is taken out',
    file: PRIMARY,
    find: 'Math.max(committed, Math.min(this.#state.inherited, last), staged)',
    replace: 'Math.max(committed, staged)',
    tests: TESTS,
  },
  {
    rule: 'what all members that are left have staged is not dropped when one is taken out',
    file: PRIMARY,
    find: 'Math.max(committed, Math.min(this.#state.inherited, last), staged)',
    replace: 'Math.max(committed, Math.min(this.#state.inherited, last))',
    tests: TESTS,
  },
  {
    rule: 'a commit needs the member that is being taken out until the store has answered',
    file: PRIMARY,
    find: 'const isNeeded = isIn(head.inSync, peer.owner) ||',
    replace: 'const isNeeded = (isIn(head.inSync, peer.owner) && proposal?.kind !== "remove") ||',
    tests: TESTS,
  },
  {
    rule: 'a commit needs the copy that is being taken into the set before the store has answered',
    file: PRIMARY,
    find: 'isIn(head.inSync, peer.owner) || isIn(proposal?.head.inSync ?? [], peer.owner);',
    replace: 'isIn(head.inSync, peer.owner);',
    tests: TESTS,
  },
  {
    rule: 'an unknown outcome is settled by an answered transaction',
    file: PRIMARY,
    find: "      this.#out({ type: 'propose', proposal });\n      return undefined;",
    replace: '      this.#refused(proposal);\n      return undefined;',
    tests: TESTS,
  },
  {
    rule: 'while the store decides about a hand-over, the unit answers nothing',
    file: PRIMARY,
    find: "if (!isServing || proposal?.kind === 'handOver') return false;",
    replace: 'if (!isServing) return false;',
    tests: TESTS,
  },
  {
    rule: 'a unit is handed over only when nothing is staged',
    file: PRIMARY,
    find: 'if (to === undefined || this.#log.committed < this.#log.last) return undefined;',
    replace: 'if (to === undefined) return undefined;',
    tests: TESTS,
  },
  {
    rule: 'an answer counts in its own epoch only',
    file: PRIMARY,
    find: 'peer === undefined || !isSameLink(link, this.#linkTo(peer.owner))',
    replace: 'peer === undefined',
    tests: TESTS,
  },
  {
    rule: 'a backup takes the updates and commit positions of the epoch that it follows only',
    file: BACKUP,
    find: '    const isFollowing = link.epoch === this.#state.epoch;',
    replace: '    const isFollowing = true;',
    tests: TESTS,
  },
  {
    rule: 'a backup that begins an epoch drops what its primary has not placed',
    file: BACKUP,
    find: 'if (link.epoch > this.#state.epoch) this.#log.dropAfter(agreed);',
    replace: '',
    tests: TESTS,
  },
  {
    rule: 'a beginning that comes late drops nothing',
    file: BACKUP,
    find: 'if (link.epoch > this.#state.epoch) this.#log.dropAfter(agreed);',
    replace: 'this.#log.dropAfter(agreed);',
    tests: TESTS,
  },
  {
    rule: 'a backup refuses what comes of an old epoch',
    file: BACKUP,
    find: 'if (link.epoch === known && isSameOwner',
    replace: 'if (link.epoch >= this.#state.epoch - 1 && isSameOwner',
    tests: TESTS,
  },
  {
    rule: 'a copy takes over by a transaction that shows that the primary is gone',
    file: BACKUP,
    find: 'alive: [], gone: [primary] };',
    replace: 'alive: [], gone: [] };',
    tests: TESTS,
  },
  {
    rule: 'no update is committed with fewer copies than it needs',
    file: PRIMARY,
    find: 'this.#state.head.inSync.length < this.#options.minInSync ? 0 :',
    replace: '',
    tests: STEPS,
  },
  {
    rule: 'only an in-sync member takes over',
    file: BACKUP,
    find: 'if (!isIn(head.inSync, this.#options.me)) return',
    replace: 'if (!isIn(head.inSync, this.#options.me) && isPrimaryAlive) return',
    tests: TESTS,
  },
  {
    rule: 'a frame is for the process with that token only',
    file: REPLICA,
    find: 'isSameOwner(event.link.member, this.#options.me)',
    replace: 'event.link.member.index === this.#options.me.index',
    tests: TESTS,
  },
  {
    rule: 'a copy says what it has applied after each commit position',
    file: BACKUP,
    find: 'if (isFollowing) this.#answerStaged(link);',
    replace: '',
    tests: STEPS,
  },
  {
    rule: 'a member that does not apply what is committed is silent',
    file: PRIMARY,
    find: 'peer.acknowledged >= peer.sent && peer.committed >= peer.reported',
    replace: 'peer.acknowledged >= peer.sent',
    tests: STEPS,
  },
  {
    rule: 'a peer that answers anything is not silent',
    file: PRIMARY,
    find: 'if (peer?.owesSinceMs !== undefined) peer.owesSinceMs = now;',
    replace: '',
    tests: STEPS,
  },
  {
    rule: 'a beginning that comes before the answer about the own proposal is kept',
    file: REPLICA,
    find: 'if (this.#role !== undefined && link.epoch > this.#knownEpoch()) this.#keepEarly',
    replace: 'if (this.#role instanceof Backup && link.epoch > this.#knownEpoch()) this.#keepEarly',
    tests: STEPS,
  },
  {
    rule: 'a copy that joins is freed when its primary has lost its index',
    file: BACKUP,
    find: '(isPrimaryAlive && isSameOwner(head.primary, madeBy.primary))',
    replace: 'isSameOwner(head.primary, madeBy.primary)',
    tests: STEPS,
  },
  {
    rule: 'a copy that joins is freed when another process leads the unit',
    file: BACKUP,
    find: '(isPrimaryAlive && isSameOwner(head.primary, madeBy.primary))',
    replace: 'isPrimaryAlive',
    tests: STEPS,
  },
  {
    rule: 'what the store shows of the time before a copy was made does not free it',
    file: BACKUP,
    find: 'return head.epoch < madeBy.epoch || ',
    replace: 'return ',
    tests: STEPS,
  },
];
