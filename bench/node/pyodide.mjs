// What the Node contestants share: an interpreter from the npm package, wheels in site-packages.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const SITE = "/lib/python3.14/site-packages";

// `home` is the npm package's directory, `archives` are wheels (or zips laid out like site-packages), unpacked in order.
export async function interpreter(home, archives = []) {
  home = resolve(home);
  const { loadPyodide } = await import(pathToFileURL(`${home}/pyodide.mjs`));
  const pyodide = await loadPyodide({ indexURL: `${home}/`, env: { HOME: "/tmp", MPLBACKEND: "agg" } });
  for (const archive of archives) {
    pyodide.unpackArchive(new Uint8Array(readFileSync(archive)), "zip", { extractDir: SITE });
  }
  if (archives.length > 0) {
    pyodide.runPython("import importlib; importlib.invalidate_caches()");
  }
  return pyodide;
}

// Lines of standard input, one at a time.
export async function* lines() {
  let rest = "";
  process.stdin.setEncoding("utf8");
  for await (const piece of process.stdin) {
    const parts = (rest + piece).split("\n");
    rest = parts.pop();
    yield* parts;
  }
}
