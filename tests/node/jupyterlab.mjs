// JupyterLab or Jupyter Notebook in a Chromium, with kernels of Brumate. A notebook of 25 cells is run as a person runs it, with keys and
// the mouse. Each cell has a check of the page. In JupyterLab each cell is run by its keys. In Notebook the menu runs all, up to the
// cell that fails.
//
//     --brumate FILE --cache-dir DIR        the binary, and its cache
//     --python FILE                         the Python that has JupyterLab, Notebook, ipywidgets and plotly; the fonts are matplotlib's
//     --application lab | notebook          JupyterLab (the default), or Notebook
//     --kernel passive | active | gateway   the installed kernel without and with `--active-output`, or `--gateway-url`
//     --pictures DIR                        a picture of the page after each cell
//     --until ID                            ends behind this cell
//
// BRUMATE_TEST_BROWSER names the `node_modules` with the browser.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { browse, freePort, told } from './browser.mjs';
import { options, until } from './clients.mjs';

// Nothing takes this long unless it hangs.
const PATIENCE = 180_000;

const NOTEBOOK = join(dirname(fileURLToPath(import.meta.url)), 'jupyterlab_tour.ipynb');

/** A program that runs until the end of the test. `log` collects what it writes. */
class Program {
    constructor(command, words, options) {
        this.child = spawn(command, words, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
        this.log = '';
        this.ended = once(this.child, 'exit');
        for (const stream of [this.child.stdout, this.child.stderr]) stream.setEncoding('utf8').on('data', (text) => void (this.log += text));
    }

    /** Waits until the program has written something. */
    async wrote(pattern) {
        const found = () => this.log.match(pattern);
        assert(await until(() => found() || this.child.exitCode !== null, PATIENCE), `this does not come: ${pattern}\n${this.log}`);
        assert(found(), `the program has ended: ${this.child.exitCode}\n${this.log}`);
        return found();
    }

    async end() {
        this.child.kill('SIGTERM');
        await this.ended;
    }
}

/** The programs that show a notebook: their module, and the path of the notebook's page. */
const APPLICATIONS = { lab: ['jupyterlab', 'lab/tree'], notebook: ['notebook', 'notebooks'] };

/** JupyterLab or Notebook with a kernel of Brumate. `address` is the notebook's, and `file` is the notebook. */
class Jupyter {
    programs = [];

    constructor(base, { brumate, python, kernel, application, 'cache-dir': cache }) {
        [this.module, this.path] = APPLICATIONS[application];
        Object.assign(this, { base, brumate, python, kernel });
        this.active = kernel !== 'passive';
        const directory = (name) => {
            mkdirSync(join(base, name), { recursive: true });
            return join(base, name);
        };
        this.env = {
            PATH: process.env.PATH,
            HOME: directory('home'),
            BRUMATE_CACHE_DIR: cache,
            JUPYTER_PATH: join(directory('prefix'), 'share/jupyter'),
            JUPYTERLAB_SETTINGS_DIR: directory('settings'),
            JUPYTERLAB_WORKSPACES_DIR: directory('workspaces'),
        };
        this.notebooks = directory('notebooks');
        this.file = join(this.notebooks, 'tour.ipynb');
        copyFileSync(NOTEBOOK, this.file);
        // Otherwise the page asks whether it may fetch news.
        const settings = directory('settings/@jupyterlab/apputils-extension');
        writeFileSync(join(settings, 'notification.jupyterlab-settings'), '{"fetchNews": "false", "checkForUpdates": false}\n');
        // Otherwise Notebook takes the cells out of the page that nobody sees.
        const all = directory('settings/@jupyterlab/notebook-extension');
        writeFileSync(join(all, 'tracker.jupyterlab-settings'), '{"windowingMode": "none"}\n');
    }

    start(command, words) {
        const program = new Program(command, words, { env: this.env, cwd: this.base });
        this.programs.push(program);
        return program;
    }

