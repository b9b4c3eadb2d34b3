/** Rules of backup copies that are made for processes that join. */
import type { Mutation } from './mutation.ts';

const SOURCE = 'src/core/units/move-source.ts';
const TARGET = 'src/core/units/move-target.ts';
const MODEL = ['test/core/units/join-model.test.ts', 'test/core/units/join-model.nightly.test.ts'];
const TESTS = ['test/core/units/move-copy.test.ts'];
const SHELLS = ['test/roles/pserver/transfer/copies.test.ts'];

export const JOINS: readonly Mutation[] = [
  {
    rule: 'messages of a move name what it is for',
    file: 'src/core/units/move-messages.ts',
    find: '  a.purpose === b.purpose &&\n',
    replace: '',
    tests: TESTS,
  },
  {
    rule: 'a sealed copy may be in the head: a source that gets no answer does not abandon it by itself',
    file: SOURCE,
    find: "if (phase === 'sealing' && this.#isForCopy) this.#unconfirmed(reason);",
    replace: "if (phase === 'sealing' && this.#isForCopy) this.#giveUp(reason, now);",
    tests: TESTS,
  },
  {
    rule: 'a copy that was not taken into the head is abandoned',
    file: SOURCE,
    find: "if (this.#isSealedCopy) this.#giveUp('the copy was not taken into the head', now);",
    replace: 'if (this.#isSealedCopy) this.#release(now);',
    tests: TESTS,
  },
  {
    rule: 'a copy that came into the head is not abandoned',
    file: SOURCE,
    find: "    if (this.#isSealedCopy) {\n      this.#window.clear();\n      this.#state.phase = 'released';\n    } else",
    replace: "    if (this.#isSealedCopy) this.#giveUp('released', now);\n    else",
    tests: MODEL,
  },
  {
    rule: 'a move forwards nothing to a copy that is sealed',
    file: SOURCE,
    find: '    if (this.#isSealedCopy) return;\n',
    replace: '',
    tests: TESTS,
  },
  {
    rule: 'the updates of a copy are counted from what was committed when it began',
    file: SOURCE,
    find: 'from ?? beginning<P>(now, options.position)',
    replace: 'from ?? beginning<P>(now)',
    tests: TESTS,
  },
  {
    rule: 'a target says again that it has a sealed copy',
    file: TARGET,
    find: 'if (copied !== undefined && isSameMove(copied.name, name)) this.#replySealed(copied);',
    replace: 'if (copied !== undefined && copied.position < 0) this.#replySealed(copied);',
    tests: TESTS,
  },
  {
    rule: 'a copy that was abandoned after its seal is freed',
    file: TARGET,
    find: 'if (copied !== undefined && isSameMove(copied.name, name)) this.#forgetCopied();',
    replace: '',
    tests: MODEL,
  },
  {
    rule: 'only the move that made a copy abandons it',
    file: TARGET,
    find: 'if (copied !== undefined && isSameMove(copied.name, name)) this.#forgetCopied();',
    replace: 'if (copied !== undefined) this.#forgetCopied();',
    tests: TESTS,
  },
  {
    rule: 'the next copy of a unit replaces the one that has not joined',
    file: TARGET,
    find: '    this.#forgetCopied();\n    this.#state.attempt = name.attempt;',
    replace: '    this.#state.attempt = name.attempt;',
    tests: MODEL,
  },
  {
    rule: 'a process that is in the head takes no copy of the unit',
    file: TARGET,
    find: "return isMember ? 'it has a copy of the unit' : undefined;",
    replace: 'return undefined;',
    tests: TESTS,
  },
  {
    rule: 'a copy outlives the changes of the head that its source makes',
    file: TARGET,
    find: "    if (purpose === 'copy') {\n",
    replace: "    if (purpose === 'copy' && head.epoch === epoch) {\n",
    tests: TESTS,
  },
  {
    rule: 'a copy of a source that leads no more is discarded',
    file: TARGET,
    find: "if (!isSameOwner(head.primary, source)) this.#discard('the unit has another leader');",
    replace: 'if (!isSameOwner(head.primary, source)) this.#state.attempt = 0;',
    tests: TESTS,
  },
  {
    rule: 'a copy is not offered to a pserver that keeps none',
    file: 'src/roles/pserver/transfer/incoming-moves.ts',
    find: "if (purpose === 'copy' && keeper === undefined) return 'it keeps no backup copies';",
    replace: '',
    tests: SHELLS,
  },
  {
    rule: 'a copy that has not joined makes way for the next one',
    file: 'src/roles/pserver/transfer/incoming-moves.ts',
    find: "if (role === 'none' && isPresent)",
    replace: 'if (isPresent)',
    tests: SHELLS,
  },
  {
    rule: 'a copy that was given up counts no more, though its process was not told',
    file: 'src/roles/pserver/transfer/outgoing.ts',
    find: '(move.isSettled || !isMeant(move) ? [] : [move])',
    replace: '(isMeant(move) ? [move] : [])',
    tests: SHELLS,
  },
  {
    rule: 'another copy may begin as soon as one is given up',
    file: 'src/roles/pserver/transfer/outgoing.ts',
    find: '        onAbandoned: () => maker.ended(copy),\n        onEnded: () => {\n          this.#forget(keyOf(copy));\n          if (!move.isSettled) maker.ended(copy);\n',
    replace:
      '        onAbandoned: () => {},\n        onEnded: () => {\n          this.#forget(keyOf(copy));\n          maker.ended(copy);\n',
    tests: SHELLS,
  },
  {
    rule: 'an update is forwarded to each of the copies that are being made of a unit',
    file: 'src/roles/pserver/transfer/outgoing.ts',
    find: 'const waits = moves.flatMap(',
    replace: 'const waits = moves.slice(0, 1).flatMap(',
    tests: SHELLS,
  },
  {
    rule: 'a copy that is not sealed is given up before the last checkpoint',
    file: 'src/roles/pserver/transfer/moves.ts',
    find: '    this.outgoing.abandon(reason);\n',
    replace: '',
    tests: SHELLS,
  },
  {
    rule: 'the process for which a copy is made may be gone',
    file: 'src/roles/pserver/transfer/moves.ts',
    find: '      this.outgoing.recheck();\n',
    replace: '',
    tests: SHELLS,
  },
  {
    rule: 'a move says that it has made a copy when its step is done',
    file: 'src/roles/pserver/transfer/outgoing-move.ts',
    find: 'else this.#notices.push(copy.onCaughtUp);',
    replace: 'else copy.onCaughtUp();',
    tests: SHELLS,
  },
  {
    rule: 'a backup copy from before a rise of the timeline is not kept',
    file: 'src/roles/pserver/transfer/incoming-move.ts',
    find: 'if (rounds !== undefined && copy.rounds()?.timeline !== rounds.timeline())',
    replace: 'if (rounds !== undefined && copy.rounds() === undefined)',
    tests: ['test/roles/pserver/modes/rounds/outdated.test.ts'],
  },
];
