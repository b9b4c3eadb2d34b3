/** Rules of units that move from one pserver to another. */
import type { Mutation } from './mutation.ts';

const SOURCE = 'src/core/units/move-source.ts';
const TARGET = 'src/core/units/move-target.ts';
const MESSAGES = 'src/core/units/move-messages.ts';
const MODEL = ['test/core/units/move-model.test.ts'];
const SOURCE_TESTS = ['test/core/units/move-source.test.ts'];
const TARGET_TESTS = ['test/core/units/move-target.test.ts'];

export const MOVES: readonly Mutation[] = [
  {
    rule: 'the head of a unit changes only after the target has sealed its copy',
    file: SOURCE,
    find: 'this.#isCaughtUp()) this.#seal(now);',
    replace: 'this.#isCaughtUp()) this.#decide();',
    tests: MODEL,
  },
  {
    rule: 'a unit that is handed over answers nothing until the store has answered',
    file: SOURCE,
    find: "if (phase === 'deciding' || phase === 'moved') return false;",
    replace: "if (phase === 'moved') return false;",
    tests: MODEL,
  },
  {
    rule: 'updates of a unit wait from its seal on',
    file: SOURCE,
    find: "return kind === 'read' || phase !== 'sealing';",
    replace: 'return true;',
    tests: SOURCE_TESTS,
  },
  {
    rule: 'an unknown outcome of a hand-over is settled by a transaction that is answered',
    file: SOURCE,
    find: "if (event.outcome === 'unknown') this.#propose();",
    replace: "if (event.outcome === 'unknown') this.#giveUp('the outcome is unknown', now);",
    tests: MODEL,
  },
  {
    rule: 'a hand-over is abandoned only before its transaction is sent',
    file: SOURCE,
    find: "if (phase === 'offering' || phase === 'copying' || phase === 'sealing') this.#giveUp(reason, now);",
    replace: "if (phase !== 'abandoning' && !this.isEnded) this.#giveUp(reason, now);",
    tests: MODEL,
  },
  {
    rule: 'the death of the target does not settle a hand-over',
    file: SOURCE,
    find: "if (phase === 'deciding' || this.isEnded) return;",
    replace: 'if (this.isEnded) return;',
    tests: MODEL,
  },
  {
    rule: 'a hand-over compares the token of the target as alive',
    file: SOURCE,
    find: 'alive: [source, target] }',
    replace: 'alive: [source] }',
    tests: MODEL,
  },
  {
    rule: 'a hand-over compares the token of the source as alive',
    file: SOURCE,
    find: 'alive: [source, target] }',
    replace: 'alive: [target] }',
    tests: MODEL,
  },
  {
    rule: 'every update after the copy of the first shard is forwarded',
    file: SOURCE,
    find: 'this.#state.captured === 0) return;',
    replace: 'this.#state.captured < this.#options.shards.length) return;',
    tests: SOURCE_TESTS,
  },
  {
    rule: 'a target that cannot keep up slows the answers to updates',
    file: SOURCE,
    find: 'if (this.#window.isOverfull) return;',
    replace: 'if (this.#state.captured < 0) return;',
    tests: SOURCE_TESTS,
  },
  {
    rule: 'no more than the window is under way to a target',
    file: 'src/core/units/move-window.ts',
    find: 'this.#sentBytes + byteLength <= this.#windowBytes',
    replace: 'byteLength <= this.#windowBytes',
    tests: ['test/core/units/move-link.test.ts'],
  },
  {
    rule: 'a target leads a unit only when the head names it',
    file: TARGET,
    find: '        copy.isSealed = true;\n',
    replace: '        copy.isSealed = true;\n        this.#named(copy);\n',
    tests: MODEL,
  },
  {
    rule: 'a target leads a unit only when its copy is sealed',
    file: TARGET,
    find: "isSealed ? { type: 'lead', epoch: name.epoch + 1 } : { type: 'lost' }",
    replace: "isSealed || !isSealed ? { type: 'lead', epoch: name.epoch + 1 } : { type: 'lost' }",
    tests: TARGET_TESTS,
  },
  {
    rule: 'a sealed copy is not discarded because the source is silent',
    file: TARGET,
    find: 'return copy === undefined || copy.isSealed ? undefined',
    replace: 'return copy === undefined ? undefined',
    tests: MODEL,
  },
  {
    rule: 'a sealed copy is discarded when the store shows that its source is gone',
    file: TARGET,
    find: "if (head.epoch === epoch && !isPrimaryAlive) this.#discard('the source is gone');",
    replace: '',
    tests: MODEL,
  },
  {
    rule: 'a target takes no update after the seal',
    file: TARGET,
    find: 'if (number === copy.next && !copy.isSealed) {',
    replace: 'if (number === copy.next) {',
    tests: TARGET_TESTS,
  },
  {
    rule: 'a forwarded update is applied to the shards that have been copied',
    file: TARGET,
    find: 'this.#options.shards.slice(0, copy.complete)',
    replace: 'this.#options.shards',
    tests: TARGET_TESTS,
  },
  {
    rule: 'updates come to a target in order, above the position of the copy',
    file: TARGET,
    find: 'return complete > 0 && !isPartial && content.position === position + 1;',
    replace: 'return complete > 0 && !isPartial;',
    tests: TARGET_TESTS,
  },
  {
    rule: 'a target takes an offer only from the primary that the head names',
    file: TARGET,
    find: 'head.epoch !== epoch || !isSameOwner(head.primary, source)',
    replace: 'head.epoch > epoch',
    tests: TARGET_TESTS,
  },
  {
    rule: 'messages of a move name its epoch',
    file: MESSAGES,
    find: '  a.epoch === b.epoch &&\n',
    replace: '',
    tests: [...SOURCE_TESTS, ...TARGET_TESTS],
  },
  {
    rule: 'messages of a move name its attempt',
    file: MESSAGES,
    find: '  a.attempt === b.attempt &&\n',
    replace: '',
    tests: MODEL,
  },
  {
    rule: 'messages of a move name the token of its source',
    file: MESSAGES,
    find: '  isSameOwner(a.source, b.source) &&\n',
    replace: '',
    tests: [...SOURCE_TESTS, ...TARGET_TESTS],
  },
  {
    rule: 'messages of a move name the token of its target',
    file: MESSAGES,
    find: ' &&\n  isSameOwner(a.target, b.target);',
    replace: ';',
    tests: [...SOURCE_TESTS, ...TARGET_TESTS],
  },
];
