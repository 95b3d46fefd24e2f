#!/usr/bin/env node
// Packs belljar for npm: `belljar`, which is the SDK and a command, and `@belljar/linux-x64`, which is the binary. Binaries are optional
// dependencies of the first, so that npm fetches the one that a machine can run.
//
// Usage: pack.mjs BINARY OUT [SDK]
//
// BINARY is a release build for the machine that this runs on. SDK is sdk/typescript, or a copy of it, after `npm run build`.

import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');
const [binary, out, sdk = join(root, 'sdk/typescript')] = process.argv.slice(2);
if (!out) throw new Error('usage: pack.mjs BINARY OUT [SDK]');

// All that have a binary, whichever is packed here: npm passes over what is not for its machine, and what its registry does not have.
const platforms = ['linux-x64', 'linux-arm64'];
const platform = `linux-${process.arch}`;
if (!platforms.includes(platform)) throw new Error(`there is no package for ${platform}`);
const library = JSON.parse(readFileSync(join(sdk, 'package.json'), 'utf8'));
const { name, version, description, license, keywords } = library;

const stage = mkdtempSync(join(tmpdir(), 'belljar-npm-'));
try {
  mkdirSync(out, { recursive: true });
  packBinary();
  packLibrary();
} finally {
  rmSync(stage, { recursive: true });
}

function packBinary() {
  const folder = join(stage, platform);
  const packed = join(folder, 'bin/belljar');
  mkdirSync(dirname(packed), { recursive: true });
  // Symbols are four fifths of a release build.
  execFileSync('strip', ['-o', packed, binary]);
  chmodSync(packed, 0o755);
  writeFileSync(join(folder, 'README.md'), `The binary of the package \`belljar\` for ${platform}.\n`);
  pack(folder, {
    name: `@belljar/${platform}`,
    version,
    description: `${description} (binary for ${platform})`,
    license,
    os: ['linux'],
    cpu: [process.arch],
    libc: ['glibc'],
    files: ['bin', 'LICENSE-*'],
  });
}

function packLibrary() {
  const folder = join(stage, name);
  cpSync(join(sdk, 'dist'), join(folder, 'dist'), { recursive: true });
  cpSync(join(sdk, 'README.md'), join(folder, 'README.md'));
  cpSync(join(import.meta.dirname, 'belljar'), join(folder, 'bin/belljar'));
  const { type, mcpName, engines, exports, dependencies } = library;
  pack(folder, {
    name, version, description, license, mcpName, keywords, type, engines, exports,
    bin: { belljar: 'bin/belljar' },
    files: ['bin', 'dist', 'LICENSE-*'],
    dependencies,
    optionalDependencies: Object.fromEntries(platforms.map((platform) => [`@belljar/${platform}`, version])),
  });
}

function pack(folder, about) {
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(about, null, 2)}\n`);
  for (const text of ['LICENSE-MIT', 'LICENSE-APACHE']) cpSync(join(root, text), join(folder, text));
  const packed = execFileSync('npm', ['pack', '--silent', '--pack-destination', resolve(out)], { cwd: folder, encoding: 'utf8' });
  console.log(resolve(out, packed.trim()));
}
