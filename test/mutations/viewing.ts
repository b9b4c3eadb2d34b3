/** Rules of the web page: who may look, and that looking is all. */
import type { Mutation } from './mutation.ts';

const FILE = 'src/protocol/websocket/viewers.ts';
const TESTS = ['test/protocol/websocket/viewers.test.ts'];
const FEED = ['test/commands/page/page-feed.test.ts'];

export const VIEWING: readonly Mutation[] = [
  {
    rule: 'a viewer proves to know the view token',
    file: FILE,
    find: "return isRight(known) ? known : new PaddletError('JoinRefused', 'the link lacks the view token of this job');",
    replace: 'return known;',
    tests: TESTS,
  },
  {
    rule: 'the view token is not the join token',
    file: FILE,
    find: 'isViewProof(proof, viewTokenOf(token), this.#nonce, this.#options.host)',
    replace: 'isViewProof(proof, token, this.#nonce, this.#options.host)',
    tests: TESTS,
  },
  {
    rule: 'a proof is for the address that the browser means',
    file: 'src/protocol/join/view-token.ts',
    find: ".update(nonce).update(host, 'utf8').digest()",
    replace: '.update(nonce).digest()',
    tests: TESTS,
  },
  {
    rule: 'a viewer sends nothing after its proof',
    file: 'src/protocol/websocket/frame-starts.ts',
    find: 'if (this.#isFirstComplete) this.#onSecondMessage();\n    else',
    replace: 'if (!this.#isFirstComplete)',
    tests: ['test/protocol/websocket/frame-starts.test.ts'],
  },
  {
    rule: 'a viewer goes with the token that let it in',
    file: FILE,
    find: 'if (isSameToken(known, this.#token)) return undefined;',
    replace: 'if (known !== undefined) return undefined;',
    tests: TESTS,
  },
  {
    rule: 'a viewer that was not told the curves is told them with the next text',
    file: 'src/commands/page/page-feed.ts',
    find: 'if (isSent && this.#viewers.has(viewer)) this.#viewers.set(viewer, curvesNumber);',
    replace: 'if (this.#viewers.has(viewer)) this.#viewers.set(viewer, curvesNumber);',
    tests: FEED,
  },
];
