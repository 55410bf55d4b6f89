// One face for the TypeScript SDKs' clients: `@modelcontextprotocol/sdk` 1.x and `@modelcontextprotocol/client` 2.x.
//
// They are imported from the `node_modules` that BRUMATE_TEST_CLIENTS names.

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

// No answer takes this long unless something hangs.
export const PATIENCE = 300_000;

const LOG_LEVEL = 'io.modelcontextprotocol/logLevel';

/** A module of an npm package, by its path in there. */
function module(path) {
    const modules = process.env.BRUMATE_TEST_CLIENTS;
    if (!modules) throw new Error('BRUMATE_TEST_CLIENTS is not set; `cargo xtask test` sets it');
    return import(pathToFileURL(join(modules, '@modelcontextprotocol', path)).href);
}

/** What differs between the two: classes, and how handlers are named. */
async function sdk(major) {
    if (major === 1) {
        const [client, stdio, http, sse, types] = await Promise.all([
            module('sdk/dist/esm/client/index.js'), module('sdk/dist/esm/client/stdio.js'),
            module('sdk/dist/esm/client/streamableHttp.js'), module('sdk/dist/esm/client/sse.js'), module('sdk/dist/esm/types.js'),
        ]);
        const names = {
            'notifications/message': types.LoggingMessageNotificationSchema,
            'elicitation/create': types.ElicitRequestSchema,
        };
        return { ...client, ...stdio, ...http, ...sse, named: (method) => names[method] };
    }
    const [client, stdio] = await Promise.all([module('client/dist/index.mjs'), module('client/dist/stdio.mjs')]);
    return { ...client, ...stdio, named: (method) => method };
}

function transport({ StdioClientTransport, StreamableHTTPClientTransport, SSEClientTransport }, kind, target, headers) {
    if (kind === 'stdio') return new StdioClientTransport({ command: target[0], args: target.slice(1) });
    const [Transport, path] = { http: [StreamableHTTPClientTransport, '/mcp'], sse: [SSEClientTransport, '/sse'] }[kind];
    return new Transport(new URL(target[0] + path), { requestInit: { headers } });
}

/**
 * A connected client. `answer` is the person before it: given a form's parameters, it returns the result of the elicitation.
 * `logs` collects what the server logs from level `info` on, `forms` what it asked.
 */
export async function connect({ major, era, kind, target, headers = {}, answer }) {
    const classes = await sdk(major);
    const options = { capabilities: { elicitation: {} } };
    if (major >= 2) options.versionNegotiation = { mode: era === 'modern' ? { pin: '2026-07-28' } : 'legacy' };
    const client = new classes.Client({ name: 'tests', version: '1' }, options);
    const [logs, forms] = [[], []];
    client.setNotificationHandler(classes.named('notifications/message'), ({ params }) => void logs.push(params));
    client.setRequestHandler(classes.named('elicitation/create'), ({ params }) => {
        forms.push(params);
        return answer(params);
    });
    const opened = transport(classes, kind, target, headers);
    let protocol = null;
    if (major === 1) {
        // This line's clients do not tell what was agreed upon, except their transports.
        const tell = opened.setProtocolVersion?.bind(opened);
        opened.setProtocolVersion = (version) => {
            protocol = version;
            tell?.(version);
        };
    }
    await client.connect(opened, { timeout: PATIENCE });
    protocol ??= client.getNegotiatedProtocolVersion();
    const modern = protocol >= '2026-07-28';
    const call = (name, args = {}, more = {}) => {
        const meta = modern ? { _meta: { [LOG_LEVEL]: 'info' } } : {};
        const params = { name, arguments: args, ...meta };
        const patience = { timeout: PATIENCE, ...more };
        return major === 1 ? client.callTool(params, undefined, patience) : client.callTool(params, patience);
    };
    return { client, protocol, modern, logs, forms, call };
}

/** Waits until something is true, as long as `patience`. */
export async function until(holds, patience = PATIENCE) {
    const end = Date.now() + patience;
    while (!(await holds())) {
        if (Date.now() > end) return false;
        await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return true;
}

/** `--name value`; what follows `--target` is a list. */
export function options() {
    const found = { target: [], failing: '' };
    const words = process.argv.slice(2);
    while (words.length) {
        const name = words.shift().replace(/^--/, '');
        found[name] = name === 'target' ? words.splice(0) : words.shift();
    }
    return found;
}
