import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { describeOnEveryPath } from './rig.ts';
import { frameBytes, rawWebSocket } from './stranger.ts';

describeOnEveryPath('a role', () => {
  it('a bug in a handler is answered with Internal, and the process dies loudly', async () => {
    const script = fileURLToPath(new URL('crashing-role.ts', import.meta.url));
    const child = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'pipe'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    const exited = once(child, 'exit');
    const stderr = text(child.stderr);
    const [port] = await once(child.stdout, 'data');
    const client = await rawWebSocket(Number(String(port)));
    client.send(frameBytes({ requestId: 5 }));
    expect(await client.frame(1)).toMatchObject({ kind: 'error', requestId: 5, header: { code: 'Internal' } });
    expect(await exited).toEqual([1, null]);
    expect(await stderr).toMatch(/TypeError: the bug of this test\n\s+at .*handler/);
  });
});
