/** Which files of src run while something is done: V8's precise coverage, function by function. */
import { Session } from 'node:inspector/promises';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ROOT } from '../../test/source-files.ts';

/** A script as V8 reports its coverage. */
export interface ScriptRan {
  readonly url: string;
  readonly functions: readonly {
    readonly ranges: readonly { readonly startOffset: number; readonly count: number }[];
  }[];
}

/**
 * Files of src in which a function ran. The module itself is the function that starts at 0; it runs once, when the file
 * is loaded. A function that was called before the window and goes on in it counts, by its blocks.
 */
export function ranFiles(scripts: readonly ScriptRan[], root: string): Set<string> {
  const ran = scripts.filter(({ functions }) =>
    functions.some(({ ranges }) => ranges[0]!.startOffset > 0 && ranges.some(({ count }) => count > 0)),
  );
  const paths = ran.flatMap(({ url }) => (url.startsWith('file:') ? [relative(root, fileURLToPath(url))] : []));
  return new Set(paths.filter((path) => path.startsWith('src/')));
}

/** Files that ran in every window: what ran in some of them alone is work of timers. */
export function inAll(windows: readonly ReadonlySet<string>[]): string[] {
  return [...windows.reduce((all, one) => all.intersection(one))].sort();
}

/** Coverage of this process and thread. */
export class Meter {
  readonly #session = new Session();

  async start(): Promise<void> {
    this.#session.connect();
    await this.#session.post('Profiler.enable');
    await this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  /** Files that run until `done`. */
  async during(done: () => Promise<unknown>): Promise<Set<string>> {
    await this.#take();
    await done();
    return ranFiles(await this.#take(), ROOT);
  }

  /** What ran since the last time. */
  async #take(): Promise<ScriptRan[]> {
    const { result } = await this.#session.post('Profiler.takePreciseCoverage');
    return result;
  }
}
