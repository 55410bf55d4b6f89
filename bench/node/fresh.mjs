// A living process that runs each request in an interpreter of its own, as a stateless server on Pyodide would:
//
//     node fresh.mjs <pyodide package>
//
// A request is `{"code": ..., "archives": [...]}` on a line; the answer is `{"result": ...}`.
import { interpreter, lines } from "./pyodide.mjs";

const [home] = process.argv.slice(2);
console.log("{}");
for await (const line of lines()) {
  const { code, archives } = JSON.parse(line);
  const pyodide = await interpreter(home, archives);
  console.log(JSON.stringify({ result: String(pyodide.runPython(code)) }));
}
