/** The main script of the executable and of its threads: runs the bundle with the code that compile.cjs wrote. */
const { getAsset, getRawAsset } = require('node:sea');
const { Script } = require('node:vm');

// A thread of a trainer reads tasks, as its process does.
const role = /^(?:thread-of-)?(master|pserver|trainer)$/.exec(process.argv[2])?.[1] ?? 'other';
const script = new Script(getAsset('bundle', 'utf8'), {
  filename: process.execPath,
  cachedData: Buffer.from(getRawAsset(`compiled-${role}`)),
});
script.runInThisContext()(exports, require, module, process.execPath);
