/**
 * `node compile.cjs BUNDLE OUTPUT COMMAND...`: runs the commands in this process, and writes the code that V8 has
 * compiled when the last one ends. Node's own code cache for single executables lacks the functions that V8 compiles
 * when they are first called: nearly all.
 */
const { readFileSync, writeFileSync } = require('node:fs');
const { setFlagsFromString } = require('node:v8');
const { Script } = require('node:vm');

const [bundle, output, ...commands] = process.argv.slice(2);

// V8 drops code that was not called for a while.
setFlagsFromString('--no-flush-bytecode');
const script = new Script(readFileSync(bundle, 'utf8'), { filename: process.execPath });
const load = script.runInThisContext();

const { exit } = process;
let running = commands.length;
/** Called by each command at its end. */
process.exit = (code) => {
  if (code !== 0) exit(code);
  if (--running > 0) return;
  // V8 takes code only under the flags that it was made under.
  setFlagsFromString('--flush-bytecode');
  writeFileSync(output, script.createCachedData());
  exit(0);
};
for (const command of commands) {
  process.argv = [process.execPath, bundle, ...command.split(' ')];
  load(exports, require, module, process.execPath);
}
