// What a TypeScript SDK's client can do with a server of `brumate-mcp` (the example `interop`) over one transport, or with
// `tests/python/server_matrix/server.py`; the same as `tests/python/interop.py`, which says what is printed.

import assert from 'node:assert/strict';
import { connect, options, until } from './clients.mjs';

// What is expected not to happen is not waited for longer.
const IMPATIENCE = 2_000;

const { major, era, transport, failing, target, missing = '"a" is a required property', tried = '' } = options();

const areas = {
    async tools({ client, call }) {
        const listed = Object.fromEntries((await client.listTools()).tools.map((tool) => [tool.name, tool]));
        // The example has tools for `sizes.mjs` besides.
        assert.deepEqual(
            Object.keys(listed).filter((name) => !['length', 'letters'].includes(name)).sort(),
            ['add', 'asks', 'cancelled', 'fails', 'panics', 'picture', 'seen', 'steps', 'talks', 'waits'],
        );
        assert.deepEqual(listed.add.inputSchema.required, ['a']);
        assert.deepEqual((await call('add', { a: 40, b: 2 })).structuredContent, { sum: 42 });
        const [text, image] = (await call('picture')).content;
        assert.deepEqual([text.text, image.mimeType, image.data.slice(0, 4)], ['a pixel', 'image/png', 'iVBO']);
        for (const [name, says] of [['fails', 'it always does'], ['panics', ''], ['add', missing]]) {
            const result = await call(name);
            const said = result.content[0].text;
            assert.deepEqual([result.isError, said.includes(says), said.includes('nobody sees')], [true, true, false]);
        }
    },

    async resources({ client }) {
        const [listed] = (await client.listResources()).resources;
        assert.deepEqual([listed.uri, listed.mimeType], ['interop://about', 'text/plain']);
        const [template] = (await client.listResourceTemplates()).resourceTemplates;
        assert.equal(template.uriTemplate, 'interop://users/{name}');
        for (const [uri, text] of [['interop://about', 'a server for tests'], ['interop://users/ada%20l', 'the user ada l']]) {
            assert.equal((await client.readResource({ uri })).contents[0].text, text);
        }
        await assert.rejects(client.readResource({ uri: 'interop://nothing' }), /interop:\/\/nothing/);
    },

    async prompts({ client }) {
        const [listed] = (await client.listPrompts()).prompts;
        assert.deepEqual(listed.arguments, [{ name: 'name', description: 'Who is greeted.', required: true }]);
        const { messages } = await client.getPrompt({ name: 'greet', arguments: { name: 'Ada' } });
        assert.deepEqual(messages, [{ role: 'user', content: { type: 'text', text: 'Greet Ada.' } }]);
    },

    async logging({ client, call, logs, modern }, patience) {
        if (!modern) await client.setLoggingLevel('info');
        await call('talks');
        await until(() => logs.at(-1)?.level === 'warning', patience);
        assert.deepEqual(logs.map(({ level, data }) => [level, data]), [['info', 'a fact'], ['warning', 'a warning']]);
    },

    async progress({ call }, patience) {
        const seen = [];
        const onprogress = ({ progress, total, message }) => seen.push([progress, total, message]);
        const running = call('steps', {}, { onprogress });
        await until(() => seen.length === 3, patience);
        await call('seen');
        await running;
        assert.deepEqual(seen, [[1, 2, 'one'], [1.5, 2, 'and a half'], [2, 2, 'two']]);
    },

    async cancel({ call }, patience) {
        const controller = new AbortController();
        const begun = Promise.withResolvers();
        const running = call('waits', {}, { signal: controller.signal, onprogress: begun.resolve });
        running.catch(() => {});
        await Promise.race([begun.promise, running]);
        controller.abort();
        await assert.rejects(running);
        const counted = async () => (await call('cancelled')).structuredContent.result === 1;
        assert(await until(counted, patience), 'the call runs on');
    },

    async elicitation({ call, forms }) {
        const result = await call('asks');
        assert.equal(result.content[0].text, 'hello, Ada');
        assert.deepEqual(forms.map((form) => [form.message, form.requestedSchema.required]), [['Who is there?', ['name']]]);
    },
};

const told = (error) => `${error.name}: ${error.message}`;
const found = {};
try {
    const answer = () => ({ action: 'accept', content: { name: 'Ada' } });
    const connection = await connect({ major: Number(major), era, kind: transport, target, answer });
    found.connected = connection.protocol;
    // `--tried` names the areas that are tried; all by default.
    for (const [name, area] of Object.entries(areas).filter(([name]) => !tried || tried.split(',').includes(name))) {
        try {
            await area(connection, failing.split(',').includes(name) ? IMPATIENCE : undefined);
            found[name] = 'ok';
        } catch (error) {
            found[name] = told(error);
        }
    }
    await connection.client.close();
} catch (error) {
    found[found.connected ? 'closing' : 'connecting'] = told(error);
}
console.log(JSON.stringify(found));
// A connection that is still open does not keep the process.
process.exit(0);
