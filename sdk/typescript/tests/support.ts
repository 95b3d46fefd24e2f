import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** Whether a process goes on whose command line starts like this. */
export function goesOn(marker: string): boolean {
  const commandLine = (process: string) => {
    try {
      return readFileSync(`/proc/${process}/cmdline`, "utf8");
    } catch {
      return "";
    }
  };
  return readdirSync("/proc").some((name) => /^\d/.test(name) && commandLine(name).startsWith(marker));
}

/** Waits much longer than anything takes, on a machine that has other things to do. */
export async function until(condition: () => boolean): Promise<void> {
  for (const end = Date.now() + 60_000; !condition(); await sleep(20)) {
    assert(Date.now() < end, `not in time: ${condition}`);
  }
}
