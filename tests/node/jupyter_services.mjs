// JupyterLab's own client of kernels, `@jupyterlab/services`, with the kernel API of `brumate streamable-http --jupyter`. VS Code's
// Jupyter extension uses it for kernels of a server.
//
//     --modules DIR             the `node_modules` with the client
//     --url URL --token TOKEN   the server, which sends outputs as they are

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { options, until } from './clients.mjs';

const { modules, url, token } = options();
const { KernelManager, KernelSpecManager, ServerConnection } = createRequire(join(modules, 'x'))('@jupyterlab/services');

// No answer takes this long unless something hangs.
const PATIENCE = 180_000;

async function becomes(holds, what) {
    assert(await until(holds, PATIENCE), `this does not come: ${what}`);
}

/** Runs code. Returns the content of the reply, the text of stdout, and the messages as `[type, content]`. */
async function run(kernel, code, content = {}, onStdin = () => assert.fail('the kernel asks')) {
    const messages = [];
    const future = kernel.requestExecute({ code, ...content });
    future.onIOPub = (message) => void messages.push([message.header.msg_type, message.content]);
    future.onStdin = onStdin;
    const reply = (await future.done).content;
    const text = messages.filter(([type]) => type === 'stream').map(([, { text }]) => text).join('');
    return { reply, text, messages };
}

async function value(kernel, code) {
    const { reply, messages } = await run(kernel, code);
    assert.equal(reply.status, 'ok', reply.evalue);
    return messages.find(([type]) => type === 'execute_result')[1].data['text/plain'];
}

/** Starts a cell without an end. Returns its future, once it runs. */
async function endless(kernel) {
    let running = false;
    const future = kernel.requestExecute({ code: 'print("running")\nwhile True: pass' });
    future.onIOPub = ({ header }) => void (running ||= header.msg_type === 'stream');
    await becomes(() => running, 'the cell runs');
    assert.equal(kernel.status, 'busy');
    return future;
}

