import { createHash } from 'node:crypto';
import { createContext, runInContext } from 'node:vm';
import { build } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { kernelsBase64, kernelsHash } from '../../src/tensor/generated/kernels.ts';
import { exp } from '../../src/tensor/math.ts';

describe('the kernels', () => {
  const wasm = Buffer.from(kernelsBase64, 'base64');

  it('import nothing but memory and whom to tell of its growth: no function of the JavaScript engine takes part', () => {
    expect(WebAssembly.Module.imports(new WebAssembly.Module(wasm))).toEqual([
      { module: 'env', name: 'grown', kind: 'function' },
      { module: 'env', name: 'memory', kind: 'memory' },
    ]);
  });

  it('are named by their content', () => {
    expect(createHash('sha256').update(wasm).digest('hex')).toBe(kernelsHash);
  });

  it('work inside one bundled file, with no module or file to look up', async () => {
    const bundle = await build({
      entryPoints: ['src/tensor/math.ts'],
      bundle: true,
      write: false,
      format: 'iife',
      globalName: 'math',
      platform: 'node',
      minify: true,
    });
    const context = createContext({ Buffer, WebAssembly });
    runInContext(bundle.outputFiles[0]!.text, context);
    expect(runInContext('math.exp(0.3)', context)).toBe(exp(0.3));
  });
});
