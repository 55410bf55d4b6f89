// Runs one Python script under the pinned interpreter:
//
//     node pyodide-run.mjs <unpacked pyodide package> <script.py> [argument ...]
//
// The script sees the host's file system under /host; arguments that are absolute paths are mapped
// there, relative ones work as they are. Whatever it writes depends on the interpreter's bytes alone
// (hash seed fixed, zlib from the same module), so two hosts produce the same archives.
import { readFileSync, realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [pkg, script, ...args] = process.argv.slice(2);
if (!script) {
  console.error("usage: node pyodide-run.mjs <unpacked pyodide package> <script.py> [argument ...]");
  process.exit(2);
}

// Links are resolved here: inside, an absolute link would start from another root.
const inside = (path) => `/host${join(realpathSync(dirname(path)), basename(path))}`;

const home = resolve(pkg);
const { loadPyodide } = await import(pathToFileURL(`${home}/pyodide.mjs`));
const pyodide = await loadPyodide({ indexURL: `${home}/`, env: { HOME: "/tmp", PYTHONHASHSEED: "0" } });
pyodide.FS.mkdirTree("/host");
pyodide.mountNodeFS("/host", "/");
pyodide.FS.chdir(`/host${realpathSync(process.cwd())}`);
const path = inside(realpathSync(script));
pyodide.globals.set("_argv", pyodide.toPy([path, ...args.map((a) => (isAbsolute(a) ? inside(a) : a))]));
pyodide.runPython("import sys; sys.argv = list(_argv); sys.path.insert(0, sys.argv[0].rpartition('/')[0]); del _argv");
try {
  pyodide.runPython(readFileSync(script, "utf8"), { filename: path });
} catch (error) {
  console.error(String(error.message ?? error));
  process.exit(1);
}
