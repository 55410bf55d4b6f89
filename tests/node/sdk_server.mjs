// A server of the TypeScript SDK for the crate's client: sdk_server.mjs 1|2 stdio|sse|http [PORT].
//
// The packages are imported from the `node_modules` that BRUMATE_TEST_CLIENTS names.

import { createServer } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [major, transport, port] = process.argv.slice(2);

function module(path) {
    const modules = process.env.BRUMATE_TEST_CLIENTS;
    if (!modules) throw new Error('BRUMATE_TEST_CLIENTS is not set; `cargo xtask test` sets it');
    return import(pathToFileURL(join(modules, path)).href);
}

const { z } = await module('zod/v4/index.js');
const QUESTION = {
    message: 'Who is there?',
    requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
};

const text = (text) => ({ content: [{ type: 'text', text }] });

/** What both lines have; `offers` says how each of them does what they do differently. */
function register(server, ResourceTemplate, { progress, log, ask }) {
    const numbers = z.object({ a: z.number(), b: z.number().default(1) });
    const sum = ({ a, b }) => ({ ...text(String(a + b)), structuredContent: { result: a + b } });
    server.registerTool('add', { inputSchema: numbers, outputSchema: z.object({ result: z.number() }) }, sum);
    server.registerTool('fails', {}, () => ({ ...text('it always does'), isError: true }));
    server.registerTool('steps', {}, async (context) => {
        for (let step = 1; step <= 10; step++) await progress(context, { progress: step, total: 10, message: `step ${step}` });
        return text('stepped');
    });
    server.registerTool('talks', {}, async (context) => {
        for (let number = 0; number < 3; number++) await log(context, `fact ${number}`);
        return text('talked');
    });
    server.registerTool('asks', {}, (context) => ask(context));
    const about = (uri) => ({ contents: [{ uri: uri.href, text: 'a server for tests' }] });
    server.registerResource('about', 'text://about', {}, about);
    const user = (uri, { name }) => ({ contents: [{ uri: uri.href, text: `the user ${name}` }] });
    server.registerResource('user', new ResourceTemplate('text://users/{name}', { list: undefined }), {}, user);
    const greet = ({ name }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Greet ${name}.` } }] });
    server.registerPrompt('greet', { argsSchema: major === '1' ? { name: z.string() } : z.object({ name: z.string() }) }, greet);
    return server;
}

const said = ({ action, content }) => text(`${action} ${content?.name}`);
const capabilities = { capabilities: { logging: {} } };

async function first() {
    const [{ McpServer, ResourceTemplate }, { StdioServerTransport }, { StreamableHTTPServerTransport }, { SSEServerTransport }] =
        await Promise.all(['mcp', 'stdio', 'streamableHttp', 'sse'].map((name) => module(`@modelcontextprotocol/sdk/dist/esm/server/${name}.js`)));
    const make = () => {
        const server = new McpServer({ name: 'typescript', version: '1' }, capabilities);
        const notify = (extra, method, params) => extra.sendNotification({ method, params });
        return register(server, ResourceTemplate, {
            progress: (extra, params) =>
                notify(extra, 'notifications/progress', { progressToken: extra._meta.progressToken, ...params }),
            log: (extra, data) => notify(extra, 'notifications/message', { level: 'info', data }),
            ask: async (extra) =>
                said(await server.server.elicitInput({ mode: 'form', ...QUESTION }, { relatedRequestId: extra.requestId })),
        });
    };
    if (transport === 'stdio') return make().connect(new StdioServerTransport());
    const sessions = new Map();
    const serve = {
        async http(request, response) {
            const known = sessions.get(request.headers['mcp-session-id']);
            if (known) return known.handleRequest(request, response);
            const session = new StreamableHTTPServerTransport({
                sessionIdGenerator: () => crypto.randomUUID(),
                onsessioninitialized: (id) => sessions.set(id, session),
            });
            await make().connect(session);
            await session.handleRequest(request, response);
        },
        async sse(request, response) {
            if (request.method === 'POST') {
                return sessions.get(new URL(request.url, 'http://x').searchParams.get('sessionId')).handlePostMessage(request, response);
            }
            const session = new SSEServerTransport('/messages', response);
            sessions.set(session.sessionId, session);
            await make().connect(session);
        },
    };
    createServer(serve[transport]).listen(Number(port), '127.0.0.1');
}

async function second() {
    const [{ McpServer, ResourceTemplate, createMcpHandler, inputRequired }, { serveStdio }, { toNodeHandler }] = await Promise.all(
        ['server/dist/index.mjs', 'server/dist/stdio.mjs', 'node/dist/index.mjs'].map((path) => module(`@modelcontextprotocol/${path}`)),
    );
    const make = () => register(new McpServer({ name: 'typescript', version: '2' }, capabilities), ResourceTemplate, {
        progress: ({ mcpReq }, params) =>
            mcpReq.notify({ method: 'notifications/progress', params: { progressToken: mcpReq._meta.progressToken, ...params } }),
        log: ({ mcpReq }, data) => mcpReq.log('info', data),
        ask: async ({ mcpReq }) => {
            if (!mcpReq.envelope) return said(await mcpReq.elicitInput({ mode: 'form', ...QUESTION }));
            const answer = mcpReq.inputResponses?.who;
            return answer ? said(answer) : inputRequired({ inputRequests: { who: inputRequired.elicit(QUESTION) } });
        },
    });
    if (transport === 'stdio') return serveStdio(make);
    createServer(toNodeHandler(createMcpHandler(make))).listen(Number(port), '127.0.0.1');
}

await (major === '1' ? first() : second());
