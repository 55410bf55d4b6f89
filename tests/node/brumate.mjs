// What a TypeScript SDK's client does with the server: a call, a session's cells, a figure, its file, a question. Exit status 0: every
// promise was kept.

import assert from 'node:assert/strict';
import { connect, options } from './clients.mjs';

const { major, era, transport, token, target } = options();
const headers = token ? { Authorization: `Bearer ${token}` } : {};
const answer = () => ({ action: 'accept', content: { value: 'Ada' } });
const { client, call, modern, forms } = await connect({ major: Number(major), era, kind: transport, target, headers, answer });
assert.equal(modern, era === 'modern');

const names = (await client.listTools()).tools.map((tool) => tool.name);
assert(names.includes('run_python_code') && names.includes('execute_code'), names.join());

const ran = await call('run_python_code', { python_code: "print('hello')\n40 + 2" });
assert.match(ran.content[0].text, /<status>success<\/status>[^]*hello[^]*<return_value>\n42\n/);
const failed = await call('run_python_code', { python_code: '1 / 0' });
assert.match(failed.content[0].text, /ZeroDivisionError/);

const cell = async (code, session_id = '') => (await call('execute_code', { code, session_id })).structuredContent;
const session = (await cell('x = 41')).session_info.session_id;
assert.equal((await cell('x + 1', session)).result, '42');

const plot = 'import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nplt.show()';
const shown = await call('execute_code', { code: plot, session_id: session });
const [picture] = shown.content.filter((block) => block.type === 'image');
assert.equal(Buffer.from(picture.data, 'base64').toString('latin1', 1, 4), 'PNG');
const file = shown.structuredContent.files.find(({ mime_type }) => mime_type === 'image/png');
const { contents } = await client.readResource({ uri: file.uri });
assert.equal(Buffer.from(contents[0].blob, 'base64').length, file.size);

assert.equal((await cell("input('who? ')", session)).result, "'Ada'");
assert.match(forms[0].message, /who\?/);

await client.close();
process.exit(0);
