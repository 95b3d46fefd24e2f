export { Belljar, type Environment, type Limits, type Runtimes, type SessionInfo } from "./belljar.js";
export type { CallOptions, Image, LiveOptions, StartOptions } from "./connection.js";
export { BelljarError, Refused, RunFailed } from "./errors.js";
export { Display, type Engine, OutputFile, type Package, type RunResult, type Status } from "./result.js";
export type { InstalledPackages, LanguageOption, ListedPackages, RunEvent, RunOptions } from "./run.js";
export { type Entry, type Listing, Session } from "./session.js";
