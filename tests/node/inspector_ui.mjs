// The Inspector's own web page in a Chromium, as `brumate dev` starts it for a server in Python (`--server`, which is copied): the page
// lists and calls the tools, also one that a change of the file adds. Exit status 0: so it was, and no process is left.
//
// BRUMATE_TEST_INSPECTOR names the `node_modules` with the Inspector and its Node, BRUMATE_TEST_BROWSER those with the browser.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { browse, freePort, told, variable } from './browser.mjs';
import { options, until } from './clients.mjs';

// Nothing takes this long unless it hangs; nor does an end.
const PATIENCE = 120_000;
const END_PATIENCE = 30_000;

// What the change adds to the server.
const ADDED = `

@mcp.tool()
def greet(name: str) -> str:
    """Greet someone"""
    return f"Hello, {name}!"
`;

/** The processes below this one from now on, also those whose parents have ended. */
class Processes {
    #seen = new Map([[process.pid, null]]);
    #timer = setInterval(() => this.#look(), 20);

    /** Adds processes with a known parent. Returns the start times of all that run, which tell a process from a later one of its number. */
    #look() {
        const running = new Map();
        const found = [];
        for (const name of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
            try {
                const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
                const words = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
                if (words[0] === 'Z') continue;
                const [pid, parent, started] = [Number(name), Number(words[1]), words[19]];
                running.set(pid, started);
                found.push([pid, parent, started]);
            } catch {
                // It has ended.
            }
        }
        const known = (pid) => this.#seen.has(pid) && [null, running.get(pid)].includes(this.#seen.get(pid));
        for (let before = -1; before !== this.#seen.size;) {
            before = this.#seen.size;
            for (const [pid, parent, started] of found) if (known(parent) && !known(pid)) this.#seen.set(pid, started);
        }
        return running;
    }

    /** Those that still run. */
    left() {
        const running = this.#look();
        return [...this.#seen].filter(([pid, started]) => started !== null && running.get(pid) === started).map(([pid]) => pid);
    }

    /** Ends those that still run. */
    end() {
        clearInterval(this.#timer);
        for (const pid of this.left()) {
            try {
                process.kill(pid, 'SIGKILL');
            } catch {
                // It has ended.
            }
        }
    }
}

/**
 * Starts `brumate dev`. Its `npx` runs the installed Inspector, and as the real one it ends at SIGTERM without its child. `log` collects
 * what is written.
 */
async function develop(base, { brumate, server, 'cache-dir': cache }) {
    const modules = variable('BRUMATE_TEST_INSPECTOR');
    const [programs, home] = [join(base, 'bin'), join(base, 'home')];
    mkdirSync(programs);
    mkdirSync(home);
    const npx = `#!/bin/sh
case "$1 $2" in "-y @modelcontextprotocol/inspector@"*) ;; *) echo "npx $*" >&2; exit 1 ;; esac
shift 2
"$BRUMATE_TEST_INSPECTOR/.bin/mcp-inspector" "$@"
`;
    writeFileSync(join(programs, 'npx'), npx, { mode: 0o755 });
    const file = join(base, 'server.py');
    copyFileSync(server, file);
    const env = {
        ...process.env,
        PATH: [programs, join(modules, '.bin'), process.env.PATH].join(':'),
        HOME: home,
        CLIENT_PORT: String(await freePort()),
        MCP_SANDBOX_PORT: '0',
        MCP_APP_ORIGIN_PORT: '0',
        MCP_AUTO_OPEN_ENABLED: 'false',
        MCP_INSPECTOR_SECRET_STORE: 'memory',
    };
    const words = ['dev', '--cache-dir', cache, '--offline', 'server.py'];
    const child = spawn(brumate, words, { cwd: base, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const dev = { child, file, log: '', ended: once(child, 'exit') };
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => void (dev.log += text));
    return dev;
}

/** The page's address with its token, which the Inspector prints. */
async function address(dev) {
    const printed = () => dev.log.match(/http:\S+\?MCP_INSPECTOR_API_TOKEN=\S+/)?.[0];
    assert(await until(() => printed() ?? dev.child.exitCode !== null, PATIENCE), 'the Inspector prints no address');
    assert(printed(), `\`brumate dev\` has ended: ${dev.child.exitCode}`);
    return printed();
}

/** Calls a tool through its form. Waits for the result. */
async function call(page, tool, fields, result) {
    const shown = page.getByText(result, { exact: true });
    assert.equal(await shown.count(), 0, `the page says ${result} before the call`);
    await page.getByRole('button', { name: tool, exact: true }).click();
    for (const [label, value] of Object.entries(fields)) {
        await page.getByRole('textbox', { name: label, exact: true }).fill(value);
    }
    await page.getByRole('button', { name: 'Execute Tool' }).click();
    await page.getByRole('heading', { name: 'Results', exact: true }).waitFor();
    await shown.first().waitFor();
}

async function test(page, dev) {
    await page.goto(await address(dev));
    await page.getByRole('switch', { name: 'Connect or disconnect' }).press('Space');
    await page.getByText('Connected', { exact: true }).waitFor();
    await page.getByRole('radio', { name: 'Tools', exact: true }).press('Space');
    await page.getByRole('heading', { name: 'Tools (1)' }).waitFor();
    await call(page, 'add', { A: '2', B: '3' }, '5');

    appendFileSync(dev.file, ADDED);
    await page.getByText('notifications/tools/list_changed').waitFor();
    await page.getByRole('button', { name: 'Refresh', exact: true }).click();
    await page.getByRole('heading', { name: 'Tools (2)' }).waitFor();
    await call(page, 'greet', { Name: 'Ada' }, 'Hello, Ada!');
}

const base = mkdtempSync(join(tmpdir(), 'brumate-inspector-'));
const processes = new Processes();
let [dev, browser, page] = [];
try {
    dev = await develop(base, options());
    browser = await browse(base);
    page = await browser.newPage({ viewport: { width: 1600, height: 1200 } });
    page.setDefaultTimeout(PATIENCE);
    await test(page, dev);
    await browser.close();
    dev.child.kill('SIGTERM');
    assert.deepEqual(await dev.ended, [143, null]);
    const none = await until(() => processes.left().length === 0, END_PATIENCE);
    assert(none, `processes are left: ${processes.left()}`);
} catch (error) {
    console.error(error);
    if (page && !page.isClosed()) console.error(`The page:\n${await told(page)}`);
    console.error(`\`brumate dev\` wrote:\n${dev?.log}`);
    process.exitCode = 1;
} finally {
    processes.end();
    await dev?.ended;
    rmSync(base, { recursive: true, force: true, maxRetries: 10 });
}
process.exit();
