// Tries wheels under Node with the published interpreter:
//
//     node run.mjs <unpacked pyodide package> <test.py ...> -- <wheel or overlay zip ...>
//
// Archives are unpacked into site-packages in their order. Every import of every extension module
// must be an export of the main module, of the module itself or of a shared library (`.libs`): what only JavaScript
// could provide is a failure, because the sandbox has none. Then the scripts run; an exception fails.
import { readFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const args = process.argv.slice(2);
const split = args.indexOf("--");
if (split < 1) {
  console.error("usage: node run.mjs <unpacked pyodide package> <test.py ...> -- <archive ...>");
  process.exit(2);
}
const home = resolve(args[0]);
const scripts = args.slice(1, split);
const archives = args.slice(split + 1);
const site = "/lib/python3.14/site-packages";

const { loadPyodide } = await import(pathToFileURL(`${home}/pyodide.mjs`));
const env = { HOME: "/tmp", SUITE: process.env.SUITE ?? "" };
const pyodide = await loadPyodide({ indexURL: `${home}/`, env });
for (const archive of archives) {
  pyodide.unpackArchive(new Uint8Array(readFileSync(archive)), "zip", { extractDir: site });
}
pyodide.runPython("import importlib; importlib.invalidate_caches()");

const main = new WebAssembly.Module(readFileSync(`${home}/pyodide.asm.wasm`));
const provided = new Set(WebAssembly.Module.exports(main).map((e) => e.name));
for (const name of ["memory", "__indirect_function_table", "__stack_pointer", "__memory_base", "__table_base"]) {
  provided.add(name);
}
const modules = pyodide
  .runPython(`import pathlib; [str(p) for p in sorted(pathlib.Path("${site}").rglob("*.so"))]`)
  .toJs();
for (const path of modules.filter((path) => path.includes("/.libs/"))) {
  const library = new WebAssembly.Module(pyodide.FS.readFile(path));
  for (const { name } of WebAssembly.Module.exports(library)) provided.add(name);
}
let missing = 0;
for (const path of modules) {
  const module = new WebAssembly.Module(pyodide.FS.readFile(path));
  const own = new Set(WebAssembly.Module.exports(module).map((e) => e.name));
  for (const { name } of WebAssembly.Module.imports(module)) {
    // Kernels of the host are weak: without them OpenBLAS's own do the work.
    if (provided.has(name) || own.has(name) || name.startsWith("brumate_")) continue;
    console.error(`${path}: nobody provides ${name}`);
    missing += 1;
  }
}
console.log(`${modules.length} extension modules, ${missing} imports unresolved`);
if (missing > 0) process.exit(1);

for (const script of scripts) {
  const start = performance.now();
  try {
    await pyodide.runPythonAsync(readFileSync(script, "utf8"), { filename: basename(script), globals: pyodide.toPy({}) });
  } catch (error) {
    console.error(`${script}: ${error.message ?? error}`);
    process.exit(1);
  }
  console.log(`${basename(script)}: passed in ${Math.round(performance.now() - start)} ms`);
}
