/**
 * What runs a function on the platform, played: it calls the handler of Netlify's own bootstrap, which the build put
 * into the archive, as AWS Lambda does, and enforces what Netlify documents of a function's limits.
 *
 * One rule: it knows nothing of the function. A client that leaves is not told of, as Lambda tells of none.
 *
 * It is told by environment: ENTRY, the archive's entry point; PORT; FUNCTION_SECONDS, after which it is cut off.
 */

import { createServer } from "node:http";
import { Writable } from "node:stream";

const { ENTRY, PORT, FUNCTION_SECONDS } = process.env;
for (const name of ["ENTRY", "PORT", "FUNCTION_SECONDS"]) delete process.env[name];
const FUNCTION_MS = Number(FUNCTION_SECONDS) * 1_000;
const EVENT_BYTES_MAX = 6_000_000;
const STREAMED_BYTES_MAX = 20_000_000;

globalThis.awslambda = {
  streamifyResponse: (handler) => handler,
  HttpResponseStream: { from: (stream, head) => (stream.head(head), stream) },
};
const { handler } = await import(ENTRY);

/** The stream that a handler writes its answer to. The client may be gone; the handler does not notice. */
class Answer extends Writable {
  #bytes = 0;

  constructor(response) {
    super({ decodeStrings: true });
    this.response = response;
  }

  head({ statusCode, multiValueHeaders, headers }) {
    if (!this.response.destroyed) this.response.writeHead(statusCode, multiValueHeaders ?? headers).flushHeaders();
  }

  _write(chunk, _, done) {
    this.#bytes += chunk.length;
    if (this.#bytes > STREAMED_BYTES_MAX) this.response.destroy();
    if (this.response.destroyed || chunk.length === 0) done();
    else this.response.write(chunk, () => done());
  }

  _final(done) {
    this.response.end();
    done();
  }

  _destroy(error, done) {
    if (!this.response.writableEnded) this.response.destroy();
    done();
  }
}

let count = 0;

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const [host, proto] = [request.headers.host, request.headers["x-forwarded-proto"] ?? "https"];
  const event = {
    rawUrl: `${proto}://${host}${request.url}`,
    path: request.url.split("?")[0],
    httpMethod: request.method,
    headers: Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)])),
    body: Buffer.concat(chunks).toString("base64"),
    isBase64Encoded: true,
    flags: {},
  };
  if (Buffer.byteLength(JSON.stringify(event)) > EVENT_BYTES_MAX) {
    response.writeHead(413).end("the platform takes no such body");
    return;
  }
  const began = Date.now();
  const cut = setTimeout(() => response.destroy(), FUNCTION_MS);
  const answer = new Answer(response);
  answer.on("error", () => response.destroy());
  const context = {
    awsRequestId: String((count += 1)),
    getRemainingTimeInMillis: () => FUNCTION_MS - (Date.now() - began),
    callbackWaitsForEmptyEventLoop: true,
  };
  try {
    await handler(event, answer, context);
  } catch (error) {
    console.error("the function threw:", error?.name);
    if (response.headersSent) response.destroy();
    else response.writeHead(502).end("the function threw");
  } finally {
    clearTimeout(cut);
  }
});
server.listen(Number(PORT), "127.0.0.1");
