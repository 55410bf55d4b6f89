// A real Chromium for tests of web pages, and the helpers of these tests.
//
// BRUMATE_TEST_BROWSER names the `node_modules` with the browser.

import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

export function variable(name) {
    const value = process.env[name];
    if (!value) throw new Error(`${name} is not set; \`cargo xtask test\` sets it`);
    return value;
}

/** A port that nothing listens on. The Inspector takes no 0 for this one. */
export async function freePort() {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address();
    server.close();
    await once(server, 'close');
    return port;
}

/** A Chromium, unpacked with its libraries and a font. `fonts` are directories with more. */
export async function browse(base, fonts = []) {
    const modules = variable('BRUMATE_TEST_BROWSER');
    const module = (path) => import(pathToFileURL(join(modules, path)).href);
    const { chromium } = await module('playwright-core/index.mjs');
    const { default: packed, inflate } = await module('@sparticuz/chromium/build/index.js');
    // It is unpacked into the system's temporary directory.
    const before = process.env.TMPDIR;
    process.env.TMPDIR = base;
    const executablePath = await packed.executablePath();
    const libraries = await inflate(join(modules, '@sparticuz/chromium/bin/al2023.tar.br'));
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
    // Without a font Chromium finds no text on a page. The package's own file has paths of another system.
    const directories = [join(base, 'fonts/fonts'), ...fonts].map((directory) => `<dir>${directory}</dir>`).join('');
    const found = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>${directories}<cachedir>${join(base, 'fonts/cache')}</cachedir></fontconfig>
`;
    writeFileSync(join(base, 'fonts/fonts.conf'), found);
    const env = {
        ...process.env,
        HOME: base,
        LD_LIBRARY_PATH: join(libraries, 'lib'),
        FONTCONFIG_FILE: join(base, 'fonts/fonts.conf'),
    };
    return chromium.launch({ executablePath, chromiumSandbox: false, env });
}

/** What the page says, for a failure. */
export async function told(page) {
    try {
        return await page.locator('body').innerText({ timeout: 5_000 });
    } catch (error) {
        return String(error);
    }
}
