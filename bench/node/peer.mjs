// Pyodide as a Node program has it: serves the requests of the section `peers`, as `inside/peer.py` does for packages of
// Python.
//
//     node peer.mjs <pyodide package> <archive for `site-packages`>
//
// A fresh call is an interpreter of its own, a session an interpreter that stays. All are in this process.
import { interpreter, lines } from "./pyodide.mjs";

const [home, archive] = process.argv.slice(2);
const sessions = [];

// Unpacks the packages where code asks for them.
async function open(code) {
  const session = { pyodide: await interpreter(home, code.includes("import") ? [archive] : []), said: "" };
  session.pyodide.setStdout({ batched: (line) => (session.said = line) });
  return session;
}

function turn(session, code) {
  session.pyodide.runPython(code);
  return session.said;
}

async function timed(call, times) {
  const seconds = [];
  let said = "";
  for (let count = 0; count < times; count++) {
    const start = performance.now();
    said = await call();
    seconds.push((performance.now() - start) / 1000);
  }
  return { seconds, said };
}

const requests = {
  fresh: (code, times) => timed(async () => turn(await open(code), code), times),
  turn: (code, times, session) => timed(() => turn(sessions[session], code), times),
  async open(code, times) {
    let said = "";
    for (let count = 0; count < times; count++) {
      const session = await open(code);
      sessions.push(session);
      said = turn(session, code);
    }
    return { said };
  },
};

console.log(JSON.stringify({ version: process.version }));
for await (const line of lines()) {
  const { do: what, code, times = 1, session } = JSON.parse(line);
  console.log(JSON.stringify(await requests[what](code, times, session)));
}
