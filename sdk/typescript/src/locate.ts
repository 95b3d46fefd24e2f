import { createRequire } from "node:module";
import { arch, platform } from "node:process";

/** Where the binary is that was installed with this package; the name to look for on the search path where none was. */
export function locate(): string {
  try {
    return createRequire(import.meta.url).resolve(`@belljar/${platform}-${arch}/bin/belljar`);
  } catch {
    return "belljar";
  }
}
