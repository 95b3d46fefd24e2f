import { createRequire } from "node:module";
import { arch, env, platform } from "node:process";

/** The program: what `BELLJAR_BIN` names, else the one that was installed with this package, else the one on the search path. */
export function locate(): string {
  const named = env["BELLJAR_BIN"];
  if (named) return named;
  try {
    return createRequire(import.meta.url).resolve(`@belljar/${platform}-${arch}/bin/belljar`);
  } catch {
    return "belljar";
  }
}
