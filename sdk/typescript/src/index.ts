export { Belljar, type Environment, type Limits, type Runtimes, type SessionInfo } from "./belljar.js";
export type { CallOptions, Image, LiveOptions, StartOptions } from "./connection.js";
export { BelljarError, Refusal } from "./errors.js";
export { Display, type Engine, OutputFile, type Package, type RunResult, type Status } from "./result.js";
export type { Installed, RunEvent, RunOptions } from "./run.js";
export { type FileInfo, Session } from "./session.js";
