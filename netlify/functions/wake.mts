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
    const said = await ask(new URL('/api/wake', process.env.URL), token)
    console.log(`try ${tried}: ${said}`)
    if (said.startsWith('200')) return
  }
  throw new Error('dreamwalker was not woken; it is tried again in four minutes')
}

async function ask(url: URL, token: string): Promise<string> {
  try {
    const headers = { authorization: `Bearer ${token}` }
    const answer = await fetch(url, { method: 'POST', headers, signal: AbortSignal.timeout(TRY_MS) })
    return `${answer.status} ${await answer.text()}`
  } catch (error) {
    return `no answer (${error instanceof Error ? error.message : error})`
  }
}
