/** Rules of what goes over the wire between a primary and its backups, and of how large it is (decision 110). */
import type { Mutation } from './mutation.ts';

const HOSTILE = ['test/roles/pserver/replicas/hostile-batch.test.ts'];
const CODEC_TESTS = ['test/roles/pserver/replicas/replicate-codec.test.ts'];
const UPDATE_TESTS = ['test/roles/pserver/replicas/shared-update.test.ts'];
const CODEC = 'src/roles/pserver/replicas/replicate-codec.ts';
const ROWS = 'src/roles/pserver/replicas/frame-rows.ts';
const UPDATE = 'src/roles/pserver/update/shared-update.ts';
const SIZES = 'src/roles/pserver/update/size.ts';

export const REPLICATE: readonly Mutation[] = [
  {
    rule: 'an update has nothing of units that do not stage it',
    file: CODEC,
    find: 'if (!isWhole || payload.hasOthers) throw',
    replace: 'if (!isWhole) throw',
    tests: HOSTILE,
  },
  {
    rule: 'a push is applied by no shard of a unit that does not stage it',
    file: CODEC,
    find: 'if (!isWhole || payload.hasOthers) throw',
    replace: 'if (payload.hasOthers) throw',
    tests: HOSTILE,
  },
  {
    rule: 'a unit that stages a push applies it',
    file: CODEC,
    find: 'if (payload.units.length !== staged.length) throw',
    replace: 'if (payload.units.length > staged.length) throw',
    tests: HOSTILE,
  },
  {
    rule: 'gradients fit the model before they take room',
    file: 'src/roles/pserver/update/codec.ts',
    find: "  if (update.type !== 'close') checkGradients(job.spec, update);\n",
    replace: '',
    tests: HOSTILE,
  },
  {
    rule: 'a batch has at most one frame of a unit',
    file: ROWS,
    find: 'unit >= units || seen.has(unit)',
    replace: 'unit >= units',
    tests: HOSTILE,
  },
  {
    rule: 'the tails of a batch are bounded before they are written out',
    file: ROWS,
    find: 'if (updates > LIMITS.replicaTails) throw',
    replace: 'if (updates < 0) throw',
    tests: HOSTILE,
  },
  {
    rule: 'a peer gets the parts of the units that it has copies of, and no others',
    file: CODEC,
    find: 'staged[0]?.payload.partOf(staged.map(({ unit }) => unit).sort((a, b) => a - b))',
    replace: 'staged[0]?.payload.partOf(staged[0]!.payload.units)',
    tests: CODEC_TESTS,
  },
  {
    rule: 'what is received has a place among the updates of the process that receives it',
    file: CODEC,
    find: 'order: ownOrder, update',
    replace: 'order, update',
    tests: CODEC_TESTS,
  },
  {
    rule: 'what is staged outlives the request that it came in',
    file: UPDATE,
    find: 'this.#update = this.#hasOthers ? this.#only(this.units) : ownUpdate(this.#update);',
    replace: 'if (this.#hasOthers) this.#update = this.#only(this.units);',
    tests: UPDATE_TESTS,
  },
  {
    rule: 'the size of a part does not depend on what else is in the update',
    file: SIZES,
    find: "if (update.type === 'push') for (const shard of shards) bytes[unitOf(shard, of.units)]! += SHARD_BYTES;",
    replace: "if (update.type === 'push') for (const unit of units) bytes[unit]! += SHARD_BYTES * shards.length;",
    tests: UPDATE_TESTS,
  },
  {
    rule: 'rows of shards that do not apply a push are not counted for their unit',
    file: SIZES,
    find: 'for (const shard of applying) unitOfShard[shard] = unitOf(shard, units);',
    replace: 'for (let shard = 0; shard < shards; shard++) unitOfShard[shard] = unitOf(shard, units);',
    tests: UPDATE_TESTS,
  },
  {
    rule: 'a batch that waits for a beginning holds up none behind it',
    file: 'src/protocol/websocket/wire-options.ts',
    find: "  'replicate',\n",
    replace: '',
    tests: ['test/roles/pserver/replicas/peer-protocol.test.ts'],
  },
];
