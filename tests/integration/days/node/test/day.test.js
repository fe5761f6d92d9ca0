// SPDX-License-Identifier: Apache-2.0
const assert = require('assert')
const { execFileSync, fork } = require('child_process')
const fs = require('fs')
const http = require('http')
const test = require('node:test')
const { Worker, isMainThread, parentPort } = require('worker_threads')

if (!isMainThread) {
  parentPort.postMessage(6 * 7)
} else if (process.env.DAY_CHILD) {
  process.send('child')
} else {
  test('package', () => {
    assert.strictEqual(require('left')(7), '   7')
  })

  test('threads', async () => {
    const answers = [1, 2, 3, 4].map(() => new Promise((resolve, reject) => {
      new Worker(__filename).once('message', resolve).once('error', reject)
    }))
    assert.deepStrictEqual(await Promise.all(answers), [42, 42, 42, 42])
  })

  test('processes', async () => {
    assert.strictEqual(execFileSync('sh', ['-c', 'echo $((40 + 2))'], { encoding: 'utf8' }), '42\n')
    const child = fork(__filename, { env: { ...process.env, DAY_CHILD: '1' } })
    assert.strictEqual(await new Promise((resolve) => child.once('message', resolve)), 'child')
  })

  test('development server', async () => {
    const server = http.createServer((request, response) => response.end(request.url))
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
    const body = await new Promise((resolve, reject) => {
      http.get({ host: '127.0.0.1', port: server.address().port, path: '/page' }, (response) => {
        response.setEncoding('utf8').on('data', resolve)
      }).on('error', reject)
    })
    server.close()
    assert.strictEqual(body, '/page')
  })

  test('watching files', async () => {
    fs.mkdirSync('/tmp/watched')
    const seen = new Promise((resolve) => {
      const watcher = fs.watch('/tmp/watched', (kind, name) => {
        watcher.close()
        resolve(name)
      })
    })
    fs.writeFileSync('/tmp/watched/changed', '')
    assert.strictEqual(await seen, 'changed')
  })
}
