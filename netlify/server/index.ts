// The server of the site: a thin, streaming way to dreamwalker's Python server, which runs as a child on a private
// socket.
//
// One rule: nothing that the platform lends outlives its request here. Keys, the database's address and the deploy's
// identity travel in one private header, on each request anew, and never by the child's environment.

import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import http, { type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from 'node:http'
import os from 'node:os'
import path from 'node:path'
import readline from 'node:readline'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'

// Read by the bundler without running this file, so it stays a literal. The folder is what netlify/build.py makes.
export const config = { includedFiles: ['../../build/**'] }

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..')
const BUILD = path.join(ROOT, 'build')

const VISIT_HEADER = 'x-dreamwalker-visit'
const PLATFORM_HEADERS = 'x-nf-' // some hold secrets, and the server needs none of them
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'transfer-encoding', 'te', 'trailer', 'upgrade', 'expect'])
const INHERITED = ['PATH', 'LANG', 'TZ', 'TMPDIR', 'NODE_EXTRA_CA_CERTS'] // and the owner's own DREAMWALKER_*
const READY_MS = 15_000 // a request is given up by the platform after 20 s without an answer
const PAUSE_MS = 5_000 // after a start that failed, before the next: what is wrong with a setting stays wrong
const NAMES_MAX = 40
const STOP_MS = 15_000 // the child promises 10 s; the platform kills this process after 25 s
const IDLE_SOCKET_MS = 30_000 // shorter than the 60 s after which the child closes a connection that nobody uses

/** What netlify/build.py wrote down of the deploy. Under `netlify dev` there is no such file. */
interface Built { id: string, context: string, urls: string[] }

/** A line of the log as dreamwalker writes them: dreamwalker/events.py lists the events and their facts. */
function note(level: 'info' | 'warning' | 'error', event: string, facts: Record<string, unknown>): void {
  const told = Object.entries(facts).map(([name, value]) => {
    const text = value instanceof Error ? value.message : String(value)
    return ` ${name}=${/^[\w.:/{}+@*-]+$/.test(text) ? text : ascii(JSON.stringify(text))}`
  })
  console.log(`${new Date().toISOString()} ${level} ${event}${told.join('')}`)
}

function ascii(json: string): string {
  return json.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

const built = readBuilt()

function readBuilt(): Built {
  const file = path.join(BUILD, 'deploy.json')
  if (!existsSync(file)) return { id: process.env.DEPLOY_ID ?? '', context: process.env.CONTEXT ?? 'dev', urls: [] }
  try {
    const { id, context, urls } = JSON.parse(readFileSync(file, 'utf8'))
    return { id: String(id), context: String(context), urls: urls.filter((url: unknown) => URL.canParse(String(url))) }
  } catch (error) { // what is known of no deploy is taken for production's, which works only where it is published
    note('error', 'entry.no_deploy', { why: error })
    return { id: '', context: 'production', urls: [] }
  }
}

interface Child { process: ChildProcess, socket: string, agent: http.Agent, secret: string }

class NotStarted extends Error {}

let running: Promise<Child> | undefined
let stopped: Promise<void> | undefined

/** The child, started if there is none: after a crash the next request starts another. */
function child(): Promise<Child> {
  if (stopped) return Promise.reject(new Error('this instance is stopping'))
  running ??= start().catch((error: unknown) => {
    setTimeout(() => { running = undefined }, PAUSE_MS).unref()
    throw error
  })
  return running
}

async function start(): Promise<Child> {
  const began = Date.now()
  const secret = randomBytes(32).toString('hex') // shows the child that a visit was written here
  const home = mkdtempSync(path.join(os.tmpdir(), 'dreamwalker-'))
  const socket = path.join(home, 'socket')
  const bundled = path.join(BUILD, 'python/bin/python3')
  const python = spawn(
    existsSync(bundled) ? bundled : 'python3',
    ['-P', '-m', 'dreamwalker', 'serve', '--socket', socket, '--ready-fd', '3', '--attached'],
    { cwd: home, env: environment(home, secret), stdio: ['pipe', 'pipe', 'pipe', 'pipe'] }, // it ends when its stdin does
  )
  let listens = false
  const agent = new http.Agent({ keepAlive: true, timeout: IDLE_SOCKET_MS })
  // Through console, for the platform collects that; what a child writes by itself may get lost.
  for (const lines of [python.stdout, python.stderr]) readline.createInterface({ input: lines! }).on('line', console.log)
  python.once('close', (code, signal) => {
    note('warning', 'entry.ended', { code: signal ?? code })
    if (listens) running = undefined
    agent.destroy()
    rmSync(home, { recursive: true, force: true })
  })
  await new Promise<void>((resolve, reject) => {
    const late = setTimeout(() => {
      python.kill('SIGKILL')
      reject(new NotStarted(`dreamwalker did not listen within ${READY_MS / 1000} s`))
    }, READY_MS)
    const settle = (act: () => void) => () => { clearTimeout(late); act() }
    ;(python.stdio[3] as Readable).once('data', settle(resolve))
    python.once('error', (error) => settle(() => reject(error))())
    python.once('close', settle(() => reject(new NotStarted('dreamwalker ended before it listened'))))
  })
  listens = true
  note('info', 'entry.started', { ms: Date.now() - began })
  return { process: python, socket, agent, secret }
}

/** What the child inherits: a list of names, so that nothing which the platform sets later slips through. */
function environment(home: string, secret: string): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => INHERITED.includes(name) || name.startsWith('DREAMWALKER_'))
  const hosts = built.urls.map((url) => new URL(url).hostname)
  return {
    ...(built.context === 'production' && built.urls[0] ? { DREAMWALKER_PUBLIC_URL: built.urls[0] } : {}),
    ...Object.fromEntries(kept),
    DREAMWALKER_HOSTS: [process.env.DREAMWALKER_HOSTS, ...hosts].filter(Boolean).join(' '),
    DREAMWALKER_PLATFORM: 'netlify',
    DREAMWALKER_ENTRY_SECRET: secret,
    DREAMWALKER_HOME: home,
    HOME: home,
    PYTHONPATH: existsSync(path.join(BUILD, 'site')) ? path.join(BUILD, 'site') : ROOT,
    PYTHONUNBUFFERED: '1',
    PYTHONDONTWRITEBYTECODE: '1',
  }
}

