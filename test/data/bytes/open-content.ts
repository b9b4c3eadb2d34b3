/** A process for content.test.ts: says that it is ready, waits for stdin to end, opens the content, prints its size. */
import { once } from 'node:events';
import { openContent } from '../../../src/data/bytes/content.ts';
import { createHost } from '../../../src/host/host.ts';

const [folder = '', cacheFolder = '', path = ''] = process.argv.slice(2);
const host = createHost({ logLevel: 'error', logFormat: 'text' });
process.stdout.write('ready ');
process.stdin.resume();
await once(process.stdin, 'end');
const content = await openContent({ host, folder, cacheFolder }, path);
await content.file.close();
process.stdout.write(`${content.bytes}\n`);
