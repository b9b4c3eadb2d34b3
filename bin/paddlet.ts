#!/usr/bin/env node
/** Entry point, in development (`npx node bin/paddlet.ts`) and of the bundle. */
import { versionLine } from '../src/commands/version.ts';

const argv = process.argv.slice(2);

if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-v' || argv[0] === 'version')) {
  process.stdout.write(`${versionLine()}\n`);
} else {
  void start();
}

/**
 * Exits as soon as the command has returned: a library's idle timer or socket must not keep a finished process alive.
 * Output is written synchronously on Linux (files, pipes, terminals), so nothing of it is lost. A rejection here is a
 * bug; Node prints it and exits with 1.
 */
async function start(): Promise<void> {
  const { main } = await import('../src/commands/main.ts');
  process.exit(await main(argv));
}
