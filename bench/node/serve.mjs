// One interpreter that answers requests for `measure.py`, one JSON object a line:
//
//     node serve.mjs <pyodide package> <measure.py>
import { readFileSync } from "node:fs";
import { interpreter, lines } from "./pyodide.mjs";

const [home, script] = process.argv.slice(2);
const pyodide = await interpreter(home);
const globals = pyodide.toPy({ __name__: "measure" });
pyodide.runPython(readFileSync(script, "utf8"), { globals });
const measure = globals.get("measure");
const version = pyodide.runPython("import sys; sys.version.split()[0]");
console.log(JSON.stringify({ version, node: process.version, v8: process.versions.v8 }));
for await (const line of lines()) {
  console.log(measure(line));
}
