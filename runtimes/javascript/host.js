// The channel to the host: one function, `call(operation, …)`. `crates/engine-wasm/src/javascript/host.rs` has the other end, with
// the same numbers. Operations on files answer with a negative number when they fail: the error's number, as Linux has it.

const call = globalThis.__host;
delete globalThis.__host;

// Streams and the run itself.
export const write = (stream, data) => call(0, stream, data);
export const exit = (code) => call(1, code);
export const readStdin = (limit) => call(2, limit);
export const milliseconds = () => call(3);
export const randomBytes = (count) => call(4, count);

// Programs. `compile` gives a function, or a module's promise, as its kind says; `prepare` a text that starts with `m` for a module, `s`
// for a script and `e` for one that cannot be read; `sourceMap` where the lines of a file came from.
export const SCRIPT = 0;
export const ASYNC_SCRIPT = 1;
export const MODULE = 2;
/** The engine only reads it, and says what is wrong with it. */
export const BROKEN = 3;
/** What is wrong is known: the text is `line`, `column` and `message`, each on a line. */
export const REFUSED = 4;
/** As scripts of the engine's own, in which names that they declare outlive them. They are run at once: `compile` gives the value, or its promise. */
export const CELL = 5;
export const ASYNC_CELL = 6;
export const compile = (text, file, kind) => call(20, text, file, kind);
export const prepare = (text, file) => call(21, text, file);
export const sourceMap = (file, isMain) => call(22, file, isMain);
/** Runs what promises have waiting, in the middle of something else. */
export const runJobs = () => call(23);

// What becomes of the run beside its output.
export const reportJson = (text) => call(30, text);
export const reportText = (text) => call(31, text);
export const reportError = (kind, message, line) => call(32, kind, message, line);
export const reportUnsupported = (reason) => call(33, reason);

// What the engine knows and the language does not tell.
export const promiseState = (promise) => call(40, promise);
export const promiseResult = (promise) => call(41, promise);
export const collectGarbage = () => call(42);
export const memoryUsed = () => call(43);
export const wasRefusedMemory = () => call(44);
/** Gives back memory that was kept for the last words of a program that has none left. */
export const relieve = () => call(45);

// Work that is faster, or better tested, outside.
export const decodeUtf8 = (bytes) => call(50, bytes);
export const encodeUtf8 = (text) => call(51, text);
export const hash = (algorithm, bytes) => call(52, algorithm, bytes);
export const hmac = (algorithm, key, bytes) => call(53, algorithm, key, bytes);
export const parseUrl = (text, base) => call(54, text, base);
export const setUrlPart = (href, part, value) => call(55, href, part, value);
export const domainTo = (form, name) => call(56, form, name);
export const isValidUtf8 = (bytes) => call(57, bytes);

// Files, by absolute path.
export const readFile = (path) => call(60, path);
export const readText = (path) => call(61, path);
export const writeFile = (path, data, how) => call(62, path, data, how);
export const readAt = (path, position, length) => call(63, path, position, length);
export const writeAt = (path, position, data) => call(64, path, position, data);
export const list = (path) => call(65, path);
export const stat = (path, follow) => call(66, path, follow);
export const makeDirectory = (path) => call(67, path);
export const removeDirectory = (path) => call(68, path);
export const unlink = (path) => call(69, path);
export const rename = (from, to) => call(70, from, to);
export const truncate = (path, length) => call(71, path, length);
export const setTimes = (path, accessed, modified) => call(72, path, accessed, modified);
export const symlink = (target, path) => call(73, target, path);
export const readLink = (path) => call(74, path);
export const realPath = (path) => call(75, path);

// How `writeFile` treats what is there.
export const REPLACE = 0;
export const APPEND = 1;
export const CREATE_NEW = 2;
