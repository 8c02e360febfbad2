// The clock outside: asks dreamwalker every four minutes to bring up what is due.
//
// One rule: it carries a token that wakes and opens nothing else. It runs on the published deploy alone.

// Below five minutes, after which an idle server sleeps. docs/netlify.md says what that costs, and how to wake less.
export const config = { schedule: '*/4 * * * *' }

const TRIES = 3
const TRY_MS = 9_000 // three fit into the 30 s that a scheduled function has

export default async function wake(): Promise<void> {
  const token = process.env.DREAMWALKER_WAKE_TOKEN
  if (!token || !process.env.URL) throw new Error('DREAMWALKER_WAKE_TOKEN is not set, so dreamwalker is not woken')
  for (let tried = 1; tried <= TRIES; tried++) {
    if (await ask(new URL('/api/wake', process.env.URL), token, tried) === 200) return
  }
  throw new Error('dreamwalker was not woken; it is tried again in four minutes')
}

/** Ask once, and say so in a line of the log as dreamwalker writes them. Returns the status, 0 if there was none. */
async function ask(url: URL, token: string, tries: number): Promise<number> {
  const began = Date.now()
  const note = (level: string, event: string, facts: string): void =>
    console.log(`${new Date().toISOString()} ${level} ${event} ${facts} ms=${Date.now() - began} tries=${tries}`)
  try {
    const headers = { authorization: `Bearer ${token}` }
    const { status } = await fetch(url, { method: 'POST', headers, signal: AbortSignal.timeout(TRY_MS) })
    note(status === 200 ? 'info' : 'warning', 'wake.answered', `status=${status}`)
    return status
  } catch (error) {
    note('warning', 'wake.failed', `why=${JSON.stringify(error instanceof Error ? error.message : error)}`)
    return 0
  }
}