    async open() {
        const token = 'tour';
        const port = await freePort();
        const words = ['-m', this.module, '--no-browser', '--allow-root', `--ServerApp.port=${port}`, '--ServerApp.port_retries=0'];
        words.push(`--IdentityProvider.token=${token}`, `--ServerApp.root_dir=${this.notebooks}`);
        if (this.kernel === 'gateway') words.push(`--gateway-url=${await this.gateway()}`);
        else this.install();
        await this.start(this.python, words).wrote(/is running at/);
        this.address = `http://127.0.0.1:${port}/${this.path}/tour.ipynb?token=${token}`;
    }

    /** The directory of matplotlib's fonts: the browser's package has none of fixed width. */
    fonts() {
        const words = ['-c', 'import matplotlib; print(matplotlib.get_data_path())'];
        const { stdout, stderr } = spawnSync(this.python, words, { env: this.env, encoding: 'utf8' });
        assert(stdout, stderr);
        return join(stdout.trim(), 'fonts/ttf');
    }

    install() {
        const words = ['kernel', 'install', '--prefix', join(this.base, 'prefix')];
        if (this.active) words.push('--active-output');
        const done = spawnSync(this.brumate, words, { env: this.env, encoding: 'utf8' });
        assert.equal(done.status, 0, done.stderr);
    }

    /** Starts a server of kernels. Returns its address. */
    async gateway() {
        const { stdout: token, stderr: entry } = spawnSync(this.brumate, ['token', 'ada'], { env: this.env, encoding: 'utf8' });
        const tokens = join(this.base, 'tokens.toml');
        writeFileSync(tokens, entry);
        this.env.JUPYTER_GATEWAY_AUTH_TOKEN = token.trim();
        const words = ['streamable-http', '--jupyter', '--jupyter-active-output', '--port', '0', '--auth-tokens', tokens];
        const server = this.start(this.brumate, [...words, '--data-dir', join(this.base, 'data')]);
        return (await server.wrote(/serving Jupyter kernels at (\S+?)\/?\s/))[1];
    }

    async end() {
        for (const program of this.programs.reverse()) await program.end();
    }
}

/** The notebook in the page. */
class Notebook {
    /** The cells that the menu has run. */
    begun = [];
    /** Types of the messages that the page has sent and received. */
    sent = [];
    received = [];

    constructor(page, { active, file }, pictures) {
        Object.assign(this, { page, active, file, pictures });
        this.ids = JSON.parse(readFileSync(NOTEBOOK, 'utf8')).cells.map((cell) => cell.id);
        page.on('websocket', (socket) => {
            const types = (payload) => [...payload.toString('latin1').matchAll(/"msg_type": ?"(\w+)"/g)].map(([, type]) => type);
            // The parent's header is in a message as well, behind its own.
            socket.on('framesent', ({ payload }) => void this.sent.push(...types(payload).slice(0, 1)));
            socket.on('framereceived', ({ payload }) => void this.received.push(...types(payload).slice(0, 1)));
        });
    }

    /** A cell's element. */
    cell(id) {
        return this.page.locator('.jp-Notebook .jp-Cell').nth(this.ids.indexOf(id));
    }

    outputs(id) {
        return this.cell(id).locator('.jp-OutputArea-output');
    }

    prompt(id) {
        return this.cell(id).locator('.jp-InputArea-prompt');
    }

    /** Waits until the page is connected to the kernel and shows that it is idle. */
    async idle() {
        assert(await until(() => this.received.includes('kernel_info_reply'), PATIENCE), 'the page is not connected to a kernel');
        await this.page.locator('.jp-NotebookPanel-toolbar [data-status="idle"]').first().waitFor();
    }

    /** Clicks into the cell's text. */
    async enter(id) {
        await this.cell(id).locator('.cm-content').click();
    }

    /** Runs a cell by its keys. Does not wait for its end. */
    async start(id) {
        await this.enter(id);
        await this.page.keyboard.press('Shift+Enter');
    }

    /** Waits for the end of a cell. */
    async ended(id) {
        const ended = async () => /^\[\d+\]:$/.test((await this.prompt(id).innerText()).trim());
        assert(await until(ended, PATIENCE), `the cell ${id} does not end`);
    }

