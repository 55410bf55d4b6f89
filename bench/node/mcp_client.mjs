// A client of the TypeScript SDK: connects, lists the tools, and calls `echo`, with OPEN calls under
// way at a time. Prints the seconds of each as JSON.
//
// `mcp_client.mjs MODULES legacy|modern CALLS OPEN URL|COMMAND…`; MODULES is the `node_modules` with `@modelcontextprotocol/client`.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [modules, era, calls, open, ...target] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(join(modules, '@modelcontextprotocol/client/dist', path)).href);
const { Client, StreamableHTTPClientTransport } = await load('index.mjs');
const { StdioClientTransport } = await load('stdio.mjs');

const mode = era === 'modern' ? { pin: '2026-07-28' } : 'legacy';
const begin = performance.now();
const client = new Client({ name: 'bench', version: '1' }, { versionNegotiation: { mode } });
const transport = target[0].startsWith('http')
    ? new StreamableHTTPClientTransport(new URL(target[0]))
    : new StdioClientTransport({ command: target[0], args: target.slice(1) });
await client.connect(transport);
const connected = performance.now();
const { tools } = await client.listTools();
const listed = performance.now();
assert(tools.some((tool) => tool.name === 'echo'));
let next = 0;
const call = async () => {
    while (next < Number(calls)) {
        const message = `message ${next++}`;
        const result = await client.callTool({ name: 'echo', arguments: { message } });
        assert.equal(result.content[0].text, message);
    }
};
await Promise.all(Array.from({ length: Number(open) }, call));
const called = performance.now();
await client.close();
const seconds = (from, to) => (to - from) / 1000;
console.log(JSON.stringify({ connect: seconds(begin, connected), list: seconds(connected, listed), calls: seconds(listed, called) }));
process.exit(0);
