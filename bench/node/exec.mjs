// One process, one script, as `python script.py`:
//
//     node exec.mjs <pyodide package> <script.py> [<archive> ...]
//
// Standard input goes to the script.
import { readFileSync } from "node:fs";
import { interpreter } from "./pyodide.mjs";

const [home, script, ...archives] = process.argv.slice(2);
const pyodide = await interpreter(home, archives);
pyodide.runPython(readFileSync(script, "utf8"));
