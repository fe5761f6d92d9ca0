// SPDX-License-Identifier: Apache-2.0
//
// What a bundler does: read the sources, put them together, write the result.
const fs = require('fs')

const parts = fs.readdirSync('src').sort().map((name) => fs.readFileSync('src/' + name, 'utf8'))
fs.mkdirSync('out', { recursive: true })
fs.writeFileSync('out/main.js', parts.join('\n'))
