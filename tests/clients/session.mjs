// SPDX-License-Identifier: Apache-2.0
//
// A client built on one of the TypeScript SDKs, driven line by line: tests/clients/sdk.py starts it
// with one JSON argument (which SDK, which era, how to reach the server), writes steps to its
// standard input and reads outcomes and events from its standard output.
//
//   step      {"id":1,"do":"callTool","with":[...],"options":{"timeout":ms,"progress":true}}
//   outcome   {"id":1,"result":...} or {"id":1,"error":{"name","code","message","data"}}
//   event     {"event":"connected"|"notification"|"progress"|"closed", ...}
import { createInterface } from 'node:readline';

const setup = JSON.parse(process.argv[2]);
const who = { name: `msp-tests-sdk${setup.sdk}`, version: '1.0.0' };
// The SDKs log to standard output as well.
console.log = console.info = console.debug = console.error;
const print = message => process.stdout.write(JSON.stringify(message) + '\n');

async function parts() {
	if (setup.sdk === 1) {
		const [client, stdio, http] = await Promise.all([
			import('@modelcontextprotocol/sdk/client/index.js'),
			import('@modelcontextprotocol/sdk/client/stdio.js'),
			import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
		]);
		return { ...client, ...stdio, ...http };
	}
	const [client, stdio] = await Promise.all([
		import('@modelcontextprotocol/client'),
		import('@modelcontextprotocol/client/stdio'),
	]);
	return { ...client, ...stdio };
}

const sdk = await parts();

function transport() {
	if (setup.url) {
		const requestInit = { headers: { Authorization: `Bearer ${setup.token}` } };
		return new sdk.StreamableHTTPClientTransport(new URL(setup.url), { requestInit });
	}
	return new sdk.StdioClientTransport({ command: setup.command, args: setup.args, env: setup.env });
}

const mode = setup.mode === 'modern' ? { pin: '2026-07-28' } : setup.mode;
const client = new sdk.Client(who, setup.sdk === 1
	? { capabilities: {} }
	: { capabilities: {}, versionNegotiation: { mode } });
client.fallbackNotificationHandler = async ({ method, params }) =>
	print({ event: 'notification', method, params });
client.onclose = () => print({ event: 'closed' });

// The SDKs' methods want a schema of the result between arguments and options, or they do not.
const takesSchema = sdk1Method => setup.sdk === 1 && sdk1Method === 'callTool';

const subscriptions = [];
const controllers = new Map(); // of the steps that are under way
const own = {
	cancel: id => controllers.get(id).abort('the test has seen enough'),
	// The way to hear of changes is a method of its own in each era.
	listen: async filter => {
		const subscription = await client.listen(filter);
		subscriptions.push(subscription);
		return {};
	},
	unlisten: async () => {
		await Promise.all(subscriptions.splice(0).map(subscription => subscription.close()));
		return {};
	},
};

async function run(step) {
	const { timeout, progress } = step.options ?? {};
	const controller = new AbortController();
	const options = { signal: controller.signal };
	if (timeout) options.timeout = timeout;
	if (progress) options.onprogress = params => print({ event: 'progress', step: step.id, params });
	controllers.set(step.id, controller);
	try {
		const call = own[step.do] ?? ((...given) => client[step.do](...given, options));
		const given = [...(step.with ?? []), ...(takesSchema(step.do) ? [undefined] : [])];
		print({ id: step.id, result: (await call(...given)) ?? null });
	} catch (error) {
		const { name, code, message, data } = error;
		print({ id: step.id, error: { name, code, message, data } });
	} finally {
		controllers.delete(step.id);
	}
}

await client.connect(transport());
print({
	event: 'connected',
	server: client.getServerVersion(),
	capabilities: client.getServerCapabilities(),
	instructions: client.getInstructions(),
	version: client.getNegotiatedProtocolVersion?.(),
	pid: client.transport?.pid ?? null,
});
for await (const line of createInterface({ input: process.stdin })) void run(JSON.parse(line));
await client.close();