    /** Runs a cell, unless the menu has run it, and waits for its end. */
    async run(id) {
        if (this.begun.includes(id)) await this.cell(id).scrollIntoViewIfNeeded();
        else await this.start(id);
        await this.ended(id);
    }

    /** Runs the cells by the menu. They end at the cell with an error, and the others are not run. */
    async runAll() {
        const item = (name) => this.page.locator('.lm-Menu-item, .lm-MenuBar-item').filter({ hasText: name });
        await item(/^Run$/).click();
        await item(/^Run All Cells/).click();
        const last = this.ids.indexOf('error');
        this.begun = this.ids.slice(0, last + 1);
        await this.ended('error');
        await this.idle();
        for (const id of this.ids.slice(last + 1)) assert.match(await this.prompt(id).innerText(), /^\[ ?\]:\s*$/);
    }

    /** Waits until the outputs of a cell show a text. */
    async shows(id, text) {
        await this.cell(id).locator('.jp-Cell-outputArea').getByText(text).first().waitFor();
    }

    /** The value of a cell. */
    result(id) {
        return this.cell(id).locator('.jp-OutputArea-executeResult .jp-OutputArea-output');
    }

    /** The size of a cell's picture, once it is drawn. */
    async image(id) {
        const image = this.outputs(id).locator('img, svg').first();
        await image.waitFor();
        assert(await until(() => image.evaluate((element) => element.complete !== false), PATIENCE), `a picture of ${id} is not loaded`);
        return image.evaluate((element) => ({ width: element.naturalWidth ?? element.getBoundingClientRect().width }));
    }

    /** Drags the handle of a slider with the mouse. `to` is a part of its length. */
    async drag(id, to) {
        const { mouse } = this.page;
        const [handle, track] = ['.noUi-handle', '.noUi-target'].map((part) => this.outputs(id).locator(part).first());
        // Outputs above that are drawn late move the slider away from the mouse.
        const held = async () => {
            await handle.hover();
            await mouse.down();
            if (await handle.evaluate((element) => element.classList.contains('noUi-active'))) return true;
            await mouse.up();
            return false;
        };
        assert(await until(held, PATIENCE), `the slider of ${id} cannot be held`);
        const { x, y, width, height } = await track.boundingBox();
        await mouse.move(x + width * to, y + height / 2, { steps: 10 });
        await mouse.up();
    }

    /** Takes a picture of the page as it is. */
    async picture(id) {
        if (!this.pictures) return;
        const number = String(this.ids.indexOf(id) + 1).padStart(2, '0');
        await this.page.screenshot({ path: join(this.pictures, `${number}-${id}.png`) });
    }

