/** Rules of looks, of the base of `seen`, and of what stays readable when rows are removed (docs/decisions/0168). */
import type { Mutation } from './mutation.ts';

const LOOKS = 'src/core/shard/looks.ts';
const HELD = 'src/roles/pserver/held/held.ts';
const IMAGE = 'src/roles/pserver/held/pre-image.ts';
const PIECES = 'src/roles/pserver/transfer/copy-pieces.ts';
const FILE = 'src/checkpoint/file';
const VIEW = 'src/roles/pserver/modes/rounds/round-view.ts';
const tests = ['test/roles/pserver/held/evictions.test.ts'];

export const EVICTIONS: readonly Mutation[] = [
  {
    rule: 'a pass begins at its first update or at that of a later pass',
    file: LOOKS,
    find: 'for (let one = this.#firstBegin(watermark); one <= pass; one++)',
    replace: 'for (let one = pass; one <= pass; one++)',
    tests: ['test/core/shard/looks.test.ts'],
  },
  {
    rule: 'a pass begins before its first update',
    file: LOOKS,
    find: 'this.#begins.set(one, seq);',
    replace: 'this.#begins.set(one, seq + 1);',
    tests,
  },
  {
    rule: 'begins that no look needs are forgotten',
    file: LOOKS,
    find: 'if (pass < first) this.#begins.delete(pass);',
    replace: 'if (pass < first - 1) this.#begins.delete(pass);',
    tests,
  },
  {
    rule: 'a look by passes is due when another pass is complete',
    file: LOOKS,
    find: 'this.#makeDue(seq, watermark > before);',
    replace: 'this.#makeDue(seq, watermark > 0);',
    tests,
  },
  {
    rule: 'a look that is due comes no later when it becomes due again',
    file: LOOKS,
    find: 'this.#lookAt[table] ??= seq + this.#delay;',
    replace: 'this.#lookAt[table] = seq + this.#delay;',
    tests,
  },
  {
    rule: 'the shards of a job look one after the other',
    file: LOOKS,
    find: 'Math.floor((rules.spread * shard) / rules.shards) + 1',
    replace: '1',
    tests,
  },
  {
    rule: 'a look removes what is unseen at the moment of the look',
    file: LOOKS,
    find: 'seq - eviction.unseenUpdates :',
    replace: 'seq - this.#delay - eviction.unseenUpdates :',
    tests,
  },
  {
    rule: 'what is stored as `seen` counts from the base',
    file: LOOKS,
    find: '[{ table, seen: last - this.#base }]',
    replace: '[{ table, seen: last }]',
    tests,
  },
  {
    rule: 'the base moves before `seen` overflows',
    file: LOOKS,
    find: 'seq - this.#base >= seenRange - 2 * spread',
    replace: 'seq >= seenRange - 2 * spread',
    tests,
  },
  {
    rule: 'each close of a task is an update of its own',
    file: HELD,
    find: '        for (const { pass, task, records } of update.tasks)\n          this.#count(this.#ledgers.close(pass, task, records, this.#unlessAll(shards)));\n',
    replace:
      '        const closed = update.tasks.flatMap(({ pass, task, records }) => this.#ledgers.close(pass, task, records, this.#unlessAll(shards)));\n        this.#count(new Set(closed));\n',
    tests,
  },
  {
    rule: 'rows have the `seen` of the update that names them, in each shard its own',
    file: HELD,
    find: 'this.#seqs[shard]! + 1 - base;',
    replace: 'this.#seqs[shard]! - base;',
    tests,
  },
  {
    rule: 'the looks of a shard move with it',
    file: HELD,
    find: 'new Looks(this.job.looks, shard, looks?.get(shard))',
    replace: 'new Looks(this.job.looks, shard)',
    tests,
  },
  {
    rule: 'a shard that comes has the passes that are complete in its ledger',
    file: HELD,
    find: '      this.#watermarks[shard] = this.#ledgers.watermarkOf(shard);\n    }\n    this.#applyToAll',
    replace: '    }\n    this.#applyToAll',
    tests,
  },
  {
    rule: 'the version before a round has the rows that the round removes',
    file: HELD,
    find: 'return removed.addTo(this.#applyRound(update, only));',
    replace: 'return this.#applyRound(update, only);',
    tests,
  },
  {
    rule: 'removed rows of a table that the round names are beside those that it changes',
    file: IMAGE,
    find: '        if (rows.length === 1) return rows[0]!;\n',
    replace: '        if (rows.length > 0) return rows[0]!;\n',
    tests,
  },
  {
    rule: 'a view of a cut keeps rows that are removed',
    file: VIEW,
    find: '      removing: (shard, table, ids) => this.#keepRemoved(shard, table, ids),\n',
    replace: '      removing: () => {},\n',
    tests,
  },
  {
    rule: 'a view of a cut shows rows that were removed, and came again, once',
    file: VIEW,
    find: '    gone.delete(id);\n',
    replace: '',
    tests,
  },
  {
    rule: 'the rows of a view are in the order of their ids',
    file: VIEW,
    find: '  if (gone.size > 0) sources.sort(',
    replace: '  if (gone.size < 0) sources.sort(',
    tests,
  },
  {
    rule: 'a view of a cut keeps all rows of a shard before their `seen` is lowered',
    file: VIEW,
    find: '      lowering: (shard) => this.#keepShard(shard),\n',
    replace: '      lowering: () => {},\n',
    tests,
  },
  {
    rule: 'a view of a cut shows candidates that got their rows since',
    file: VIEW,
    find: "    if (kind === 'candidates')",
    replace: "    if (kind !== 'candidates' && kind !== 'sparse')",
    tests,
  },
  {
    rule: 'a copy of a shard has its candidates',
    file: PIECES,
    find: '    ...storedTables(spec.sparse).flatMap((_, table) =>',
    replace: '    ...spec.sparse.flatMap((_, table) =>',
    tests,
  },
  {
    rule: 'the `seen` of rows moves with them',
    file: PIECES,
    find: '{ seen: wordsAt(layout.steps ? 1 : 0) }',
    replace: '{ seen: new Uint32Array(count) }',
    tests,
  },
  {
    rule: 'a copy of a shard says when the shard looks',
    file: PIECES,
    find: '    ...(looks === undefined ? [] : [looksPiece(looks)]),\n',
    replace: '',
    tests,
  },
  {
    rule: 'candidates are saved with their shard',
    file: `${FILE}/capture.ts`,
    find: 'const stored = storedTables(meta.parameters.sparse);',
    replace: 'const stored = meta.parameters.sparse;',
    tests: ['test/checkpoint/file/candidates.test.ts'],
  },
  {
    rule: 'the looks of a shard are loaded with it',
    file: 'src/checkpoint/load/load.ts',
    find: '      if (state !== undefined) looks.set(shard, state);\n',
    replace: '',
    tests: ['test/checkpoint/file/candidates.test.ts'],
  },
  {
    rule: 'the begins of a shard are its own',
    file: `${FILE}/looks.ts`,
    find: 'if (words[at] === BigInt(place))',
    replace: 'if (words[at]! <= BigInt(place))',
    tests: ['test/checkpoint/file/candidates.test.ts'],
  },
  {
    rule: 'candidates are distributed with their shards',
    file: 'src/checkpoint/restore/reshard.ts',
    find: '  return storedTables(chosen).map(({ kind, name }) =>',
    replace: '  return storedTables(chosen.map(({ admission: _, ...one }) => one)).map(({ kind, name }) =>',
    tests: ['test/checkpoint/file/candidates.test.ts'],
  },
  {
    rule: 'the digest of the state has the candidates',
    file: 'src/checkpoint/set/model-digest.ts',
    find: "  return [...ofKind('sparse'), ...ofKind('candidates')];",
    replace: "  return ofKind('sparse');",
    tests: ['test/checkpoint/file/candidates.test.ts'],
  },
  {
    rule: 'the digest of the model has no candidates',
    file: 'src/checkpoint/set/model-digest.ts',
    find: "isModel = kind === 'sparse';",
    replace: 'isModel = kind.length > 0;',
    tests: ['test/checkpoint/file/candidates.test.ts'],
  },
  {
    rule: 'copies are compared with their candidates and looks',
    file: 'src/checkpoint/set/shard-digest.ts',
    find: "  if (looks !== undefined) add(hash, 'looks', Object.values(lookWords(looks)));\n",
    replace: '',
    tests: ['test/checkpoint/file/candidates.test.ts'],
  },
];
