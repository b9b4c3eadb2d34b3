/**
 * `node node-lock.cjs package-lock.json ARCH`: prints the package-lock.json of a package that depends on nothing but
 * node-linux-ARCH, in the version and with the hash of the lock file given. JavaScript, because it runs before the
 * project's Node is installed.
 */
const { readFileSync } = require('node:fs');

const [lockPath, arch] = process.argv.slice(2);
const name = `node-linux-${arch}`;
const entry = JSON.parse(readFileSync(lockPath, 'utf8')).packages[`node_modules/${name}`];
if (entry === undefined) {
  process.stderr.write(`${lockPath} has no ${name}: paddlet runs on Linux with x64 or arm64\n`);
  process.exit(1);
}

// `cpu` is left out: npm would refuse to install the Node of another architecture, which a cross-build needs.
const { version, resolved, integrity } = entry;
const packages = {
  '': { name: `paddlet-node-${arch}`, dependencies: { [name]: version } },
  [`node_modules/${name}`]: { version, resolved, integrity },
};
process.stdout.write(`${JSON.stringify({ name: packages[''].name, lockfileVersion: 3, requires: true, packages })}\n`);