interface Visit { [field: string]: unknown }

/** What the platform lends for this request, as netlify/gateway.py reads it. */
function visit(request: IncomingMessage): Visit {
  const { ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: base, NETLIFY_DB_URL: database } = process.env
  return {
    deploy: {
      id: String(request.headers['x-nf-deploy-id'] ?? built.id),
      context: built.context,
      published: request.headers['x-nf-deploy-published'] === '1',
    },
    ...(key ? { model: { api_key: key, ...(base ? { base_url: base } : {}) } } : {}),
    ...(database ? { database_url: database } : {}),
    headers: Object.keys(request.headers).filter((name) => name.startsWith(PLATFORM_HEADERS)).sort()
      .slice(0, NAMES_MAX),
  }
}

function headersFor(request: IncomingMessage, told: Visit, secret: string): OutgoingHttpHeaders {
  const passed = Object.entries(request.headersDistinct).filter(
    ([name]) => !HOP_BY_HOP.has(name) && !name.startsWith(PLATFORM_HEADERS) && name !== VISIT_HEADER,
  )
  const signed = Buffer.from(JSON.stringify({ ...told, secret })).toString('base64')
  // A body goes on as it came, framed by its length or in chunks: else its bytes would be read as another request.
  const framed = request.headers['transfer-encoding'] ? { 'transfer-encoding': 'chunked' } : {}
  return { ...Object.fromEntries(passed), ...framed, host: request.headers.host, [VISIT_HEADER]: signed }
}

/** Send a request on, and its answer back, as they come. */
async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const told = visit(request) // now: the next request may bring another key before the child is there
  let to: Child
  try {
    to = await child()
  } catch (error) {
    note('error', 'entry.not_started', { why: error })
    return refuse(response, error instanceof NotStarted
      ? 'dreamwalker could not be started; the log of the server says why.'
      : 'dreamwalker is stopping; ask again in a moment.')
  }
  const headers = headersFor(request, told, to.secret)
  const { method, url } = request
  const onward = http.request({ socketPath: to.socket, agent: to.agent, method, path: url, headers }, (answer) => {
    response.writeHead(answer.statusCode!, answer.statusMessage, answer.headersDistinct as OutgoingHttpHeaders)
    if (answer.headers['content-type']?.startsWith('text/event-stream')) response.flushHeaders() // it may be silent yet
    answer.pipe(response)
    answer.once('error', () => response.destroy())
  })
  onward.once('error', (error) => {
    if (response.headersSent) return void response.destroy() // cut, so that nobody takes a part for the whole
    note('warning', 'entry.lost', { why: error })
    refuse(response, 'dreamwalker ended while it was at this; ask again with the same id.')
  })
  response.once('close', () => onward.destroy())
  if (request.headers['content-length'] || request.headers['transfer-encoding']) request.pipe(onward)
  else onward.end()
}

function refuse(response: ServerResponse, message: string): void {
  response.writeHead(503, { 'content-type': 'application/json', 'cache-control': 'no-store', 'retry-after': '2' })
  response.end(JSON.stringify({ error: { code: 'unavailable', message } }))
}

/** End the child, which gives the lease up. Called twice it is one stop. */
function stop(): Promise<void> {
  stopped ??= (async () => {
    const there = await running?.catch(() => undefined)
    if (!there || there.process.exitCode !== null) return
    await new Promise<void>((resolve) => {
      const late = setTimeout(() => there.process.kill('SIGKILL'), STOP_MS)
      there.process.once('close', () => { clearTimeout(late); resolve() })
      there.process.kill('SIGTERM')
    })
  })()
  return stopped
}

// The platform takes this server over, with its port: it never listens by itself.
export default http.createServer((request, response) => {
  pass(request, response).catch((error: unknown) => { // one request is lost, never the whole server
    note('error', 'entry.broke', { why: error })
    if (response.headersSent) response.destroy()
    else refuse(response, 'dreamwalker could not be asked; ask again in a moment.')
  })
})

// Both ways in which the platform tells of its start and stop: a named export, and a list under a well-known symbol.
export const shutdown = stop
interface Lifecycle { start: (() => unknown)[], shutdown: (() => unknown)[], health: unknown[], started: boolean }
const lifecycle = Symbol.for('@netlify/server/lifecycle')
const hooks = ((globalThis as Record<symbol, unknown>)[lifecycle] ??=
  { start: [], shutdown: [], health: [], started: false }) as Lifecycle
hooks.start.push(() => child().catch((error: unknown) => note('error', 'entry.not_started', { why: error })))
hooks.shutdown.push(stop)
