// SPDX-License-Identifier: Apache-2.0
//
// Preloaded into the conformance suite's node (--import): the suite has no option for a header, and
// the server under test wants a bearer token as from any client. Adds Authorization to what goes to
// $MSP_URL, through fetch, undici and node:http alike, and leaves every other header as it is.
import { subscribe } from 'node:diagnostics_channel';

const server = new URL(process.env.MSP_URL);
const value = `Bearer ${process.env.MSP_TOKEN}`;

subscribe('undici:request:create', ({ request }) => {
	if (String(request.origin) === server.origin) request.addHeader('authorization', value);
});
subscribe('http.client.request.created', ({ request }) => {
	if (request.host === server.hostname) request.setHeader('authorization', value);
});