/** What is tested, in this order, with one kernel. */
const CASES = {
    async cells(kernel) {
        const { reply, text, messages } = await run(kernel, 'print("é")\nx = [1, 2]\nx');
        assert.deepEqual([reply.status, reply.execution_count, text], ['ok', 1, 'é\n']);
        assert.deepEqual(messages.map(([type]) => type).filter((type) => type !== 'stream'), ['status', 'execute_input', 'execute_result', 'status']);
        assert.equal(await value(kernel, 'len(x)'), '2');
        const failed = await run(kernel, '1 / 0');
        assert.deepEqual([failed.reply.status, failed.reply.ename], ['error', 'ZeroDivisionError']);
    },
    async questions(kernel) {
        const completed = (await kernel.requestComplete({ code: 'x.app', cursor_pos: 5 })).content;
        assert.deepEqual(completed.matches.map((match) => match.replace(/^x?\./, '')), ['append']);
        assert.equal('x.app'.slice(0, completed.cursor_start) + completed.matches[0], 'x.append');
        const inspected = (await kernel.requestInspect({ code: 'len', cursor_pos: 3, detail_level: 0 })).content;
        assert(inspected.found && inspected.data['text/plain'].includes('Return the number of items'), JSON.stringify(inspected));
        const complete = async (code) => (await kernel.requestIsComplete({ code })).content.status;
        assert.deepEqual([await complete('1'), await complete('def f():'), await complete('1 +* 2')], ['complete', 'incomplete', 'invalid']);
        const history = { hist_access_type: 'tail', n: 2, output: false, raw: true };
        assert.deepEqual((await kernel.requestHistory(history)).content.history.map(([, , code]) => code), ['len(x)', '1 / 0']);
    },
    async input(kernel) {
        const asked = [];
        const answer = ({ content, header }) => {
            asked.push([content.prompt, content.password]);
            kernel.sendInputReply({ status: 'ok', value: `answer ${asked.length}` }, header);
        };
        const code = 'from getpass import getpass\nprint(input("one? "), getpass("two? "))';
        const { reply, text } = await run(kernel, code, { allow_stdin: true }, answer);
        assert.deepEqual([reply.status, text, asked], ['ok', 'answer 1 answer 2\n', [['one? ', false], ['two? ', true]]]);
        assert.equal((await run(kernel, 'input()', { allow_stdin: false })).reply.ename, 'StdinNotImplementedError');
    },
    async comms(kernel) {
        const code = `%pip install -q comm
from comm import get_comm_manager
def opened(comm, message):
    @comm.on_msg
    def answer(message):
        comm.send({"twice": message["content"]["data"]["number"] * 2}, buffers=[bytes(message["buffers"][0])[::-1]])
get_comm_manager().register_target("twice", opened)`;
        assert.equal((await run(kernel, code)).reply.status, 'ok');
        const comm = kernel.createComm('twice');
        let answer;
        comm.onMsg = (message) => void (answer = message);
        await comm.open({}).done;
        await comm.send({ number: 21 }, {}, [new Uint8Array([0, 1, 255]).buffer]).done;
        await becomes(() => answer, 'the answer of the comm');
        assert.equal(answer.content.data.twice, 42);
        const [{ buffer, byteOffset, byteLength }] = answer.buffers;
        assert.deepEqual([...new Uint8Array(buffer, byteOffset, byteLength)], [255, 1, 0]);
        const open = async () => (await kernel.requestCommInfo({ target_name: 'twice' })).content.comms;
        assert.deepEqual(await open(), { [comm.commId]: { target_name: 'twice' } });
        await comm.close().done;
        assert.deepEqual(await open(), {});
        // Opened by the kernel.
        let data;
        kernel.registerCommTarget('frontend', (_, message) => void (data = message.content.data));
        await run(kernel, 'from comm import create_comm\nmade = create_comm(target_name="frontend", data={"a": 1})');
        await becomes(() => data, "the kernel's comm");
        assert.deepEqual(data, { a: 1 });
    },
    async connections(kernel, manager) {
        const other = manager.connectTo({ model: kernel.model });
        const seen = [];
        other.iopubMessage.connect((_, { content }) => void seen.push(content.text));
        await other.info;
        await run(kernel, 'print("for all")');
        await becomes(() => seen.includes('for all\n'), 'the output at the other client');
        other.dispose();
        await kernel.reconnect();
        assert.equal(kernel.connectionStatus, 'connected');
        assert.equal(await value(kernel, 'x'), '[1, 2]');
    },
    async interrupt(kernel) {
        const future = await endless(kernel);
        await kernel.interrupt();
        assert.equal((await future.done).content.ename, 'KeyboardInterrupt');
        assert.equal(await value(kernel, 'x'), '[1, 2]');
    },
    async restart(kernel) {
        const id = kernel.id;
        (await endless(kernel)).done.catch(() => undefined);
        await kernel.restart();
        assert.equal(kernel.id, id);
        const { reply } = await run(kernel, 'x');
        assert.deepEqual([reply.ename, reply.execution_count], ['NameError', 1]);
    },
    async shutdown(kernel, manager) {
        const { id } = kernel;
        const isRunning = async () => {
            await manager.refreshRunning();
            return [...manager.running()].some((model) => model.id === id);
        };
        assert(await isRunning());
        await kernel.shutdown();
        assert(kernel.isDisposed);
        assert(!(await isRunning()));
    },
};

const serverSettings = ServerConnection.makeSettings({ baseUrl: url, wsUrl: url.replace(/^http/, 'ws'), token, appendToken: true });
const specs = new KernelSpecManager({ serverSettings });
await specs.ready;
assert.equal(specs.specs.default, 'python3');
specs.dispose();
const manager = new KernelManager({ serverSettings });
await manager.ready;
const kernel = await manager.startNew({ name: 'python3' });
assert.equal((await kernel.info).language_info.name, 'python');
assert.equal((await kernel.spec).language, 'python');
for (const [name, check] of Object.entries(CASES)) {
    const began = Date.now();
    await check(kernel, manager);
    console.log(`${name}: ${Date.now() - began} ms`);
}
manager.dispose();
process.exit();
