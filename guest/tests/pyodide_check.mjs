// Runs the guest package inside Pyodide: the same CPython binary as the engine's, hosted by Node.
//   node pyodide_check.mjs <unpacked npm pyodide> [wheel...]
import fs from 'node:fs';
import path from 'node:path';

const [home, ...wheels] = process.argv.slice(2);
const tests = import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname);
const { loadPyodide } = await import(path.resolve(home, 'pyodide.mjs'));
const pyodide = await loadPyodide({ indexURL: path.resolve(home) + '/' });

function copy(from, to) {
  pyodide.FS.mkdirTree(to);
  for (const entry of fs.readdirSync(from, { withFileTypes: true })) {
    if (entry.isDirectory() && entry.name !== '__pycache__') copy(path.join(from, entry.name), `${to}/${entry.name}`);
    else if (/\.(py|txt)$/.test(entry.name)) pyodide.FS.writeFile(`${to}/${entry.name}`, fs.readFileSync(path.join(from, entry.name)));
  }
}
// Side by side, as in the sandbox.
for (const root of ['driver', 'plotly', 'shell']) copy(path.join(tests, '..', root), '/lib/brumate');
copy(tests, '/lib/brumate/tests');
for (const wheel of wheels) {
  pyodide.unpackArchive(new Uint8Array(fs.readFileSync(wheel)), 'whl', { extractDir: '/lib/python3.14/site-packages' });
}
try {
  pyodide.runPython(fs.readFileSync(path.join(tests, 'pyodide_check.py'), 'utf8'));
} catch (error) {
  console.log(error.message);
  process.exit(1);
}
