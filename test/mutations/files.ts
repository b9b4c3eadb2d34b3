/** Rules of checkpoint files: those that cannot be found, and those of another job. */
import type { Mutation } from './mutation.ts';

export const FILES: readonly Mutation[] = [
  {
    rule: 'published files that cannot be found are waited for, in sync mode',
    file: 'src/roles/pserver/rounds/load.ts',
    find: 'forgotten.has(uuid)) ? { answer: answer(true) } : { missing };',
    replace: 'forgotten.has(uuid)) ? { answer: answer(true) } : { answer: answer(missing.length > 0) };',
    tests: ['test/sim/files.test.ts'],
  },
  {
    rule: 'published files that cannot be found are waited for, in async mode',
    file: 'src/roles/pserver/tasks/load-former.ts',
    find: 'isForgotten: true } } : { missing };',
    replace: 'isForgotten: true } } : { answer: { ...state, isForgotten: missing.length > 0 } };',
    tests: ['test/sim/files.test.ts'],
  },
  {
    rule: 'files of a warm start that cannot be found are waited for',
    file: 'src/roles/pserver/files/warm-start.ts',
    find: "  await untilFound(options, look, filesOf(plan));\n  try {\n    return await loadWarmStart({ disk, plan, spec, shardCount, shards, into });\n  } catch (error) {\n    // One vanished since it was seen; nothing is loaded yet.\n    if (isPaddletError(error, 'CheckpointMissing')) return loadOnceFound(options, plan, shards);",
    replace:
      '  if (Number.isNaN(look)) await untilFound(options, look, filesOf(plan));\n  try {\n    return await loadWarmStart({ disk, plan, spec, shardCount, shards, into });\n  } catch (error) {',
    tests: ['test/sim/warm-start.test.ts'],
  },
  {
    rule: 'a file of a warm start is waited for until it has all of its bytes',
    file: 'src/roles/pserver/files/wait-for-files.ts',
    find: 'if (size < bytes) return',
    replace: 'if (Number.isNaN(bytes)) return',
    tests: ['test/sim/warm-start.test.ts'],
  },
  {
    rule: 'a file of a warm start is checked by the pserver that loads it',
    file: 'src/checkpoint/load/warm-load.ts',
    find: '    await expectSound(set, options);\n',
    replace: '    if (Number.isNaN(options)) await expectSound(set, options);\n',
    tests: ['test/checkpoint/load', 'test/sim/warm-start.test.ts'],
  },
  {
    rule: "only a file in a pserver's own folder says that the folder was there",
    file: 'src/roles/pserver/tasks/load-former.ts',
    find: 'files: index === me.index ? uuids : [],',
    replace: 'files: uuids,',
    tests: ['test/sim/sim.test.ts'],
  },
  {
    rule: 'a parting snapshot is the last state of the shards that it has, and of no other',
    file: 'src/roles/pserver/files/last-state.ts',
    find: 'parting === undefined ? [] : shardsIn(parting, shards);',
    replace: 'parting === undefined ? [] : shards;',
    tests: ['test/roles/pserver/files', 'test/sim/sim.test.ts'],
  },
  {
    rule: 'a shard that the newest file lacks is looked for in those before it',
    file: 'src/checkpoint/load/load.ts',
    find: '    const shards = shardsIn(generation, lost);\n    if (shards.length === 0) continue;',
    replace:
      '    const shards = lost;\n    if (shards.length === 0 || shardsIn(generation, lost).length === 0) continue;',
    tests: ['test/checkpoint/file/damage.test.ts'],
  },
  {
    rule: 'a pserver saves at once what it took over from another job',
    file: 'src/roles/pserver/tasks/service.ts',
    find: 'savesAtOnce: taker.taken.warm.length > 0,',
    replace: 'savesAtOnce: Number.isNaN(taker.taken.warm.length),',
    tests: ['test/sim/warm-start.test.ts'],
  },
  {
    rule: 'a file stays while it has a shard that no newer file of any pserver has',
    file: 'src/checkpoint/registry/retention.ts',
    find: 'const isReplaced = left?.every(',
    replace: 'const isReplaced = left?.some(',
    tests: ['test/checkpoint/registry/publish.test.ts'],
  },
  {
    rule: 'of two files at one position neither replaces the other',
    file: 'src/checkpoint/registry/retention.ts',
    find: 'other.low > high)',
    replace: 'other.low >= high)',
    tests: ['test/checkpoint/registry/publish.test.ts'],
  },
  {
    rule: 'a file published later replaces no shard that it has from an earlier epoch',
    file: 'src/checkpoint/registry/retention.ts',
    find: '(later.get(shard) ?? -1) >= epoch)',
    replace: '(later.get(shard) ?? -1) >= Math.min(epoch, 0))',
    tests: ['test/checkpoint/registry/publish.test.ts'],
  },
  {
    rule: 'the heads of all pservers are asked for files that must stay',
    file: 'src/roles/pserver/files/resting-files.ts',
    find: 'parseHead(key, value).rest?.uuid ?? []',
    replace: '(parseHead(key, value).primary.index === 0 ? parseHead(key, value).rest?.uuid : undefined) ?? []',
    tests: ['test/roles/pserver/files/resting-files.test.ts'],
  },
];