    /** Saves the notebook, and opens it again in the same page. Its kernel goes on. */
    async reload() {
        await this.page.keyboard.press('Escape');
        await this.page.keyboard.press('Control+s');
        const saved = () => readFileSync(this.file, 'utf8').includes("Button(description='press'");
        assert(await until(saved, PATIENCE), 'the notebook is not saved');
        await this.page.locator('.lm-TabBar-tab.jp-mod-dirty').first().waitFor({ state: 'detached' });
        this.received = [];
        await this.page.reload();
        await this.idle();
    }
}

/** What is done with each cell, and checked. */
const STEPS = {
    async title(notebook) {
        await notebook.cell('title').locator('.jp-RenderedMarkdown h1', { hasText: 'A tour' }).waitFor();
        await notebook.cell('title').locator('mjx-container').waitFor();
    },
    async install(notebook) {
        await notebook.run('install');
        assert.match(await notebook.result('install').innerText(), /^'8\.\d+\.\d+'$/);
    },
    async text(notebook) {
        await notebook.run('text');
        await notebook.shows('text', 'Grüße, κόσμε');
        assert.equal(await notebook.outputs('text').locator('.ansi-red-fg').innerText(), 'red');
        assert.equal(await notebook.result('text').innerText(), '42');
    },
    async streams(notebook) {
        await notebook.run('streams');
        const stream = (name) => notebook.cell('streams').locator(`[data-mime-type="application/vnd.jupyter.${name}"]`);
        assert.equal((await stream('stdout').innerText()).trim(), 'out');
        assert.equal((await stream('stderr').innerText()).trim(), 'err');
    },
    async html(notebook) {
        await notebook.run('html');
        assert.equal(await notebook.outputs('html').locator('b.bold, b').innerText(), 'bold');
        assert.equal(await notebook.outputs('html').locator('em').innerText(), 'emphasis');
        const ran = await notebook.page.evaluate(() => window.brumateTour);
        assert.equal(ran, notebook.active ? 1 : undefined);
        assert.equal(await notebook.outputs('html').locator('script').count(), notebook.active ? 1 : 0);
    },
    async latex(notebook) {
        await notebook.run('latex');
        await notebook.outputs('latex').locator('mjx-container').waitFor();
    },
    async svg(notebook) {
        await notebook.run('svg');
        const { width } = await notebook.image('svg');
        assert.equal(width, 60);
    },
    async table(notebook) {
        await notebook.run('table');
        const rows = await notebook.outputs('table').locator('table tbody tr').allInnerTexts();
        assert.equal(rows.length, 12);
        assert.match(rows[4], /^4\s+Oslo\s+1\s+\d+$/);
    },
    async styled(notebook) {
        await notebook.run('styled');
        const cell = notebook.outputs('styled').locator('table tbody td').first();
        assert.match(await cell.innerText(), /^\d+$/);
        const color = await cell.evaluate((element) => getComputedStyle(element).backgroundColor);
        assert.equal(color !== 'rgba(0, 0, 0, 0)', notebook.active, color);
    },
    async matplotlib(notebook) {
        await notebook.run('matplotlib');
        assert((await notebook.image('matplotlib')).width > 300);
        assert.equal(await notebook.outputs('matplotlib').locator('img').count(), 1);
    },
    async seaborn(notebook) {
        await notebook.run('seaborn');
        assert((await notebook.image('seaborn')).width > 300);
    },
    async plotly(notebook) {
        await notebook.run('plotly');
        // Notebook does not load plotly's part of the page, and shows the picture.
        const isDrawn = notebook.active && notebook.begun.length === 0;
        if (!isDrawn) return void assert((await notebook.image('plotly')).width > 300);
        const plot = notebook.cell('plotly').locator('.js-plotly-plot');
        await plot.locator('.barlayer .point path').first().waitFor();
        assert.equal(await plot.locator('.barlayer .point path').count(), 12);
        await plot.locator('.barlayer .point path').first().hover({ force: true });
        await plot.locator('.hoverlayer .hovertext', { hasText: 'Bern' }).waitFor();
    },
    async bokeh(notebook) {
        await notebook.run('bokeh');
        // The figure is in a shadow tree, which the locators of playwright look into.
        const layers = notebook.cell('bokeh').locator('.bk-Figure canvas');
        if (!notebook.active) return void assert.equal(await notebook.cell('bokeh').locator('canvas, script').count(), 0);
        await layers.first().waitFor();
        // Points have the color #1f77b4.
        const points = (canvases) => canvases.reduce((sum, canvas) => {
            const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
            let pixels = 0;
            for (let at = 0; at < data.length; at += 4) pixels += data[at] === 0x1f && data[at + 1] === 0x77 && data[at + 2] === 0xb4;
            return sum + pixels;
        }, 0);
        assert(await until(async () => (await layers.evaluateAll(points)) > 500, PATIENCE), 'bokeh has drawn no points');
    },
    async progress(notebook) {
        await notebook.run('progress');
        await notebook.shows('progress', /text: 100%.*20\/20/);
        assert.equal(await notebook.outputs('progress').getByText('text:').count(), 1);
    },
    async bars(notebook) {
        await notebook.run('bars');
        await notebook.shows('bars', /20\/20/);
        const bar = notebook.outputs('bars').locator('.widget-hprogress .progress-bar, .jupyter-widgets .progress-bar');
        assert.equal(await bar.count(), notebook.active ? 1 : 0);
    },
    async slider(notebook) {
        await notebook.run('slider');
        if (!notebook.active) return notebook.shows('slider', /VBox\(/);
        const squared = notebook.outputs('slider').locator('.widget-label').last();
        assert.equal(await squared.innerText(), '4');
        await notebook.drag('slider', 0.5);
        const value = Number(await notebook.outputs('slider').locator('.widget-readout').innerText());
        assert(value > 10, `the slider is at ${value}`);
        await notebook.shows('slider', String(value ** 2));
    },
    async interact(notebook) {
        await notebook.run('interact');
        if (!notebook.active) return notebook.shows('interact', /interactive\(/);
        await notebook.shows('interact', '1 periods of a sine');
        const before = await notebook.outputs('interact').locator('img').getAttribute('src');
        await notebook.drag('interact', 1);
        await notebook.shows('interact', '9 periods of a sine');
        await notebook.outputs('interact').locator('select').selectOption('square');
        await notebook.shows('interact', '9 periods of a square');
        assert.notEqual(await notebook.outputs('interact').locator('img').getAttribute('src'), before);
    },
    async button(notebook) {
        await notebook.run('button');
        if (!notebook.active) return notebook.shows('button', /VBox\(/);
        for (const times of [1, 2]) {
            await notebook.outputs('button').getByRole('button', { name: 'press' }).click();
            await notebook.shows('button', 'pressed\n'.repeat(times).trim());
        }
        // Widgets live in the kernel: a page that is opened again shows and moves them.
        await notebook.reload();
        await notebook.drag('slider', 0);
        await notebook.outputs('slider').locator('.widget-vbox > .widget-label', { hasText: /^0$/ }).waitFor();
    },
    async updates(notebook) {
        await notebook.run('updates');
        assert.deepEqual(await notebook.outputs('updates').allInnerTexts(), ["'second'"]);
    },
    async error(notebook) {
        await notebook.run('error');
        const error = notebook.cell('error').locator('[data-mime-type="application/vnd.jupyter.error"], [data-mime-type="application/vnd.jupyter.stderr"]');
        const text = await error.innerText();
        for (const part of ['ZeroDivisionError', 'divide(1, 0)', '----> 2']) assert(text.includes(part), text);
    },
    async input(notebook) {
        await notebook.start('input');
        for (const [kind, answer, shown] of [[':not([type])', 'Ada', /Your name\?\s+Ada/], ['[type="password"]', 'secret', /A secret\?\s+·+/]]) {
            const field = notebook.cell('input').locator(`input.jp-Stdin-input${kind}`);
            await field.fill(answer);
            await field.press('Enter');
            await notebook.shows('input', shown);
        }
        await notebook.ended('input');
        await notebook.shows('input', 'Hello, Ada: 6 letters');
    },
    async completion(notebook) {
        const { keyboard } = notebook.page;
        const count = (types, type) => types.filter((found) => found === type).length;
        const counts = () => [count(notebook.sent, 'complete_request'), count(notebook.received, 'complete_reply')];
        const names = notebook.page.locator('.jp-Completer-item');
        const isShown = (name) => names.filter({ hasText: `.${name}attribute` }).first().isVisible();
        // JupyterLab closes the list at times by itself. Then it is opened again, as a person does.
        const ask = async () => {
            await keyboard.press('Tab');
            await notebook.page.waitForTimeout(1_000);
        };
        await notebook.enter('completion');
        await keyboard.press('End');
        const isOpen = async () => {
            const shown = await Promise.all(['describe', 'diff', 'drop_duplicates', 'dtypes'].map(isShown));
            if (!shown.includes(true)) await ask();
            return !shown.includes(false);
        };
        assert(await until(isOpen, PATIENCE), 'the names are not listed');
        await notebook.picture('completion');
        await keyboard.type('escr');
        const isCompleted = async () => {
            if ((await notebook.cell('completion').locator('.cm-content').innerText()).trim() === 'frame.describe') return true;
            if (!(await isShown('describe'))) await ask();
            else if (!(await isShown('diff'))) await keyboard.press('Enter');
            return false;
        };
        assert(await until(isCompleted, PATIENCE), 'the name is not completed');
        await names.first().waitFor({ state: 'hidden' });
        await keyboard.type('()');
        await keyboard.press('Shift+Enter');
        await notebook.ended('completion');
        await notebook.outputs('completion').locator('th', { hasText: '75%' }).waitFor();
        // A second reply would close the list.
        const [requests, replies] = counts();
        console.log(`names: ${requests} requests, ${replies} replies`);
        assert(requests > 0, 'no names were asked for');
        assert.equal(replies, requests);
    },
    async inspection(notebook) {
        const { page } = notebook;
        const { keyboard } = page;
        await notebook.enter('inspection');
        await keyboard.press('End');
        await keyboard.press('Shift+Tab');
        const shown = page.locator('.jp-Tooltip', { hasText: 'Return evenly spaced numbers' });
        await shown.waitFor();
        await notebook.picture('inspection');
        await keyboard.press('Escape');
        await shown.waitFor({ state: 'hidden' });
        await notebook.run('inspection');
        assert.match(await notebook.result('inspection').innerText(), /^<function linspace/);
    },
    async interrupt(notebook) {
        await notebook.start('interrupt');
        await notebook.shows('interrupt', 'running');
        assert.match(await notebook.prompt('interrupt').innerText(), /\*/);
        await notebook.page.keyboard.press('Escape');
        for (const key of ['i', 'i']) await notebook.page.keyboard.press(key);
        await notebook.ended('interrupt');
        await notebook.shows('interrupt', 'KeyboardInterrupt');
    },
    async restart(notebook) {
        await notebook.run('restart');
        assert.equal(await notebook.result('restart').innerText(), '(1, True)');
        await notebook.page.keyboard.press('Escape');
        for (const key of ['0', '0']) await notebook.page.keyboard.press(key);
        await notebook.page.locator('.jp-Dialog').getByRole('button', { name: 'Confirm Kernel Restart' }).click();
        await notebook.page.locator('.jp-Dialog').waitFor({ state: 'detached' });
        await notebook.run('restart');
        await notebook.shows('restart', 'NameError');
        assert.equal((await notebook.prompt('restart').innerText()).trim(), '[1]:');
    },
};

/** The cells whose step takes the picture itself: it shows a list or a text over the page. */
const PICTURES_WITHIN = ['completion', 'inspection'];

async function tour(notebook, last) {
    for (const id of notebook.ids) {
        const began = Date.now();
        await STEPS[id](notebook);
        if (!PICTURES_WITHIN.includes(id)) await notebook.picture(id);
        console.log(`${id}: ${Date.now() - began} ms`);
        if (id === last) break;
    }
}

const given = { application: 'lab', ...options() };
const base = mkdtempSync(join(tmpdir(), 'brumate-jupyter-'));
const jupyter = new Jupyter(base, given);
let [browser, page] = [];
try {
    if (given.pictures) mkdirSync(given.pictures, { recursive: true });
    await jupyter.open();
    browser = await browse(base, [jupyter.fonts()]);
    page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    page.setDefaultTimeout(PATIENCE);
    const notebook = new Notebook(page, jupyter, given.pictures);
    await page.goto(jupyter.address);
    await notebook.idle();
    if (given.application === 'notebook') await notebook.runAll();
    await tour(notebook, given.until);
    await browser.close();
} catch (error) {
    console.error(error);
    if (given.pictures) await page?.screenshot({ path: join(given.pictures, 'failed.png') });
    if (page && !page.isClosed()) console.error(`The page:\n${await told(page)}`);
    for (const { log } of jupyter.programs) console.error(`A program wrote:\n${log}`);
    process.exitCode = 1;
} finally {
    await browser?.close();
    await jupyter.end();
    rmSync(base, { recursive: true, force: true, maxRetries: 10 });
}
process.exit();
