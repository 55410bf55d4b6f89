// Sends and receives messages of given sizes with a TypeScript SDK's client. Steps and output are those of `tests/python/sizes.py`.

import { connect, options } from './clients.mjs';

// No answer takes this long unless something hangs.
const PATIENCE = 60_000;

const { major, era, transport, steps, target } = options();

const told = (error) => `${error.name}: ${error.message}`.slice(0, 300);

async function said(call, [kind, letters, log = 0]) {
    const patience = { timeout: PATIENCE };
    const result = kind === 'request'
        ? await call('length', { text: 'x'.repeat(letters) }, patience)
        : await call('letters', { number: letters, log }, patience);
    const text = result.content[0].text;
    return text === (kind === 'request' ? String(letters) : 'x'.repeat(letters)) ? 'ok' : text.slice(0, 300);
}

for (const step of JSON.parse(steps)) {
    const found = { said: null, goes_on: false };
    const { client, call } = await connect({ major: Number(major), era, kind: transport, target, answer: () => ({ action: 'decline' }) });
    found.said = await said(call, step).catch(told);
    try {
        found.goes_on = (await call('add', { a: 1 }, { timeout: 5_000 })).structuredContent.sum === 2;
    } catch (error) {
        found.after = told(error);
    }
    await client.close().catch(() => {});
    console.log(JSON.stringify(found));
}
process.exit(0);
