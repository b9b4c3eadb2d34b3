/** The main script of the executable and of its threads: runs the bundle with the code that compile.cjs wrote. */
const { getAsset, getRawAsset } = require('node:sea');
const { Script } = require('node:vm');

const script = new Script(getAsset('bundle', 'utf8'), {
  filename: process.execPath,
  cachedData: Buffer.from(getRawAsset('compiled')),
});
script.runInThisContext()(exports, require, module, process.execPath);
