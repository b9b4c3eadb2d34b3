/** Rules of the copies of units that a pserver holds and does not lead. */
import type { Mutation } from './mutation.ts';

const GROUPS = 'src/core/shard/ledger-groups.ts';
const LEDGERS = 'src/core/shard/ledgers.ts';
const SHARDS = 'src/roles/pserver/held/held.ts';
const UNITS = 'src/roles/pserver/replicas/copied-units.ts';
const LEDGER_TESTS = ['test/core/shard'];
const OWNED_TESTS = ['test/roles/pserver/held/owned-shards.test.ts'];
const ASYNC_TESTS = ['test/roles/pserver/replicas/copied-units.test.ts'];
const SYNC_TESTS = ['test/roles/pserver/modes/rounds/copied.test.ts'];

export const COPIES: readonly Mutation[] = [
  {
    rule: 'what some shards are told changes nothing in the others',
    file: GROUPS,
    find: 'this.#set(this.#groups.flatMap((group) => parted(group, wanted)));',
    replace: '',
    tests: LEDGER_TESTS,
  },
  {
    rule: 'ledgers that part are independent of each other',
    file: GROUPS,
    find: 'ledger: group.ledger.copy(), ',
    replace: '',
    tests: LEDGER_TESTS,
  },
  {
    rule: 'some shards are judged by what they have themselves',
    file: LEDGERS,
    find: 'const meant = groups.among(only);',
    replace: 'const meant = groups.among(undefined);',
    tests: LEDGER_TESTS,
  },
  {
    rule: 'a task is closed in the shards that are named',
    file: LEDGERS,
    find: 'groups.part(only).filter(',
    replace: 'groups.part(undefined).filter(',
    tests: LEDGER_TESTS,
  },
  {
    rule: 'ledgers that parted are one again when all shards were told the same',
    file: GROUPS,
    find: 'if (this.#groups.length > this.#many) this.merge();',
    replace: 'if (this.#groups.length > 1_000) this.merge();',
    tests: LEDGER_TESTS,
  },
  {
    rule: 'ledgers that part with each update in the same way are not copied each time',
    file: GROUPS,
    find: 'if (this.#groups.length > this.#many) this.merge();',
    replace: 'this.merge();',
    tests: LEDGER_TESTS,
  },
  {
    rule: 'ledgers are one only when they are equal to the last bit',
    file: 'src/core/shard/pass-ledger.ts',
    find: '      Buffer.compare(this.#closed.words, other.#closed.words) === 0',
    replace: '      true',
    tests: LEDGER_TESTS,
  },
  {
    rule: 'an update of several units raises the version once, with the last of them',
    file: 'src/roles/pserver/replicas/committed-updates.ts',
    find: 'shardsOfUnits(units, of) : undefined);',
    replace: 'shardsOfUnits(units, of) : undefined);\n    owned.raiseVersion();',
    tests: ['test/roles/pserver/replicas/committed-updates.test.ts'],
  },
  {
    rule: 'a unit that another pserver leads keeps its memory here',
    file: 'src/roles/pserver/held/owned-shards.ts',
    find: '    this.#leave(unit);\n    return positions;',
    replace: '    this.remove(unit);\n    return positions;',
    tests: OWNED_TESTS,
  },
  {
    rule: 'an update that does not fit a copy changes nothing of it',
    file: UNITS,
    find: 'this.#whyUnfit(units, update) === undefined ? []',
    replace: 'units.length > 0 ? []',
    tests: ASYNC_TESTS,
  },
  {
    rule: 'an update that does not fit one copy goes to the others',
    file: UNITS,
    find: '[] : this.#unfitOf(units, update);',
    replace: '[] : [...units];',
    tests: ASYNC_TESTS,
  },
  {
    rule: 'a copy scales the learning rate as its primary has decided',
    file: SHARDS,
    find: 'const options = { rateScale, seen',
    replace: 'const options = { rateScale: Math.ceil(rateScale), seen',
    tests: ['test/roles/pserver/held/held.test.ts'],
  },
  {
    rule: 'an update of many copies is applied once',
    file: UNITS,
    find: 'const why = fit.length === 0 ? undefined : this.#apply(fit, shared.partOf(fit));',
    replace:
      'const why = fit.map((unit) => this.#apply([unit], shared.partOf([unit]))).find((one) => one !== undefined);',
    tests: ASYNC_TESTS,
  },
  {
    rule: 'the shards of a copy that do not apply an update have it already',
    file: SHARDS,
    find: 'if (count !== otherCount) return false;',
    replace: 'if (count < otherCount) return false;',
    tests: ASYNC_TESTS,
  },
  {
    rule: 'the shards of a copy that apply an update are those that lack it',
    file: SHARDS,
    find: 'return others.every((shard) => set.has(shard));',
    replace: 'return set.size > 0;',
    tests: ASYNC_TESTS,
  },
  {
    rule: 'an update goes to the shards that lack it',
    file: 'src/roles/pserver/update/parts.ts',
    find: 'shards: shards.filter((shard) => applying.has(shard)) };',
    replace: 'shards: applying.size === 0 ? [] : shards };',
    tests: ASYNC_TESTS,
  },
  {
    rule: 'a copy takes no closure of a task of which it has more records',
    file: SHARDS,
    find: 'if (applied.every(({ good }) => good <= records)) return undefined;',
    replace: 'if (applied.every(({ good }) => good >= 0)) return undefined;',
    tests: ASYNC_TESTS,
  },
  {
    rule: 'copies are closed in the units that are named',
    file: SHARDS,
    find: 'this.#ledgers.close(pass, task, records, this.#unlessAll(shards))',
    replace: 'this.#ledgers.close(pass, task, records)',
    tests: ASYNC_TESTS,
  },
  {
    rule: 'what is meant for some of the copies is not meant for all',
    file: SHARDS,
    find: 'return shards?.length === this.#shards.size ? undefined : shards;',
    replace: 'return undefined;',
    tests: ASYNC_TESTS,
  },
  {
    rule: 'a copy in parameters that are no more in use takes nothing',
    file: UNITS,
    find: 'if (copy.parameters !== owned.parameters) return',
    replace: 'if (copy.parameters === undefined) return',
    tests: ASYNC_TESTS,
  },
  {
    rule: 'a copy that is discarded frees its own memory',
    file: UNITS,
    find: 'const { parameters, shards } = this.#copyOf(unit);',
    replace: 'const [{ shards }, { parameters }] = [this.#copyOf(unit), this.#options.owned];',
    tests: ASYNC_TESTS,
  },
  {
    rule: 'a copy that is led now is followed no more',
    file: UNITS,
    find: '    this.#held.letGo(this.#copyOf(unit).shards);\n',
    replace: '',
    tests: ASYNC_TESTS,
  },
  {
    rule: 'a round with two mini-batches of one task changes nothing of a copy',
    file: SHARDS,
    find: '.size < batches.length)',
    replace: '.size < 0)',
    tests: SYNC_TESTS,
  },
  {
    rule: 'a round that the parameters refuse changes nothing of a copy',
    file: SHARDS,
    find: '    const old = this.#memory.parameters.pushKeeping(sparse, dense, this.#actions(undefined), options);\n',
    replace:
      '    for (const { position } of batches) this.#ledgers.advance(position, only);\n    const old = this.#memory.parameters.pushKeeping(sparse, dense, this.#actions(undefined), options);\n',
    tests: SYNC_TESTS,
  },
  {
    rule: 'a unit takes the old values of its own shards along',
    file: UNITS,
    find: 'previous: new PreImage(parts, rounds.previous).partOf(shards).old',
    replace: 'previous: new PreImage(parts, rounds.previous).old',
    tests: SYNC_TESTS,
  },
  {
    rule: 'a copy sums up the metrics of its rounds',
    file: 'src/roles/pserver/held/next-round.ts',
    find: 'metrics: addRound(before, version, batches) };',
    replace: 'metrics: before };',
    tests: SYNC_TESTS,
  },
];
