/** The web page in one text: script and style are inside it, so that a browser asks for nothing else. */
import { createHash } from 'node:crypto';
import { build, type Metafile } from 'esbuild';

/** A page is sent to each viewer by a role that has other work to do. */
const LARGEST_BYTES = 150_000;
const FOLDER = 'src/page/browser';

export interface Page {
  readonly html: string;
  /** For the header `Content-Security-Policy`: nothing runs or is shown but what is in the text. */
  readonly securityPolicy: string;
  readonly metafile: Metafile;
}

export async function makePage(root: string): Promise<Page> {
  const { outputFiles, metafile, warnings } = await build({
    entryPoints: [`${FOLDER}/main.tsx`, `${FOLDER}/style/index.css`],
    absWorkingDir: root,
    tsconfig: `${FOLDER}/tsconfig.json`,
    outdir: 'page',
    bundle: true,
    write: false,
    minify: true,
    format: 'iife',
    target: 'es2022',
    charset: 'utf8',
    legalComments: 'none',
    metafile: true,
    logLevel: 'error',
  });
  const [warning] = warnings;
  if (warning !== undefined) throw new Error(`page: ${warning.text} (${warning.location?.file})`);
  const textOf = (extension: string): string => outputFiles.find(({ path }) => path.endsWith(extension))!.text.trim();
  const [script, style] = [textOf('.js'), textOf('.css')];
  const html = htmlOf(script, style);
  const bytes = Buffer.byteLength(html);
  if (bytes > LARGEST_BYTES) throw new Error(`page: ${bytes} bytes, more than ${LARGEST_BYTES}`);
  return { html, securityPolicy: securityPolicyOf(script, style), metafile };
}

/** An icon of its own keeps browsers from asking for `/favicon.ico`. */
const htmlOf = (script: string, style: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>paddlet</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<div id="page"></div>
<noscript>This page shows a training job of paddlet, and needs JavaScript.</noscript>
<script>${script}</script>
</body>
</html>
`;

function securityPolicyOf(script: string, style: string): string {
  const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
  return [
    "default-src 'none'",
    `script-src ${hashOf(script)}`,
    `style-src ${hashOf(style)}`,
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}
