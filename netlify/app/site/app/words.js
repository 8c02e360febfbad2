/** How times, money and calls are said. One rule: short, and never cut in the middle of what matters. */

const minute = 60_000;

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const weekday = new Intl.DateTimeFormat(undefined, { weekday: "long" });
const date = new Intl.DateTimeFormat(undefined, { weekday: "short", day: "numeric", month: "short" });
const dateOfYear = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
const exactly = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "medium" });

const dayStart = (when) => new Date(when.getFullYear(), when.getMonth(), when.getDate());
const daysFrom = (when, now) => Math.round((dayStart(when) - dayStart(now)) / 86_400_000);

export const timeOf = (iso) => clock.format(new Date(iso));
export const exact = (iso) => exactly.format(new Date(iso));

/** A day as one says it: Today, Yesterday, Monday, Mon 3 Nov. */
export function dayOf(iso, now = new Date()) {
  const when = new Date(iso);
  const days = daysFrom(when, now);
  if (days === 0) return "Today";
  if (days === -1) return "Yesterday";
  if (days === 1) return "Tomorrow";
  if (Math.abs(days) < 7) return weekday.format(when);
  return when.getFullYear() === now.getFullYear() ? date.format(when) : dateOfYear.format(when);
}

/** A moment as one says it: 14:02, Yesterday 14:02, Mon 3 Nov 14:02. */
export function moment(iso, now = new Date()) {
  const day = dayOf(iso, now);
  return day === "Today" ? timeOf(iso) : `${day} ${timeOf(iso)}`;
}

/** How far away a moment is. */
export function distance(iso, now = new Date()) {
  const off = new Date(iso) - now;
  const minutes = Math.round(Math.abs(off) / minute);
  const said =
    minutes < 1 ? "a moment" : minutes < 90 ? counted(minutes, "minute") : minutes < 36 * 60 ? counted(Math.round(minutes / 60), "hour") : counted(Math.round(minutes / 1440), "day");
  return off >= 0 ? `in ${said}` : `${said} ago`;
}

export const counted = (number, noun, plural = `${noun}s`) => `${number.toLocaleString()} ${number === 1 ? noun : plural}`;

/** Dollars, with as many digits as tell something. */
export function dollars(amount) {
  if (amount !== 0 && amount < 0.01) return `$${amount.toFixed(4)}`;
  return `$${amount.toFixed(2)}`;
}

export function lateness(seconds) {
  if (seconds < 90) return counted(seconds, "second");
  if (seconds < 90 * 60) return counted(Math.round(seconds / 60), "minute");
  return counted(Math.round(seconds / 3600), "hour");
}

const SAID = {
  write_note: ["Writes a note", "Wrote a note", "title"],
  read_note: ["Reads a note", "Read a note", "title"],
  search_notes: ["Searches the notes", "Searched the notes", "query"],
  list_notes: ["Looks at the notes", "Looked at the notes"],
  search_history: ["Searches what was said", "Searched what was said", "query"],
  set_reminder: ["Sets a reminder", "Set a reminder", "text"],
  list_reminders: ["Looks at the reminders", "Looked at the reminders"],
  change_reminder: ["Changes a reminder", "Changed a reminder", "text"],
  cancel_reminder: ["Cancels a reminder", "Cancelled a reminder"],
  make_job: ["Makes a job", "Made a job", "title"],
  list_jobs: ["Looks at the jobs", "Looked at the jobs"],
  change_job: ["Changes a job", "Changed a job", "title"],
  pause_job: ["Pauses a job", "Paused a job"],
  resume_job: ["Resumes a job", "Resumed a job"],
  remove_job: ["Removes a job", "Removed a job"],
  delegate: ["Has it looked up", "Had it looked up", "task"],
  message_agent: ["Writes to", "Wrote to", "agent"],
  ask_owner: ["Asks you", "Asked you", "question"],
  fetch_url: ["Opens a page", "Opened a page", "url"],
  web_search: ["Searches the web", "Searched the web", "query"],
  shell: ["Runs a command", "Ran a command", "command"],
  read_file: ["Reads a file", "Read a file", "path"],
  write_file: ["Writes a file", "Wrote a file", "path"],
};

/** What the arguments of a call say, however badly they were written. @returns {Record<string, unknown> | null} */
export function argumentsOf(call) {
  try {
    const value = JSON.parse(call.arguments);
    return value !== null && typeof value === "object" && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

/** A call in a few words, and what it is about. @returns {{verb: string, about: string}} */
export function callWords(call) {
  const given = argumentsOf(call);
  const [doing, done, field] = SAID[call.tool] ?? [`Uses ${call.tool}`, `Used ${call.tool}`];
  const chosen = given === null ? call.arguments : field ? given[field] : Object.values(given).find((it) => typeof it === "string");
  const about = typeof chosen === "string" ? chosen : "";
  return { verb: call.state === "finished" && !call.failed ? done : doing, about: oneLine(about, 160) };
}

export function oneLine(text, characters = 200) {
  const line = text.replace(/\s+/g, " ").trim();
  const points = [...line];
  return points.length <= characters ? line : `${points.slice(0, characters - 1).join("")}…`;
}

/** What a worker is at. */
export function workerWords(worker) {
  const replies = counted(worker.replies, "reply", "replies");
  if (worker.state === "queued") return "waits for its turn";
  if (worker.state === "open" && worker.at) {
    const at = worker.at.indexOf(" ");
    const tool = at < 0 ? worker.at : worker.at.slice(0, at);
    const verb = (SAID[tool] ?? [`Uses ${tool}`])[0].toLowerCase();
    return `${verb} ${oneLine(worker.at.slice(at + 1), 100)}`;
  }
  return `${worker.state === "open" ? "at work" : worker.state}, ${replies}`;
}
