// As files.py, in JavaScript.
const fs = require('fs');
const facts = JSON.parse(process.argv[2]);

function attempt(name, call) {
  try {
    console.log(`${name}: GOT ${String(call()).slice(0, 80)}`);
  } catch (error) {
    console.log(`${name}: blocked ${error.code ?? error.name}`);
  }
}

fs.writeFileSync('/box/own', 'mine');
fs.symlinkSync('own', '/box/link');
for (const path of ['/box/own', '/box/link', '/box/../box/./own', 'own']) {
  if (fs.readFileSync(path, 'utf8') !== 'mine') throw new Error(`the control: ${path}`);
}

const { directory, secret_file: secret, canary } = facts;
for (const path of ['/etc/passwd', '/proc/self/environ', '/proc/self/maps', '/dev/mem', '/dev/fd/7', '/bin/sh', secret, canary]) {
  attempt(`read ${path}`, () => fs.readFileSync(path, 'utf8'));
  attempt(`read up ${path}`, () => fs.readFileSync('../'.repeat(30) + path.slice(1), 'utf8'));
  attempt(`read by address ${path}`, () => fs.readFileSync(new URL(`file://${path}`), 'utf8'));
}
for (const path of ['/etc/passwd', canary, `${directory}/new`, '/new', '/lib/new']) {
  attempt(`write ${path}`, () => {
    const isNew = !fs.existsSync(path);
    fs.appendFileSync(path, '');
    if (isNew) fs.rmSync(path);
    return 'open for writing';
  });
}
['/etc/passwd', `../../..${secret}`, secret, '/proc/self/root'].forEach((target, number) => {
  fs.symlinkSync(target, `/box/link${number}`);
  attempt(`link to ${target}`, () => fs.readFileSync(`/box/link${number}`, 'utf8'));
  attempt(`real path of ${target}`, () => fs.statSync(fs.realpathSync(`/box/link${number}`)));
});
attempt('hard link', () => (fs.linkSync(secret, '/box/hard'), fs.readFileSync('/box/hard', 'utf8')));
attempt('rename in', () => fs.renameSync(secret, '/box/stolen'));
attempt('rename out', () => fs.renameSync('/box/own', `${directory}/planted`));
attempt('remove', () => fs.rmSync(canary));
attempt('remove all', () => fs.rmSync(directory, { recursive: true }));
attempt('copy', () => fs.copyFileSync(secret, '/box/copy'));
attempt('NUL', () => fs.readFileSync('/box/own\0/../../etc/passwd', 'utf8'));
attempt('import', () => require(secret));
attempt('require a host file', () => require('/usr/share/nodejs/semver/package.json'));
await import(`file://${secret}`).then(
  () => console.log('dynamic import: GOT a module'),
  (error) => console.log(`dynamic import: blocked ${error.code ?? error.name}`),
);
console.log(`environment: ${Object.keys(process.env).sort()}`);
